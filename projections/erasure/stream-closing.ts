import type { Decider } from '../../domain/decider.js'
import type { DomainEvent, EventType, RecordedEvent } from '../../domain/events.js'
import type { AnyCommand, CommandHandler, EnvelopeFacts, EventStore } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import { streamOf } from '../../domain/stream-name.js'
import { executedOrThrow } from '../parking/final-failure.js'

export type ClosingPorts = {
  readonly store: Pick<EventStore, 'read' | 'readLast' | 'truncate'>
  readonly commandHandler: CommandHandler
}

/** Where the closing event is looked for: as a rule few events follow it, of requests that came too late. */
const recentEvents = 100

type Closing<State, Command, Event extends DomainEvent, Refusal> = {
  readonly decider: Decider<State, Command & AnyCommand, Event, Refusal>
  readonly id: string
  readonly command: Command
  /** The type of the event that closes the stream. */
  readonly by: EventType
  readonly envelope: EnvelopeFacts
  /** Runs before what stands before the closing event is truncated, and again after an interruption. */
  readonly beforeTruncation?: () => Promise<void>
}

/**
 * Closes a stream by a command, and takes away all that stands in it before its closing event, which it gives;
 * undefined where there is nothing to close. A repeat changes nothing.
 * @throws StoreFailed
 */
export const close = async <
  State,
  Command extends AnyCommand,
  Event extends DomainEvent,
  Refusal extends { kind: string },
>(
  { store, commandHandler }: ClosingPorts,
  { decider, id, command, by, envelope, beforeTruncation }: Closing<State, Command, Event, Refusal>,
): Promise<RecordedEvent | undefined> => {
  const stream = streamOf(decider, id)
  const { events } = executedOrThrow(
    `the erasure of a ${decider.category}`,
    await commandHandler.execute(decider, id, command, envelope),
  )
  const closing = closingIn(events, by) ?? (await closingOf(store, stream, by))
  if (closing === undefined) return undefined
  await beforeTruncation?.()
  orThrow(await store.truncate(stream, closing.revision))
  return closing
}

const closingIn = (events: ReadonlyArray<RecordedEvent>, by: EventType) => events.findLast(({ type }) => type === by)

/** Where more events follow it, as with a phone number that is submitted over and over, the whole stream is read. */
const closingOf = async (
  store: ClosingPorts['store'],
  stream: string,
  by: EventType,
): Promise<RecordedEvent | undefined> => {
  const recent = orThrow(await store.readLast(stream, recentEvents))
  const found = closingIn(recent, by)
  if (found !== undefined || recent.length < recentEvents) return found
  return closingIn(orThrow(await store.read(stream)).events, by)
}
