import type { Position } from './event.js'
import { StatedFailure } from './failure-reason.js'
import type { Contended, StoreFailure } from './ports.js'
import { E, type Either } from './prelude.js'

/** A failure of a store where no answer can carry it: inside an iteration, or at the start. */
export class StoreFailed extends StatedFailure {
  readonly kind: StoreFailure['kind']
  readonly needsOperator?: true

  constructor(failure: StoreFailure) {
    super(failure.reason)
    this.kind = failure.kind
    if (failure.kind === 'unavailable' && failure.needsOperator === true) this.needsOperator = true
  }
}

/** Whether trying again gives the same, until somebody mends what stands there, a setting or the server. */
export const isFinal = ({ kind, needsOperator }: Pick<StoreFailed, 'kind' | 'needsOperator'>): boolean =>
  kind === 'corrupt' || needsOperator === true

type Transient = Exclude<StoreFailure, { readonly kind: 'corrupt' }> | Contended

/**
 * Whether trying again helps in the end, if only once somebody has mended the server: with what is corrupt, and with a
 * refusal, it does not.
 */
export const isTransient = (failure: { readonly kind: string }): failure is Transient =>
  failure.kind === 'unavailable' || failure.kind === 'contended'

/** What is known of an event that can't be decoded: where it stands, and what it is called. */
export type UndecodableEntry = {
  readonly stream: string
  readonly revision: number
  readonly position: Position
  readonly id: string
  readonly type: string
  readonly failure: StoreFailure
}

/** An event stands in the log that can't be decoded: asking again gives the same. */
export class UndecodableEvent extends StoreFailed {
  readonly entry: UndecodableEntry

  constructor(entry: UndecodableEntry) {
    const { failure, position, stream } = entry
    super({ ...failure, reason: `${failure.reason}, at position ${position} of ${stream}` })
    this.entry = entry
  }
}

/** @throws StoreFailed */
export const orThrow = <A>(result: Either<StoreFailure, A>): A => {
  if (E.isLeft(result)) throw new StoreFailed(result.left)
  return result.right
}
