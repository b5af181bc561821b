import type { Decider } from '../../../domain/decider.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { AnyCommand, CommandHandler, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'

/**
 * What every request rests on, without a read for each: accounts with their keys, marketing sources, playbooks,
 * webhooks.
 */
export type CurrentStates = {
  /**
   * An acceptable state may be up to a second old; any other was just read from the stream. So no request is refused by
   * an outdated state, and a revoked key is accepted for a second at most.
   */
  readonly get: <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    isAcceptable: (state: State) => boolean,
  ) => Promise<Either<StoreFailure, State>>
}

/** The state of a stream as it is now. */
export const loadState = async <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
  { load }: Pick<CommandHandler, 'load'>,
  decider: Decider<State, Command, Event, Refusal>,
  id: string,
): Promise<Either<StoreFailure, State>> => {
  const loaded = await load(decider, id)
  return E.isLeft(loaded) ? loaded : E.right(loaded.right.state)
}

/** Where no other process writes, an aggregate that was loaded is current. */
export const loadedStates = (handler: Pick<CommandHandler, 'load'>): CurrentStates => ({
  get: (decider, id) => loadState(handler, decider, id),
})
