/** What the TLS of Node says of the other side, in the message of an error. A driver takes it for a server that is away. */
const refusals: ReadonlyArray<readonly [RegExp, string]> = [
  [/certificate|altnames/i, 'shows a certificate that is not trusted here'],
  [/wrong version number/i, 'does not speak TLS'],
]

/** What the server does, where that is why no connection comes about until somebody changes it. */
export const tlsRefusal = (message: string): string | undefined =>
  refusals.find(([pattern]) => pattern.test(message))?.[1]
