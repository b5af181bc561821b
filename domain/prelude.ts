/** The only door to fp-ts: its extensionless paths type-check under NodeNext and crash at run time. */
export * as E from 'fp-ts/lib/Either.js'
export type { Either } from 'fp-ts/lib/Either.js'
export { flow, pipe } from 'fp-ts/lib/function.js'
export * as TE from 'fp-ts/lib/TaskEither.js'
export type { TaskEither } from 'fp-ts/lib/TaskEither.js'

/** Closes an exhaustive `switch`: a case that was forgotten does not compile. */
export const unreachable = (value: never): never => {
  throw new Error(`a case was left out: ${Object.prototype.toString.call(value)}`)
}
