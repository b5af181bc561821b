import { setMaxListeners } from 'node:events'
import { withinLimit } from '../../domain/abortable.js'
import { beginning, furthest, type Position } from '../../domain/event.js'
import type { RecordedEvent } from '../../domain/events.js'
import type { Time } from '../../domain/ports.js'
import type { AnyProjection } from '../../projections/projection.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'

/** A read model that answers requests, and the follower that maintains it. */
export type ServedReadModel = {
  readonly projection: AnyProjection
  readonly follower: Pick<LeasedFollower, 'caughtUpTo'>
}

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

/** What follows the log: a read model, or this process. It has a position to reach to show these events. */
type LogFollower = {
  readonly name: string
  readonly wantedFor: (events: ReadonlyArray<RecordedEvent>) => Position
  readonly caughtUpTo: (position: Position, signal: AbortSignal) => Promise<void>
}

/** Requests that wait for the same, from the same turn of the event loop on: so a batch of leads costs one wait. */
type Group = { readonly wanted: Map<LogFollower, Position>; readonly caughtUp: Promise<void> }

/** Waits until the read models that these events concern show them, in whichever process they are maintained. */
export const readYourWrites = ({ readModels, followed, time, stopping }: Ports) => {
  const followers: ReadonlyArray<LogFollower> = [
    ...readModels.map(({ projection, follower }) => ({
      name: projection.name,
      wantedFor: (events: ReadonlyArray<RecordedEvent>) =>
        newestOf(events.filter((event) => projection.keyOf(event) !== undefined)),
      caughtUpTo: follower.caughtUpTo,
    })),
    { name: 'the log', wantedFor: newestOf, caughtUpTo: followed },
  ]
  /**
   * What did not catch up in time. No request waits for it until it has, so an outage slows down a few requests and not
   * all.
   */
  const lagging = new Set<LogFollower>()
  setMaxListeners(0, stopping)

  const trackLagging = async (one: LogFollower, position: Position): Promise<void> => {
    if (lagging.has(one)) return
    lagging.add(one)
    await one.caughtUpTo(position, stopping)
    lagging.delete(one)
  }

  const wantedOf = (
    one: LogFollower,
    events: ReadonlyArray<RecordedEvent>,
  ): ReadonlyArray<readonly [LogFollower, Position]> => {
    const wanted = lagging.has(one) ? beginning : one.wantedFor(events)
    return wanted === beginning ? [] : [[one, wanted]]
  }

  const waitFor = async (wanted: ReadonlyMap<LogFollower, Position>): Promise<void> => {
    const missing = new Map(wanted)
    const catchUp = async ([one, position]: readonly [LogFollower, Position], signal: AbortSignal): Promise<void> => {
      await one.caughtUpTo(position, signal)
      if (!signal.aborted) missing.delete(one)
    }
    await withinLimit(time, longestWait, (signal) => {
      setMaxListeners(0, signal)
      return Promise.all([...wanted].map((one) => catchUp(one, signal)))
    })
    for (const [one, position] of missing) void trackLagging(one, position)
  }

  /** By the names of what their requests wait for: none waits for what only others wrote. */
  const groups = new Map<string, Group>()

  const begunGroup = (names: string): Group => {
    const wanted: Group['wanted'] = new Map()
    const caughtUp = new Promise(setImmediate).then(() => {
      groups.delete(names)
      return waitFor(wanted)
    })
    const group = { wanted, caughtUp }
    groups.set(names, group)
    return group
  }

  return async (events: ReadonlyArray<RecordedEvent>): Promise<void> => {
    const mine = followers.flatMap((one) => wantedOf(one, events))
    if (mine.length === 0) return
    const names = mine.map(([{ name }]) => name).join()
    const { wanted, caughtUp } = groups.get(names) ?? begunGroup(names)
    for (const [one, position] of mine) wanted.set(one, furthest(position, wanted.get(one) ?? beginning))
    await caughtUp
  }
}

const newestOf = (events: ReadonlyArray<RecordedEvent>): Position =>
  furthest(beginning, ...events.map(({ position }) => position))
