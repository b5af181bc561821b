import type { Decider } from '../../domain/decider.js'
import type { DomainEvent } from '../../domain/events.js'
import type {
  AnyCommand,
  CommandHandler,
  CommandResult,
  Contended,
  EventStore,
  Ids,
  StoreFailure,
} from '../../domain/ports.js'
import type { Aggregate } from '../../domain/aggregate.js'
import { E, type Either } from '../../domain/prelude.js'
import { streamOf } from '../../domain/stream-name.js'
import type { Reactor } from './reactions/reactor.js'
import type { UnitOfWork } from './reactions/unit-of-work.js'
import type { ReadYourWrites } from './read-your-writes/read-your-writes.js'

/**
 * Executes a client's command with its reactions, so that the client's next request sees their events
 * (`ReadYourWrites`). Where the command changes nothing, that goes for the events that are already there: another
 * client may have just written them.
 */
export type ClientCommands = {
  /** `assumed`: as for `CommandHandler.execute`. */
  readonly execute: <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    command: Command,
    actor: string,
    assumed?: Aggregate<State>,
  ) => Promise<Either<Refusal | StoreFailure | Contended, ClientResult<State>>>
}

/**
 * `isPending`: not all that follows could be carried out now, as where a store failed. It comes later; a repeat of the
 * command carries it out before.
 */
export type ClientResult<State> = CommandResult<State> & { readonly isPending: boolean }

type Ports = {
  readonly store: Pick<EventStore, 'readLast'>
  readonly commandHandler: Pick<CommandHandler, 'execute'>
  readonly reactor: Pick<Reactor, 'react'>
  readonly ids: Pick<Ids, 'uuid'>
  /** Where this process alone writes to the log. */
  readonly unitOfWork: UnitOfWork | undefined
  readonly untilAnswerable: ReadYourWrites['untilAnswerable']
}

/**
 * Events at the end of a stream that may be those of a command under way. What is older has long brought about what
 * follows from it.
 */
const justWritten = 20

export const clientCommands = ({
  store,
  commandHandler,
  reactor,
  ids,
  unitOfWork,
  untilAnswerable,
}: Ports): ClientCommands => {
  return {
    execute: async (decider, id, command, actor, assumed) => {
      const envelope = { actor, eventId: ids.uuid }
      const done = await unitOfWork?.(decider, id, command, envelope, assumed)
      if (done !== undefined) {
        await untilAnswerable(done.all)
        return E.right({ isPending: false, ...done })
      }
      const result = await commandHandler.execute(decider, id, command, envelope, assumed)
      if (E.isLeft(result)) return result
      const { events } = result.right
      // Another client may have just written what made the command unnecessary. Where that can't be read the next
      // request may miss it.
      const written = events.length > 0 ? E.right(events) : await store.readLast(streamOf(decider, id), justWritten)
      const reacted = E.isLeft(written) ? { events: [], isPending: true } : await reactor.react(written.right)
      await untilAnswerable(reacted.events)
      return E.right({ isPending: reacted.isPending, ...result.right })
    },
  }
}
