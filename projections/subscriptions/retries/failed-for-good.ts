import type { Aggregate } from '../../../domain/aggregate.js'
import type { Decider } from '../../../domain/decider.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { AnyCommand, CommandHandler, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { orThrow, StoreFailed } from '../../../domain/store-failed.js'
import { streamOf } from '../../../domain/stream-name.js'

type Permanent = Extract<StoreFailure, { readonly kind: 'corrupt' }>

export const isPermanent = (failure: { readonly kind: string }): failure is Permanent => failure.kind === 'corrupt'

/** Trying again gives the same: the stream can't be decoded, or never takes what is to be recorded in it. */
export class FailedForGood extends StoreFailed {
  readonly stream: string

  constructor(stream: string, failure: Permanent) {
    super(failure)
    this.stream = stream
  }
}

/**
 * What was read of a stream.
 * @throws FailedForGood where it can't be decoded, and StoreFailed, `unavailable`
 */
export const readOrThrow = <A>(stream: string, result: Either<StoreFailure, A>): A => {
  if (E.isLeft(result) && isPermanent(result.left)) throw new FailedForGood(stream, result.left)
  return orThrow(result)
}

/** An aggregate as its stream is now. @throws as `readOrThrow` */
export const loadOrThrow = async <
  State,
  Command extends AnyCommand,
  Event extends DomainEvent,
  Refusal extends { readonly kind: string },
>(
  { load }: Pick<CommandHandler, 'load'>,
  decider: Decider<State, Command, Event, Refusal>,
  id: string,
): Promise<Aggregate<State>> => readOrThrow(streamOf(decider, id), await load(decider, id))
