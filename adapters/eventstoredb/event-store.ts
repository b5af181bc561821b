import {
  BACKWARDS,
  END,
  NO_STREAM,
  type EventStoreDBClient,
  type ResolvedEvent,
  type StreamingRead,
} from '@eventstore/db-client'
import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import { setTimeout as slept } from 'node:timers/promises'
import { beginning, type Position, type Recorded } from '../../domain/event.js'
import { categories as allCategories, type Category, type DomainEvent } from '../../domain/events.js'
import type { Appended, EventBatch, EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { StoreFailed } from '../../domain/store-failed.js'
import { catchUp, Dropped, type Arrival } from './catch-up.js'
import type { Connection } from './connection.js'
import type { HealingClient } from './healing-client.js'
import { whileAppending } from './appends-in-flight.js'
import { CutOff, meaningOf, silence, type Meaning } from './failure.js'
import { eventDataOf, prefixesOf, recordedOf } from './recorded.js'
import { liveSubscription } from '../in-process/live-subscription.js'
import { decodedPart, logTail, type EntryBatch, type LogTail } from '../in-process/log-tail.js'

/** In milliseconds. */
export type Patience = {
  /** How long one call may take: the driver itself may wait for ever (reference 0.6, 8). */
  readonly call: number
  /** How long an append or a read is asked again before it fails. */
  readonly inAll: number
  /** The shortest and the longest pause before something is asked again. */
  readonly pause: readonly [number, number]
}

const usual: Patience = { call: 2_500, inAll: 3_000, pause: [50, 5_000] }

/** Events that the live subscriptions of a process find in memory. */
const remembered = 4_096

const uuid = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i

export type EventStoreDb = EventStore & { readonly close: () => Promise<void> }

/** The `EventStore` port on EventStoreDB. */
export const eventStoreDb = (connection: Connection, patience: Patience = usual): EventStoreDb => {
  const closing = new AbortController()
  // Each reading of the log that is under way listens to it.
  setMaxListeners(0, closing.signal)
  let following: { readonly recent: LogTail; readonly done: Promise<void> } | undefined

  const pauseAfter = (tries: number): number => Math.min(patience.pause[0] * 2 ** tries, patience.pause[1])

  /** Asks until there is an answer, a final failure, or no patience left. */
  const persistently = async <A>(
    client: HealingClient,
    ask: (late: Late) => Promise<A>,
    missing: A | undefined,
  ): Promise<Either<Extract<Meaning, { readonly kind: 'final' }>['failure'], A>> => {
    const until = performance.now() + patience.inAll
    for (let tries = 0; ; tries += 1) {
      const asked = await inTime(ask, patience.call)
      if (E.isRight(asked)) {
        client.answered()
        return asked
      }
      const meaning = asked.left
      if (meaning.kind === 'missing' && missing !== undefined) return E.right(missing)
      if (meaning.kind === 'final') return E.left(meaning.failure)
      client.failed(meaning)
      const reason = meaning.kind === 'again' ? meaning.reason : 'the event store knows no such stream'
      const pause = pauseAfter(tries)
      if (closing.signal.aborted || performance.now() + pause > until) return E.left({ kind: 'unavailable', reason })
      await slept(pause)
    }
  }

  /**
   * All that a read gives. It is taken in the same tick in which it begins (reference 0.4), and to its end: one that is given
   * up is cancelled and not left, for an answer that nobody takes would keep its client from ever being disposed of.
   * @throws CutOff since the driver ends the reads of a client that is disposed of as if they were whole: an empty stream
   * would be one that is not there
   */
  const allOf = async <A>(
    begin: (client: EventStoreDBClient) => StreamingRead<A>,
    late: Late,
  ): Promise<ReadonlyArray<A>> => {
    const client = connection.reads.now()
    const reading = begin(client)
    late.cancel = () => void reading.cancel().catch(() => undefined)
    const all: Array<A> = []
    for await (const one of reading) all.push(one)
    if (closing.signal.aborted || client !== connection.reads.now()) throw new CutOff()
    return all
  }

  const read: EventStore['read'] = async (stream) => {
    const answer = await persistently<ReadonlyArray<Recorded<DomainEvent>>>(
      connection.reads,
      async (late) => {
        const begin = (client: EventStoreDBClient) => client.readStream(stream, {}, { highWaterMark: 500 })
        return (await allOf<ResolvedEvent>(begin, late)).map(ownOf)
      },
      [],
    )
    if (E.isRight(answer)) {
      return E.right({ events: answer.right, revision: answer.right.at(-1)?.revision ?? 'no-stream' })
    }
    return E.left(notAConflict(answer.left))
  }

  const append: EventStore['append'] = (stream, expected, events) => {
    const isFit = events.every(({ id, type }) => uuid.test(id) && type.length > 0)
    // The server answers such an append twice, and the driver does not survive it (reference 8).
    if (!isFit)
      return Promise.resolve(E.left({ kind: 'corrupt', reason: 'an event has no type, or an id that is no UUID' }))
    const batch = events.map(eventDataOf)
    const expectedRevision = expected === 'no-stream' ? NO_STREAM : BigInt(expected)
    // The same ids at the same revision each time: what was written already is not written again (reference 8).
    const client = connection.appends
    const ask = async (): Promise<Appended> => {
      const { nextExpectedRevision, position } = await client.now().appendToStream(stream, batch, { expectedRevision })
      // No position: these very events were deleted since, and there is nothing to wait for.
      return { revision: Number(nextExpectedRevision), position: position?.commit ?? beginning }
    }
    return whileAppending(() => persistently(client, ask, undefined))
  }

  const head: EventStore['head'] = async () => {
    const answer = await persistently<Position>(
      connection.reads,
      async (late) => {
        const last = { direction: BACKWARDS, fromPosition: END, maxCount: 1 } as const
        const [newest] = await allOf((client) => client.readAll(last), late)
        return newest?.event?.position.commit ?? beginning
      },
      undefined,
    )
    return E.isLeft(answer) ? E.left(notAConflict(answer.left)) : answer
  }

  /** The head, however long it takes; undefined when the store is closed. */
  const headAtLast = async (signal: AbortSignal): Promise<Position | undefined> => {
    for (let tries = 0; !signal.aborted; tries += 1) {
      const answer = await head()
      if (E.isRight(answer)) return answer.right
      await slept(pauseAfter(tries), undefined, { signal }).catch(() => undefined)
    }
    return undefined
  }

  /** Subscribes again for ever, from where it was, until the consumer has enough. */
  async function* arrivals(
    after: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
    isPatient: boolean,
  ): AsyncGenerator<Arrival> {
    let position = after
    let tries = 0
    let heard = performance.now()
    while (!signal.aborted) {
      try {
        for await (const arrival of catchUp(connection.reads, position, prefixesOf(categories), signal)) {
          tries = 0
          heard = performance.now()
          position = arrival.position
          yield arrival
        }
      } catch (error) {
        if (!(error instanceof Dropped)) throw error
        if (!isPatient && performance.now() - heard > patience.inAll) {
          throw new StoreFailed({ kind: 'unavailable', reason: error.message })
        }
        await slept(pauseAfter(tries), undefined, { signal }).catch(() => undefined)
        tries += 1
      }
    }
  }

  async function* upTo(
    end: Position,
    after: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
    isPatient: boolean,
  ): AsyncGenerator<EventBatch> {
    if (after >= end) return
    let reached = after
    for await (const { entries, position, isLive } of arrivals(after, categories, signal, isPatient)) {
      // Going live means that the log was looked at to its end, which lay no earlier than `end`.
      const isLast = isLive || position >= end
      const looked = isLast && position < end ? end : position
      let rest: EntryBatch = { entries, position: looked }
      while (looked > reached) {
        const readable = decodedPart(rest)
        reached = readable.position
        yield readable
        rest = { entries: entries.filter((entry) => entry.position > reached), position: looked }
      }
      if (isLast) return
    }
  }

  async function* history(after: Position, categories: ReadonlyArray<Category>): AsyncGenerator<EventBatch> {
    const end = await head()
    if (E.isLeft(end)) throw new StoreFailed(end.left)
    yield* upTo(end.right, after, categories, closing.signal, false)
  }

  /** One subscription keeps the end of the log for all live subscriptions of this process. */
  const remember = async (signal: AbortSignal): Promise<LogTail | undefined> => {
    const start = following === undefined ? await headAtLast(signal) : undefined
    if (following !== undefined || start === undefined) return following?.recent
    const recent = logTail(start, remembered)
    const run = async (): Promise<void> => {
      let position = start
      for await (const arrival of arrivals(start, allCategories, closing.signal, true)) {
        recent.add(position, arrival)
        position = arrival.position
      }
    }
    following = { recent, done: run() }
    return recent
  }

  async function* subscribe(
    after: Position,
    categories: ReadonlyArray<Category>,
    signal: AbortSignal,
  ): AsyncGenerator<EventBatch> {
    const until = AbortSignal.any([signal, closing.signal])
    const recent = await remember(until)
    if (recent === undefined) return
    const past = async function* (from: Position): AsyncGenerator<EventBatch> {
      const end = await headAtLast(until)
      if (end !== undefined) yield* upTo(end, from, categories, until, true)
    }
    yield* liveSubscription(recent, past, after, categories, until)
  }

  return {
    read,
    append,
    subscribe,
    history,
    head,
    close: async () => {
      closing.abort()
      await following?.done
      await connection.close()
    },
  }
}

/** @throws StoreFailed */
const ownOf = (resolved: ResolvedEvent): Recorded<DomainEvent> => {
  const entry = recordedOf(resolved)
  if (entry === undefined)
    throw new StoreFailed({ kind: 'corrupt', reason: 'a stream of ours holds an event that is not ours' })
  if ('failure' in entry) throw new StoreFailed(entry.failure)
  return entry
}

/** Set by what is asked, to end it when it is given up. A signal for each append would cost too much. */
type Late = { cancel?: () => void }

/** What is asked, or what went wrong with it; given up after some milliseconds. */
const inTime = <A>(ask: (late: Late) => Promise<A>, milliseconds: number): Promise<Either<Meaning, A>> =>
  new Promise((resolve) => {
    const late: Late = {}
    const timer = setTimeout(() => {
      resolve(E.left(silence))
      late.cancel?.()
    }, milliseconds)
    ask(late).then(
      (answer) => {
        clearTimeout(timer)
        resolve(E.right(answer))
      },
      (error: unknown) => {
        clearTimeout(timer)
        resolve(E.left(meaningOf(error)))
      },
    )
  })

/** Reads have no expected revision that could conflict. */
const notAConflict = (failure: Extract<Meaning, { readonly kind: 'final' }>['failure']): StoreFailure =>
  failure.kind === 'conflict'
    ? { kind: 'unavailable', reason: 'the event store answered a read with a conflict' }
    : failure
