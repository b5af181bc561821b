import { reasonOf, StatedFailure } from '../../domain/failure-reason.js'
import type { Contended, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { isTransient, StoreFailed } from '../../domain/store-failed.js'

/** What a command that an event brought about can end with beside its result; any other `kind` is a refusal. */
export type CommandFailure = StoreFailure | Contended | { readonly kind: string }

/** A rule refuses what an event asks for, and repeating would not change that. */
class Refused extends StatedFailure {}

const isOfStore = (failure: CommandFailure): failure is StoreFailure =>
  failure.kind === 'unavailable' || failure.kind === 'corrupt'

/** `what` names the command in a sentence. */
export const errorOf = (what: string, failure: CommandFailure): Error => {
  if (isOfStore(failure)) return new StoreFailed({ kind: failure.kind, reason: `${what}: ${failure.reason}` })
  if (failure.kind === 'contended') return new StoreFailed({ kind: 'unavailable', reason: `${what} was contended` })
  return new Refused(failure.kind)
}

/** @throws StoreFailed, and Refused */
export const executedOrThrow = <A>(what: string, result: Either<CommandFailure, A>): A => {
  if (E.isLeft(result)) throw errorOf(what, result.left)
  return result.right
}

/**
 * Why something can't succeed, in words that hold no value.
 * @throws `error` where trying again may help, or somebody stopped it
 */
export const finalReason = (error: unknown): string => {
  const isStopped = error instanceof Error && error.name === 'AbortError'
  if (isStopped || (error instanceof StoreFailed && isTransient(error))) throw error
  return reasonOf(error)
}
