import { exceedsLargestAppend, tooLargeAppend } from '../../../domain/append-limit.js'
import type { Category, RecordedEvent } from '../../../domain/events.js'
import { beginning, positionOf, recordedAs, type Envelope, type Position } from '../../../domain/event.js'
import type { AppendAll, EventBatch, EventStore, NewEvent, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { decodeStoredEvent } from '../../../domain/stored-event.js'
import { categoryOf } from '../../../domain/stream-name.js'
import { decodedPart, type LogEntry } from '../../../adapters/in-process/log-tail.js'
import { frozen } from '../frozen.js'
import { atOnce, type Steps } from './steps.js'

/** An event as it is stored. */
type Logged = Envelope &
  Pick<RecordedEvent, 'type' | 'stream' | 'revision' | 'position'> & {
    readonly category: string
    /** Its data as JSON, until it is read for the first time; what that gave from then on. */
    stored: string | LogEntry
  }

/** What is in the log: it outlives every store that is opened on it. */
type MemoryLog = {
  /** In the order of their positions, the first of which is 1. */
  readonly events: Array<Logged>
  readonly streams: Map<string, Array<Logged>>
  /** By stream: the revision before which nothing is given any more. */
  readonly truncated: Map<string, number>
  /** How far followers had come when they saved it last. */
  readonly checkpoints: Map<string, Position>
  /** Called at the next append. */
  readonly waiting: Set<() => void>
}

export const memoryLog = (): MemoryLog => ({
  events: [],
  streams: new Map(),
  truncated: new Map(),
  checkpoints: new Map(),
  waiting: new Set(),
})

/** Events that one batch looks at. */
const pageSize = 500

/** The `EventStore` port on a log in memory. */
export const memoryEventStore = (log: MemoryLog, steps: Steps = atOnce): EventStore => {
  const head = (): Position => positionOf(BigInt(log.events.length))
  /** The revision of the first event of a stream that is given. */
  const firstOf = (stream: string): number => log.truncated.get(stream) ?? 0
  const given = (stream: string): ReadonlyArray<Logged> =>
    (log.streams.get(stream) ?? []).filter(({ revision }) => revision >= firstOf(stream))

  const append: EventStore['append'] = (stream, expected, events) =>
    steps.write(stream, () => {
      if (exceedsLargestAppend(events)) return E.left(tooLargeAppend)
      const stored = log.streams.get(stream) ?? []
      const next = expected === 'no-stream' ? 0 : expected + 1
      if (stored.length !== next) {
        const there = stored.slice(next, next + events.length)
        const isRepeat = events.every(({ id }, index) => id === there[index]?.id)
        const last = there.at(-1)
        return isRepeat && last !== undefined
          ? E.right({ revision: last.revision, position: last.position })
          : E.left({ kind: 'conflict' })
      }
      put(log, stream, events)
      wakeAll(log)
      return E.right({ revision: next + events.length - 1, position: head() })
    })

  const page = (after: Position, end: Position, categories: ReadonlyArray<string>): EventBatch => {
    const last = after + BigInt(pageSize) > end ? end : positionOf(after + BigInt(pageSize))
    const entries = log.events
      .slice(Number(after), Number(last))
      .filter(({ category, stream, revision }) => categories.includes(category) && revision >= firstOf(stream))
      .map(entryOf)
    return decodedPart({ entries, position: last })
  }

  async function* history(
    after: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
  ): AsyncGenerator<EventBatch> {
    const end = await steps.read('log', head)
    for (let position = after; position < end;) {
      signal.throwIfAborted()
      const batch = await steps.read('log', () => page(position, end, categories))
      position = batch.position
      yield batch
    }
  }

  async function* subscribe(
    after: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
  ): AsyncGenerator<EventBatch> {
    const isOver = (): boolean => signal.aborted
    for (let position = after; ;) {
      await written(position, signal)
      if (isOver()) return
      const batch = await steps.read('log', () => page(position, head(), categories))
      if (isOver()) return
      position = batch.position
      yield batch
    }
  }

  /** Resolves when something stands behind `position`, or when `signal` aborts. */
  const written = (position: Position, signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (head() > position || signal.aborted) {
        resolve()
        return
      }
      const wake = (): void => {
        signal.removeEventListener('abort', wake)
        log.waiting.delete(wake)
        resolve()
      }
      log.waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
    })

  return {
    read: async (stream, from = 0, count = Infinity) => {
      const read = await steps.read(stream, () =>
        decoded(
          given(stream)
            .filter(({ revision }) => revision >= from)
            .slice(0, count),
        ),
      )
      return E.isLeft(read)
        ? read
        : E.right({ events: read.right, revision: read.right.at(-1)?.revision ?? 'no-stream' })
    },
    readLast: (stream, count) => steps.read(stream, () => decoded(given(stream).slice(-count))),
    append,
    truncate: (stream, before) =>
      steps.write(stream, () => {
        if (given(stream).some(({ revision }) => revision === before)) log.truncated.set(stream, before)
        return E.right(undefined)
      }),
    purge: () => Promise.resolve(E.right(true)),
    subscribe,
    history,
    head: () => steps.read('log', () => E.right(head())),
    newestTime: () => steps.read('log', () => E.right(log.events.at(-1)?.time)),
    checkpoint: (follower) => steps.read('log', () => E.right(log.checkpoints.get(follower) ?? beginning)),
    saveCheckpoint: (follower, position) =>
      steps.write('log', () => {
        if (position > (log.checkpoints.get(follower) ?? beginning)) log.checkpoints.set(follower, position)
        return E.right(undefined)
      }),
    positionUnit: 'events',
  }
}

