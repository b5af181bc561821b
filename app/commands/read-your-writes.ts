import { setMaxListeners } from 'node:events'
import { withinLimit } from '../../domain/abortable.js'
import { beginning, type Position, type Recorded } from '../../domain/event.js'
import type { DomainEvent } from '../../domain/events.js'
import type { Time } from '../../domain/ports.js'
import type { AnyProjection } from '../../projections/projection.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'

/** A read model that answers requests, and the follower that maintains it. */
export type ServedReadModel = {
  readonly projection: AnyProjection
  readonly follower: Pick<LeasedFollower, 'caughtUpTo'>
}

type Events = ReadonlyArray<Recorded<DomainEvent>>

type Ports = {
  readonly readModels: ReadonlyArray<ServedReadModel>
  /**
   * Resolves once this process has followed the log up to `position`, or `signal` aborts; the other processes have
   * within moments, too.
   */
  readonly followed: (position: Position, signal: AbortSignal) => Promise<void>
  readonly time: Time
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal
}

/**
 * In milliseconds. After that the answer goes out: the events are stored, and a contact that the read model lacks is
 * looked up in its stream.
 */
const longestWait = 3_000

/** A read model, or the log: the position that it must reach to show these events, and a wait until it has. */
type Awaited = {
  readonly wantedFor: (events: Events) => Position
  readonly caughtUpTo: (position: Position, signal: AbortSignal) => Promise<void>
}

/** Waits until the read models that these events concern show them, in whichever process they are maintained. */
export const readYourWrites = ({ readModels, followed, time, stopping }: Ports) => {
  const everything: ReadonlyArray<Awaited> = [
    ...readModels.map(({ projection, follower }) => ({
      wantedFor: (events: Events) => newestOf(events.filter((event) => projection.keyOf(event) !== undefined)),
      caughtUpTo: follower.caughtUpTo,
    })),
    { wantedFor: newestOf, caughtUpTo: followed },
  ]
  /**
   * What did not catch up in time. No request waits for it until it has, so an outage slows down a few requests and not
   * all.
   */
  const lagging = new Set<Awaited>()
  setMaxListeners(0, stopping)

  const trackLagging = async (one: Awaited, position: Position): Promise<void> => {
    if (lagging.has(one)) return
    lagging.add(one)
    await one.caughtUpTo(position, stopping)
    lagging.delete(one)
  }

  const wantedOf = (one: Awaited, events: Events): ReadonlyArray<readonly [Awaited, Position]> => {
    const wanted = lagging.has(one) ? beginning : one.wantedFor(events)
    return wanted === beginning ? [] : [[one, wanted]]
  }

  return async (events: Events): Promise<void> => {
    const missing = new Map(everything.flatMap((one) => wantedOf(one, events)))
    const catchUp = async ([one, wanted]: readonly [Awaited, Position], signal: AbortSignal): Promise<void> => {
      await one.caughtUpTo(wanted, signal)
      if (!signal.aborted) missing.delete(one)
    }
    await withinLimit(time, longestWait, (signal) => {
      setMaxListeners(0, signal)
      return Promise.all([...missing].map((one) => catchUp(one, signal)))
    })
    for (const [one, wanted] of missing) void trackLagging(one, wanted)
  }
}

const newestOf = (events: Events): Position =>
  events.reduce((newest, { position }) => (position > newest ? position : newest), beginning)
