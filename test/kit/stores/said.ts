/** What a program that writes to a store says, a line of JSON each: how opening ended, then how each append did. */
export type Said = { readonly kind: string; readonly reason?: string; readonly stream?: string }

export const say = (said: Said): void => {
  process.stdout.write(`${JSON.stringify(said)}\n`)
}