/** `AppendAll` on a log in memory. */
export const memoryAppendAll =
  (log: MemoryLog, steps: Steps = atOnce): AppendAll =>
  (appends) =>
    steps.write('log', () => {
      if (appends.some(({ events }) => exceedsLargestAppend(events))) return E.left(tooLargeAppend)
      const lengths = new Map<string, number>()
      for (const { stream, expected, events } of appends) {
        const length = lengths.get(stream) ?? log.streams.get(stream)?.length ?? 0
        if (length !== (expected === 'no-stream' ? 0 : expected + 1)) return E.left({ kind: 'conflict' })
        lengths.set(stream, length + events.length)
      }
      const logged = appends.flatMap(({ stream, events }) => put(log, stream, events))
      wakeAll(log)
      // Copies, so that whoever watches what the caller holds does not find what the log holds.
      return E.right(logged.map((one) => ({ ...recordedOf(one) })))
    })

/** Events at the end of a stream, and of the log. */
const put = (log: MemoryLog, stream: string, events: ReadonlyArray<NewEvent>): ReadonlyArray<Logged> => {
  const stored = log.streams.get(stream) ?? []
  const first = log.events.length + 1
  const logged = events.map((event, index) =>
    loggedAs(event, stream, stored.length + index, positionOf(BigInt(first + index))),
  )
  log.events.push(...logged)
  log.streams.set(stream, [...stored, ...logged])
  return logged
}

const wakeAll = (log: MemoryLog): void => {
  const woken = [...log.waiting]
  log.waiting.clear()
  for (const wake of woken) wake()
}

/** Left where one of them can't be decoded. */
const decoded = (logged: ReadonlyArray<Logged>): Either<StoreFailure, ReadonlyArray<RecordedEvent>> => {
  const entries = logged.map(entryOf)
  const failed = entries.find((entry) => 'failure' in entry)
  if (failed !== undefined) return E.left(failed.failure)
  return E.right(entries.filter((entry): entry is RecordedEvent => !('failure' in entry)))
}

/** All that is in the log. */
export const eventsIn = (log: MemoryLog): ReadonlyArray<RecordedEvent> => log.events.map(recordedOf)

const loggedAs = (event: NewEvent, stream: string, revision: number, position: Position): Logged => {
  const { type, data, id, time, correlationId, causationId, schemaVersion, actor } = event
  const stored = JSON.stringify(data)
  const category = categoryOf(stream)
  return {
    type,
    id,
    time,
    correlationId,
    causationId,
    schemaVersion,
    actor,
    stream,
    revision,
    position,
    category,
    stored,
  }
}

const entryOf = (logged: Logged): LogEntry => {
  if (typeof logged.stored === 'string') logged.stored = Object.freeze(decodedEntry(logged, logged.stored))
  return logged.stored
}

const decodedEntry = (logged: Logged, json: string): LogEntry => {
  const { stream, revision, position, id, type, schemaVersion } = logged
  const decoded = decodeStoredEvent(type, schemaVersion, JSON.parse(json))
  if (E.isLeft(decoded)) return { stream, revision, position, id, type, failure: decoded.left }
  return recordedAs({ ...logged, ...frozen(decoded.right) }, stream, revision, position)
}

const recordedOf = (logged: Logged): RecordedEvent => {
  const entry = entryOf(logged)
  if ('failure' in entry) throw new Error(entry.failure.reason)
  return entry
}
