import {
  BACKWARDS,
  END,
  NO_STREAM,
  type AllStreamResolvedEvent,
  type ReadStreamOptions,
  type ResolvedEvent,
} from '@eventstore/db-client'
import { setMaxListeners } from 'node:events'
import { exceedsLargestAppend, tooLargeAppend } from '../../domain/append-limit.js'
import { approximateBytes } from '../../domain/approximate-size.js'
import type { Position } from '../../domain/event.js'
import type { Category, RecordedEvent } from '../../domain/events.js'
import type { Instant } from '../../domain/instant.js'
import type { Appended, EventBatch, EventStore, MonotonicClock, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow, StoreFailed } from '../../domain/store-failed.js'
import { backoffAfter } from '../../projections/subscriptions/retries/backoff.js'
import { liveSubscription } from '../in-process/live-subscription.js'
import { readByPages, readLastByPages } from '../in-process/stream-pages.js'
import { monotonicClock } from '../node/monotonic-clock.js'
import { appendsOfThisProcess } from './client/appends-in-flight.js'
import { completeRead } from './complete-read.js'
import { ofLeader, type Connection } from './client/connection.js'
import { refuseTooOld } from './client/server-version.js'
import { decodeEvent, encodeEvent, isEncodable, positionFrom } from './event-codec.js'
import { resubscribingReader } from './log/resubscribing-reader.js'
import type { ReconnectingClient } from './client/reconnecting-client.js'
import { savedCheckpoints } from './saved-checkpoints.js'
import { retryingWith, standardRetryPolicy, withoutConflict, type Retry, type RetryPolicy } from './retry.js'
import { sharedTail } from './log/shared-tail.js'
import { truncations, type IsTruncated } from './truncations.js'

export type EventStoreDb = EventStore & { readonly close: () => Promise<void> }

/** Events that the driver buffers of a read. */
const bufferSize = 500

/** The `EventStore` port on EventStoreDB. */
export const eventStoreDb = (
  connection: Connection,
  policy: RetryPolicy = standardRetryPolicy,
  monotonic: MonotonicClock = monotonicClock,
): EventStoreDb => {
  const stopping = new AbortController()
  // Everything that reads the log listens to it: more listeners than Node's limit are no leak here.
  setMaxListeners(0, stopping.signal)
  const retry = retryingWith(policy, monotonic, stopping.signal)
  const reader = resubscribingReader(connection.reads, policy, monotonic)
  const { read, readLast, head, newestTime } = readsOf(connection, retry, stopping.signal)
  const { truncate, after: truncatedAfter } = truncations(connection, retry, stopping.signal)

  /** Asked for ever; undefined when the signal aborts. */
  const withRetry = async <A>(
    ask: () => Promise<Either<StoreFailure, A>>,
    signal: AbortSignal,
  ): Promise<A | undefined> => {
    for (let failures = 0; !signal.aborted; failures += 1) {
      const answer = await ask()
      if (E.isRight(answer)) return answer.right
      await monotonic.sleep(backoffAfter(policy.backoff, failures), signal)
    }
    return undefined
  }
  const shared = sharedTail(reader, (signal) => withRetry(head, signal), stopping.signal)

  async function* history(
    after: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
  ): AsyncGenerator<EventBatch> {
    const either = AbortSignal.any([signal, stopping.signal])
    const part = { after, categories, signal: either, retryFor: policy.retryFor }
    const end = orThrow(await head())
    yield* leftIn(reader.readUpTo(end, part), orThrow(await truncatedAfter(after, categories, either)))
  }

  async function* subscribe(
    after: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
  ): AsyncGenerator<EventBatch> {
    const either = AbortSignal.any([signal, stopping.signal])
    const tail = await shared.open(either)
    if (tail === undefined) return
    const retriedHistory = async function* (from: Position): AsyncGenerator<EventBatch> {
      const end = await withRetry(head, either)
      const part = { after: from, categories, signal: either, retryFor: Infinity }
      const isTruncated = await withRetry(() => truncatedAfter(from, categories, either), either)
      if (end !== undefined && isTruncated !== undefined) yield* leftIn(reader.readUpTo(end, part), isTruncated)
    }
    yield* liveSubscription(tail, retriedHistory, after, categories, either)
  }

  return {
    read,
    readLast,
    append: appendsOf(connection, retry),
    subscribe,
    history,
    head,
    newestTime,
    truncate: async (stream, before) => {
      const done = await truncate({ stream, before })
      if (E.isRight(done) && done.right !== undefined) shared.truncate({ stream, before }, done.right)
      return E.asUnit(done)
    },
    // Its files are the server's: a scavenge takes out of them what was truncated.
    purge: () => Promise.resolve(E.right(true)),
    ...savedCheckpoints(connection, retry, stopping.signal),
    positionUnit: 'bytes',
    close: async () => {
      stopping.abort()
      await shared.ended()
      await connection.close()
    },
  }
}

