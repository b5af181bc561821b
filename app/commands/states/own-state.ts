import type { Decider } from '../../../domain/decider.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { AnyCommand, CommandHandler, StoreFailure } from '../../../domain/ports.js'
import { E, type TaskEither } from '../../../domain/prelude.js'
import { loadState } from './current-states.js'

/**
 * The state of a stream, if `own` takes it for the caller's: what belongs to somebody else is `missing` to the caller.
 */
export const ownState =
  <State, Command extends AnyCommand, Event extends DomainEvent, Refusal, Own, Missing>(
    handler: Pick<CommandHandler, 'load'>,
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    own: (state: State) => Own | undefined,
    missing: Missing,
  ): TaskEither<StoreFailure | Missing, Own> =>
  async () => {
    const loaded = await loadState(handler, decider, id)
    if (E.isLeft(loaded)) return loaded
    const found = own(loaded.right)
    return found === undefined ? E.left(missing) : E.right(found)
  }
