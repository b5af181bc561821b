import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { neverAborted } from '../../domain/abortable.js'
import type { Envelope, Position, Revision } from '../../domain/event.js'
import type { Category, DomainEvent, RecordedEvent } from '../../domain/events.js'
import type { EventBatch, EventStore, NewEvent } from '../../domain/ports.js'
import { rightOf } from '../kit/right-of.js'
import { activity, at } from '../kit/domain/samples.js'

export type OpenStore = {
  readonly store: EventStore
  /** Closes the store and opens it again on the same data. */
  readonly reopen: () => Promise<EventStore>
  readonly close: () => Promise<void>
}

export type Event = RecordedEvent
export type Events = readonly [NewEvent, ...ReadonlyArray<NewEvent>]

/** A stream that no other test writes to, on whatever data the store was opened. */
export const freshStream = (category: Category): string =>
  `${category}-${randomBytes(13).toString('hex').toUpperCase()}`

export const newEvent = (event: DomainEvent, envelope: Partial<Envelope> = {}): NewEvent => {
  const id = envelope.id ?? randomUUID()
  const usual = { id, time: at(), correlationId: id, causationId: id, schemaVersion: 1, actor: 'test' }
  return { ...event, ...usual, ...envelope }
}

export const enabled = (): NewEvent => newEvent({ type: 'AccountEnabled', data: {} })
export const disabled = (): NewEvent => newEvent({ type: 'AccountDisabled', data: {} })
export const many = (count: number): Events => [enabled(), ...Array.from({ length: count - 1 }, disabled)]

export const recorded = (properties: Readonly<Record<string, unknown>>): DomainEvent => ({
  type: 'ActivityRecorded',
  data: { activity: activity({ properties }), record_id: null },
})

export const propertiesOf = (event: Event | undefined): unknown =>
  event?.type === 'ActivityRecorded' ? event.data.activity.properties : undefined

/** Appends, and gives what then stands at the place that the append tells. */
export const append = async (
  store: EventStore,
  stream: string,
  expected: Revision,
  events: Events,
): Promise<ReadonlyArray<Event>> => {
  const { revision, position } = rightOf(await store.append(stream, expected, events))
  const read = rightOf(await store.read(stream)).events
  const appended = read.filter((event) => event.revision > revision - events.length && event.revision <= revision)
  assert.equal(appended.at(-1)?.position, position)
  return appended
}

/** An event to a new stream of each category, one after the other. */
export const writeTo = async (
  store: EventStore,
  categories: ReadonlyArray<Category>,
): Promise<ReadonlyArray<Event>> => {
  const written: Array<Event> = []
  for (const category of categories) {
    written.push(...(await append(store, freshStream(category), 'no-stream', [enabled()])))
  }
  return written
}

export const collect = async <A>(from: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const all: Array<A> = []
  for await (const one of from) all.push(one)
  return all
}

/** The events of `streams` in the history: the log may hold what others wrote. */
export const historyOf = async (
  store: EventStore,
  after: Position,
  categories: ReadonlyArray<Category>,
  streams: ReadonlyArray<string>,
): Promise<ReadonlyArray<Event>> =>
  (await collect(store.history(after, categories, neverAborted))).flatMap(({ events }) =>
    events.filter(({ stream }) => streams.includes(stream)),
  )

export const eventsUntil = async (
  store: EventStore,
  after: Position,
  categories: ReadonlyArray<Category>,
  isLast: (batch: EventBatch) => boolean,
): Promise<ReadonlyArray<Event>> => {
  const stopping = new AbortController()
  const seen: Array<Event> = []
  for await (const batch of store.subscribe(after, categories, stopping.signal)) {
    seen.push(...batch.events)
    if (isLast(batch)) stopping.abort()
  }
  return seen
}

/** What a subscription gives up to the batch with the first event of the stream `marker`. */
export const eventsUntilMarker = (
  store: EventStore,
  after: Position,
  categories: ReadonlyArray<Category>,
  marker: string,
): Promise<ReadonlyArray<Event>> =>
  eventsUntil(store, after, categories, ({ events }) => events.some(({ stream }) => stream === marker))

export type Placed = Pick<Event, 'id' | 'position'>

/** Stable: events of one append may share the position of the last of them. */
export const inOrder = <A extends Placed>(events: ReadonlyArray<A>): ReadonlyArray<A> =>
  events.toSorted((one, other) => (one.position < other.position ? -1 : one.position > other.position ? 1 : 0))

export const idsOf = (events: ReadonlyArray<Pick<Event, 'id'>>): ReadonlyArray<string> => events.map(({ id }) => id)