/** Until a scavenge a server gives what was truncated to whoever reads the whole log. */
async function* leftIn(batches: AsyncIterable<EventBatch>, isTruncated: IsTruncated): AsyncGenerator<EventBatch> {
  for await (const { events, position } of batches)
    yield { events: events.filter((event) => !isTruncated(event)), position }
}

const appendsOf =
  ({ appends }: Connection, retry: Retry): EventStore['append'] =>
  (stream, expected, events) => {
    if (!events.every(isEncodable))
      return Promise.resolve(E.left({ kind: 'corrupt', reason: 'an event has no type, or an id that is no UUID' }))
    if (exceedsLargestAppend(events)) return Promise.resolve(E.left(tooLargeAppend))
    const batch = events.map(encodeEvent)
    const bytes = approximateBytes(batch)
    const expectedRevision = expected === 'no-stream' ? NO_STREAM : BigInt(expected)
    // A retry sends the same ids at the same revision: what was written already is then answered and not written again.
    const append = async (): Promise<Appended> => {
      const { nextExpectedRevision, position } = await appendsOfThisProcess.send(bytes, () =>
        appends.current().appendToStream(stream, batch, { expectedRevision }),
      )
      // Without a position these very events were deleted since, and there is none to wait for.
      return { revision: Number(nextExpectedRevision), position: positionFrom(position) }
    }
    return appendsOfThisProcess.track(() => retry(appends, append))
  }

const readsOf = (
  { reads }: Connection,
  retry: Retry,
  stopping: AbortSignal,
): Pick<EventStore, 'read' | 'readLast' | 'head' | 'newestTime'> => {
  const newest = async <A>(maxCount: number, of: (events: ReadonlyArray<AllStreamResolvedEvent>) => A | Promise<A>) => {
    const last = { direction: BACKWARDS, fromPosition: END, maxCount, ...ofLeader } as const
    const answer = await retry(reads, async (cancellation) =>
      of(await completeRead(reads, (client) => client.readAll(last), cancellation, stopping)),
    )
    return E.isLeft(answer) ? E.left(withoutConflict(answer.left)) : answer
  }
  return {
    ...streamReads(reads, retry, stopping),
    // Whatever follows the log asks for its head first. On a server that is too old it would never come to the end of
    // the history.
    head: () =>
      newest(1, async ([last]) => {
        await refuseTooOld(reads.current())
        return positionFrom(last?.event?.position)
      }),
    newestTime: () => newest(100, (events) => events.map(timeIn).find((time) => time !== undefined)),
  }
}

/** Undefined of what is no event of ours. */
const timeIn = (resolved: AllStreamResolvedEvent): Instant | undefined => {
  const entry = decodeEvent(resolved)
  return entry === undefined || 'failure' in entry ? undefined : entry.time
}

/** Each page is a call of its own, with its own time limit. */
const streamReads = (
  reads: ReconnectingClient,
  retry: Retry,
  stopping: AbortSignal,
): Pick<EventStore, 'read' | 'readLast'> => {
  const page = async (stream: string, options: ReadStreamOptions) => {
    const answer = await retry<ReadonlyArray<RecordedEvent>>(
      reads,
      async (cancellation) => {
        const resolved = await completeRead<ResolvedEvent>(
          reads,
          (client) => client.readStream(stream, { ...options, ...ofLeader }, { highWaterMark: bufferSize }),
          cancellation,
          stopping,
        )
        return resolved.map(ownEvent)
      },
      [],
    )
    return E.isLeft(answer) ? E.left(withoutConflict(answer.left)) : answer
  }
  return {
    read: readByPages((stream, from, limit) => page(stream, { fromRevision: BigInt(from), maxCount: limit })),
    readLast: readLastByPages((stream, from, limit) =>
      page(stream, { direction: BACKWARDS, fromRevision: from === 'end' ? END : BigInt(from), maxCount: limit }),
    ),
  }
}

/** @throws StoreFailed */
const ownEvent = (resolved: ResolvedEvent): RecordedEvent => {
  const entry = decodeEvent(resolved)
  if (entry === undefined)
    throw new StoreFailed({ kind: 'corrupt', reason: 'a stream of ours holds an event that is not ours' })
  if ('failure' in entry) throw new StoreFailed(entry.failure)
  return entry
}
