import { beginning, type Position } from '../../../domain/event.js'
import type { EventBatch, EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { categoryOf } from '../../../domain/stream-name.js'
import type { Documents } from '../../../projections/ports.js'
import type { Life } from '../simulation/life.js'
import { nextTurn } from '../time/turns.js'
import { sleep } from '../time/until.js'

/**
 * Knows what processes in simulated time wait for in real time: the answers of servers, and events that are on their
 * way.
 */
type Watch = {
  readonly head: () => Position
  /** Something happens, such as a timer that is set. */
  readonly stir: () => void
  readonly during: <A>(work: () => Promise<A>) => Promise<A>
  /** An operation of a driver begins, or ends. */
  readonly begun: () => void
  readonly ended: () => void
  readonly appended: (stream: string, position: Position) => void
  readonly subscribed: (life: Life, after: Position, categories: ReadonlyArray<string>) => Subscribed
  /** Resolves when nothing is under way. */
  readonly settled: () => Promise<void>
}

type Subscribed = {
  /** It asks for the next batch: what stands behind its place is on its way. */
  readonly waits: () => void
  readonly given: (batch: EventBatch) => void
  readonly end: () => void
}

/** Turns of the event loop in which nothing happens, after which nothing is under way. */
const quietTurns = 6

/** In milliseconds, of real time. */
const longestAnswer = 20_000

export const openWatch = (): Watch => {
  const newest = new Map<string, Position>()
  const owing = new Set<() => boolean>()
  let head = beginning
  let inFlight = 0
  let changes = 0

  const change = (by: number): void => {
    inFlight += by
    changes += 1
  }
  const isIdle = (): boolean => inFlight === 0 && ![...owing].some((owes) => owes())
  const begun = (): void => change(1)
  const ended = (): void => change(-1)
  return {
    head: () => head,
    stir: () => change(0),
    begun,
    ended,
    during: async (work) => {
      begun()
      try {
        return await work()
      } finally {
        ended()
      }
    },
    appended: (stream, position) => {
      const category = categoryOf(stream)
      if (position > (newest.get(category) ?? beginning)) newest.set(category, position)
      if (position > head) head = position
    },
    subscribed: (life, after, categories) => {
      let position = after
      let isWaiting = false
      const owes = (): boolean =>
        isWaiting && !life.isOver() && categories.some((category) => (newest.get(category) ?? beginning) > position)
      owing.add(owes)
      return {
        waits: () => {
          isWaiting = true
        },
        given: (batch) => {
          isWaiting = false
          if (batch.position > position) position = batch.position
          change(0)
        },
        end: () => void owing.delete(owes),
      }
    },
    settled: async () => {
      const end = performance.now() + longestAnswer
      for (let quiet = 0; quiet < quietTurns; quiet += 1) {
        const before = changes
        await (isIdle() ? nextTurn() : sleep(1))
        if (changes > before || !isIdle()) quiet = -1
        if (performance.now() > end)
          throw new Error(
            `nothing settles: ${inFlight} requests are in flight, ${[...owing].filter((owes) => owes()).length} subscriptions wait`,
          )
      }
    },
  }
}

type Durable = (life: Life) => void

type Wrapping = { readonly life: Life; readonly watch: Watch; readonly durable: Durable }

/** A store as one life has it: what is written may be the moment of its crash, before it is done or after. */
export const watchedStore = (store: EventStore, wrapping: Wrapping): EventStore => {
  const { watch, life } = wrapping
  const { reads, writes } = wrappersOf(wrapping)
  return {
    ...store,
    read: reads(store.read),
    readLast: reads(store.readLast),
    head: reads(store.head),
    newestTime: reads(store.newestTime),
    checkpoint: reads(store.checkpoint),
    saveCheckpoint: writes(store.saveCheckpoint),
    truncate: writes(store.truncate),
    append: writes(async (stream, expected, events) => {
      const appended = await store.append(stream, expected, events)
      if (E.isRight(appended)) watch.appended(stream, appended.right.position)
      return appended
    }),
    history: (...args) => batchesOf(store.history(...args), (next) => life.serve(() => watch.during(next))),
    subscribe: (after, categories, signal) => {
      const subscribed = watch.subscribed(life, after, categories)
      const batches = batchesOf(store.subscribe(after, categories, signal), async (next) => {
        subscribed.waits()
        const result = await life.serve(next)
        if (result.done !== true) subscribed.given(result.value)
        return result
      })
      return ended(batches, subscribed.end)
    },
  }
}

/** The same of documents. */
export const watchedDocuments = (documents: Documents, wrapping: Wrapping): Documents => {
  const { reads, writes } = wrappersOf(wrapping)
  return {
    ...documents,
    exists: reads(documents.exists),
    get: reads(documents.get),
    getToFold: reads(documents.getToFold),
    find: reads(documents.find),
    count: reads(documents.count),
    values: reads(documents.values),
    confirmedCheckpoint: reads(documents.confirmedCheckpoint),
    checkpoint: reads(documents.checkpoint),
    prepare: writes(documents.prepare),
    apply: writes(documents.apply),
    promote: writes(documents.promote),
    drop: writes(documents.drop),
  }
}

const wrappersOf = ({ life, watch, durable }: Wrapping) => {
  const reads =
    <A extends ReadonlyArray<unknown>, B>(ask: (...args: A) => Promise<B>) =>
    (...args: A): Promise<B> =>
      life.serve(() => watch.during(() => ask(...args)))
  const writes =
    <A extends ReadonlyArray<unknown>, B>(ask: (...args: A) => Promise<B>) =>
    (...args: A): Promise<B> =>
      life.serve(async () => {
        durable(life)
        // The call above may have ended this life: then nothing is written for it.
        if (life.isOver()) return never()
        const answer = await watch.during(() => ask(...args))
        if (!life.isOver()) durable(life)
        return answer
      })
  return { reads, writes }
}

async function* batchesOf<A>(
  batches: AsyncIterable<A>,
  give: (next: () => Promise<IteratorResult<A>>) => Promise<IteratorResult<A>>,
): AsyncGenerator<A> {
  const iterator = batches[Symbol.asyncIterator]()
  for (;;) {
    const result = await give(() => iterator.next())
    if (result.done === true) return
    yield result.value
  }
}

async function* ended<A>(batches: AsyncIterable<A>, end: () => void): AsyncGenerator<A> {
  try {
    yield* batches
  } finally {
    end()
  }
}

const never = (): Promise<never> => new Promise(() => undefined)
