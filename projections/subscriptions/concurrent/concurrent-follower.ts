import { abortable, over } from '../../../domain/abortable.js'
import { reasonOf } from '../../../domain/failure-reason.js'
import type { Places } from '../../../domain/round-robin.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { EventBatch } from '../../../domain/ports.js'
import { isLogged } from '../retries/backoff.js'
import type { Checkpoint } from '../checkpoint.js'
import { follow, waiters, type Follower, type FollowPorts, type RunningFollower } from '../follower.js'
import { fairQueue, type QueuedWork } from './fair-queue.js'

/** What follows the log and handles events at once. A repeat of what it does changes nothing. */
export type ConcurrentFollower = Pick<Follower, 'name' | 'categories'> & {
  readonly checkpoint: Checkpoint
  readonly places: Places
  /**
   * Undefined where nothing follows from the event. A failure is tried again, and nothing more is read of the log
   * before.
   */
  readonly workOf: (event: RecordedEvent) => Promise<QueuedWork | undefined>
  /** Tried again in its place where it throws. Ends when `stopping` aborts. */
  readonly handle: (event: RecordedEvent, stopping: AbortSignal) => Promise<void>
  readonly skip: NonNullable<Follower['skip']>
}

/**
 * Events that have not been handled, at most: where so many wait, be it for one account, nothing more is read of the
 * log.
 */
const mostUnhandled = 10_000

/**
 * Follows the log, and handles at once what finds a place. Its position, and so its checkpoint, stays before the first
 * event that has not been handled, however many after it have been: these come again after a crash.
 */
export const followConcurrently = (follower: ConcurrentFollower, ports: FollowPorts): RunningFollower => {
  const { name, categories, checkpoint, skip } = follower
  const events = unhandledEvents()
  const { wake, reached } = waiters((wanted) => handling.isStopping() || events.position() >= wanted)
  const handling = handlingAtOnce(follower, ports, events, wake)
  let hasBegun = false

  const reading = follow(
    {
      name,
      categories,
      begin: async () => {
        // What was read before a failure of the log is in flight.
        if (hasBegun) return events.readPosition()
        events.readTo(await checkpoint.load())
        hasBegun = true
        return events.readPosition()
      },
      handle: handling.take,
      skip: async (undecodable) => {
        await skip(undecodable)
        events.readTo(undecodable.position)
      },
    },
    ports,
  )

  return {
    name,
    position: () => (hasBegun ? events.position() : undefined),
    failure: reading.failure,
    retrying: () => reading.retrying() ?? handling.retrying(),
    caughtUpTo: async (position, signal) => {
      await reading.caughtUpTo(position, signal)
      if (reading.failure() === undefined) await reached(position, signal)
    },
    stop: async () => {
      const handled = handling.stop()
      wake()
      await reading.stop()
      await handled
      await checkpoint.flush(events.position())
    },
  }
}

/** `after`: the position before the event; all that stands up to there was taken. */
type Unhandled = QueuedWork & { readonly event: RecordedEvent; readonly after: Position }

type UnhandledEvents = {
  readonly size: () => number
  readonly readPosition: () => Position
  /** Up to there everything is handled. */
  readonly position: () => Position
  readonly add: (event: RecordedEvent, work: QueuedWork) => Unhandled
  readonly readTo: (position: Position) => void
  readonly delete: (one: Unhandled) => void
}

/** What was taken from the log in its order, and is handled in any. */
const unhandledEvents = (): UnhandledEvents => {
  const unhandled = new Set<Unhandled>()
  let taken = beginning
  let before = beginning
  const readTo = (position: Position): void => {
    // A batch often ends with an event of its own, which was added already.
    if (position > taken) before = taken
    taken = position
  }
  return {
    size: () => unhandled.size,
    readPosition: () => taken,
    position: () => {
      for (const { after } of unhandled) return after
      return taken
    },
    add: (event, work) => {
      readTo(event.position)
      const one = { ...work, event, after: before }
      unhandled.add(one)
      return one
    },
    readTo,
    delete: (one) => void unhandled.delete(one),
  }
}

