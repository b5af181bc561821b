import {
  BACKWARDS,
  END,
  NO_STREAM,
  type AllStreamResolvedEvent,
  type ReadStreamOptions,
  type ResolvedEvent,
} from '@eventstore/db-client'
import { setMaxListeners } from 'node:events'
import { eitherOf } from '../../domain/abortable.js'
import { exceedsLargestAppend, tooLargeAppend } from '../../domain/append-limit.js'
import { approximateBytes } from '../../domain/approximate-size.js'
import type { Position } from '../../domain/event.js'
import type { Category, RecordedEvent } from '../../domain/events.js'
import type { Instant } from '../../domain/instant.js'
import type { EventBatch, EventStore, MonotonicClock, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import { backoffAfter } from '../../projections/subscriptions/retries/backoff.js'
import { liveSubscription } from '../in-process/live-subscription.js'
import { readByPages, readLastByPages } from '../in-process/stream-pages.js'
import { monotonicClock } from '../node/monotonic-clock.js'
import { completeRead } from './complete-read.js'
import { ofLeader, type Connection } from './client/connection.js'
import { refuseTooOld } from './client/server-version.js'
import { decodeEvent, encodeEvent, isEncodable, positionFrom } from './event-codec.js'
import { resubscribingReader } from './log/resubscribing-reader.js'
import { savedCheckpoints } from './saved-checkpoints.js'
import { retryingWith, standardRetryPolicy, withoutConflict, type Retry, type RetryPolicy } from './retry.js'
import { sharedTail } from './log/shared-tail.js'
import { streamCalls, type StreamCalls } from './stream-calls.js'
import { truncations, type IsTruncated } from './truncations.js'

export type EventStoreDb = EventStore & { readonly close: () => Promise<void> }

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
  const calls = streamCalls(connection, retry, stopping.signal)
  const { head, newestTime } = logEnd(connection, retry, stopping.signal)
  const { truncate, after: truncatedAfter } = truncations(calls)

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

  async function* historyUntil(
    either: AbortSignal,
    after: Position,
    categories: ReadonlyArray<Category>,
  ): AsyncGenerator<EventBatch> {
    const part = { after, categories, signal: either, retryFor: policy.retryFor }
    const end = orThrow(await head())
    yield* leftIn(reader.readUpTo(end, part), orThrow(await truncatedAfter(after, categories, either)))
  }

  async function* subscribeUntil(
    either: AbortSignal,
    after: Position,
    categories: ReadonlyArray<Category>,
  ): AsyncGenerator<EventBatch> {
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
    ...streamReads(calls),
    append: appendsOf(calls),
    subscribe: (after, categories, signal) =>
      untilEither(signal, stopping.signal, (either) => subscribeUntil(either, after, categories)),
    history: (after, categories, signal) =>
      untilEither(signal, stopping.signal, (either) => historyUntil(either, after, categories)),
    head,
    newestTime,
    truncate: async (stream, before) => {
      const done = await truncate({ stream, before })
      if (E.isRight(done) && done.right !== undefined) shared.truncate({ stream, before }, done.right)
      return E.asUnit(done)
    },
    // Its files are the server's: a scavenge takes out of them what was truncated.
    purge: () => Promise.resolve(E.right(true)),
    ...savedCheckpoints(calls),
    positionUnit: 'bytes',
    close: async () => {
      stopping.abort()
      await shared.ended()
      await connection.close()
    },
  }
}

/** What `begin` gives, which ends when either signal aborts. */
async function* untilEither(
  one: AbortSignal,
  other: AbortSignal,
  begin: (either: AbortSignal) => AsyncGenerator<EventBatch>,
): AsyncGenerator<EventBatch> {
  const { signal, unlink } = eitherOf(one, other)
  try {
    yield* begin(signal)
  } finally {
    unlink()
  }
}

/** Until a scavenge a server gives what was truncated to whoever reads the whole log. */
async function* leftIn(batches: AsyncIterable<EventBatch>, isTruncated: IsTruncated): AsyncGenerator<EventBatch> {
  for await (const { events, position } of batches)
    yield { events: events.filter((event) => !isTruncated(event)), position }
}

const appendsOf =
  ({ write }: StreamCalls): EventStore['append'] =>
  async (stream, expected, events) => {
    if (!events.every(isEncodable))
      return E.left({ kind: 'corrupt', reason: 'an event has no type, or an id that is no UUID' })
    if (exceedsLargestAppend(events)) return E.left(tooLargeAppend)
    const batch = events.map(encodeEvent)
    const expectedRevision = expected === 'no-stream' ? NO_STREAM : BigInt(expected)
    // A retry sends the same ids at the same revision: what was written already is then answered and not written again.
    const appended = await write(approximateBytes(batch), (client) =>
      client.appendToStream(stream, batch, { expectedRevision }),
    )
    if (E.isLeft(appended)) return appended
    const { nextExpectedRevision, position } = appended.right
    // Without a position these very events were deleted since, and there is none to wait for.
    return E.right({ revision: Number(nextExpectedRevision), position: positionFrom(position) })
  }

const logEnd = (
  { reads }: Connection,
  retry: Retry,
  stopping: AbortSignal,
): Pick<EventStore, 'head' | 'newestTime'> => {
  const newest = async <A>(maxCount: number, of: (events: ReadonlyArray<AllStreamResolvedEvent>) => A | Promise<A>) => {
    const last = { direction: BACKWARDS, fromPosition: END, maxCount, ...ofLeader } as const
    const answer = await retry(reads, async (cancellation) =>
      of(await completeRead(reads, (client) => client.readAll(last), cancellation, stopping)),
    )
    return E.isLeft(answer) ? E.left(withoutConflict(answer.left)) : answer
  }
  return {
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

const streamReads = ({ readPage }: StreamCalls): Pick<EventStore, 'read' | 'readLast'> => {
  const page = async (stream: string, options: ReadStreamOptions) => {
    const resolved = await readPage(stream, options)
    return E.isLeft(resolved) ? resolved : ownEvents(resolved.right)
  }
  return {
    read: readByPages((stream, from, limit) => page(stream, { fromRevision: BigInt(from), maxCount: limit })),
    readLast: readLastByPages((stream, from, limit) =>
      page(stream, { direction: BACKWARDS, fromRevision: from === 'end' ? END : BigInt(from), maxCount: limit }),
    ),
  }
}

/** Left where one of them can't be decoded, or is none of ours. */
const ownEvents = (resolved: ReadonlyArray<ResolvedEvent>): Either<StoreFailure, ReadonlyArray<RecordedEvent>> => {
  const events: Array<RecordedEvent> = []
  for (const one of resolved) {
    const entry = decodeEvent(one)
    if (entry === undefined)
      return E.left({ kind: 'corrupt', reason: 'a stream of ours holds an event that is not ours' })
    if ('failure' in entry) return E.left(entry.failure)
    events.push(entry)
  }
  return E.right(events)
}