type Handling = {
  /** Resolves where there is room for more. */
  readonly take: (batch: EventBatch) => Promise<void>
  /** Why something that is in flight is tried again. */
  readonly retrying: () => string | undefined
  readonly isStopping: () => boolean
  /** Resolves once what is in flight has ended. */
  readonly stop: () => Promise<void>
}

/** `onHandled` is called whenever an event was handled. */
const handlingAtOnce = (
  { name, places, checkpoint, workOf, handle }: ConcurrentFollower,
  ports: FollowPorts,
  unhandled: UnhandledEvents,
  onHandled: () => void,
): Handling => {
  const queue = fairQueue<Unhandled>(places)
  const stopping = new AbortController()
  /** Each has a signal of its own: one that all of them listen to would warn of so many listeners. */
  const inFlight = new Map<AbortController, Promise<void>>()
  const { isDone, reason } = retries(name, ports)
  let saving = Promise.resolve()
  let endWait = (): void => undefined

  /** One save at a time: of two at once a server may lose the later. */
  const save = (events: EventBatch['events']): Promise<void> => {
    const saved = saving.then(() => checkpoint.advance({ events, position: unhandled.position() }))
    saving = saved.catch(() => undefined)
    return saved
  }

  const run = async (one: Unhandled, ending: AbortController): Promise<void> => {
    const { signal } = ending
    const { event } = one
    if (await isDone(() => handle(event, signal), signal)) {
      unhandled.delete(one)
      onHandled()
      endWait()
      // In its place: where documents are away no more than these wait for them.
      await isDone(() => save([event]), signal)
      queue.end(one)
    }
    inFlight.delete(ending)
    begin()
  }

  const begin = (): void => {
    if (stopping.signal.aborted) return
    for (const one of queue.begin()) {
      const ending = new AbortController()
      inFlight.set(ending, run(one, ending))
    }
  }

  return {
    take: async ({ events, position }) => {
      const queued: Array<QueuedWork | undefined> = []
      for (const event of events) queued.push(await workOf(event))
      // From here on nothing fails: of a batch that comes again nothing was taken.
      for (const [index, event] of events.entries()) {
        while (unhandled.size() >= mostUnhandled && !stopping.signal.aborted) {
          await abortable(stopping.signal, (done) => void (endWait = done))
        }
        if (stopping.signal.aborted) return
        const work = queued[index]
        if (work !== undefined) queue.add(unhandled.add(event, work))
        begin()
      }
      unhandled.readTo(position)
      await save(events)
    },
    retrying: reason,
    isStopping: () => stopping.signal.aborted,
    stop: async () => {
      stopping.abort(over)
      // With the error of an abort, by which whoever works knows that it was stopped.
      for (const ending of inFlight.keys()) ending.abort()
      await Promise.all(inFlight.values())
    },
  }
}

/**
 * What fails is tried again. `isDone`: whether it was done before it had to stop. `reason`: why something is tried
 * again now.
 */
const retries = (name: string, { logger, backoff }: FollowPorts) => {
  const failing = new Map<AbortSignal, string>()
  return {
    isDone: async (work: () => Promise<void>, stopping: AbortSignal): Promise<boolean> => {
      const hasToStop = (): boolean => stopping.aborted
      for (let failures = 0; !hasToStop(); failures += 1) {
        try {
          await work()
          failing.delete(stopping)
          return true
        } catch (error) {
          if (hasToStop()) return false
          const reason = reasonOf(error)
          failing.set(stopping, reason)
          if (isLogged(failures)) logger.warn({ follower: name, reason }, 'a follower of the log tries again')
          await backoff(failures, stopping)
        }
      }
      return false
    },
    reason: (): string | undefined => [...failing.values()][0],
  }
}
