import { setMaxListeners } from 'node:events'
import { beginning, type Position, type Recorded } from '../../domain/event.js'
import type { DomainEvent } from '../../domain/events.js'
import type { Time } from '../../domain/ports.js'
import type { AnyProjection } from '../../projections/projection.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'

/** A read model that answers requests, and the follower that keeps it. */
export type ServedReadModel = {
  readonly projection: AnyProjection
  readonly follower: Pick<LeasedFollower, 'caughtUpTo'>
}

type Events = ReadonlyArray<Recorded<DomainEvent>>

type Ports = {
  readonly readModels: ReadonlyArray<ServedReadModel>
  /** Resolves once this process has followed the log up to a position, as those beside it will have within moments. */
  readonly followed: (position: Position) => Promise<void>
  readonly time: Time
  /** Aborts when the service stops. */
  readonly ending: AbortSignal
}

/** In milliseconds. What takes longer is not waited for: what was accepted stands, and a miss asks the stream. */
const longestWait = 3_000

/** A read model or the log: how far it has to come for these events, and when it has. */
type Awaited = {
  readonly wantedFor: (events: Events) => Position
  readonly caughtUpTo: (position: Position, signal: AbortSignal) => Promise<void>
}

/** Waits until the read models that these events concern show them, in whichever process they are kept. */
export const readYourWrites = ({ readModels, followed, time, ending }: Ports) => {
  const everything: ReadonlyArray<Awaited> = [
    ...readModels.map(({ projection, follower }) => ({
      wantedFor: (events: Events) => newestOf(events.filter((event) => projection.keyOf(event) !== undefined)),
      caughtUpTo: follower.caughtUpTo,
    })),
    { wantedFor: newestOf, caughtUpTo: followed },
  ]
  /** Nobody waits for what is late, until it has caught up: what is away slows down a few requests and not all. */
  const late = new Set<Awaited>()
  setMaxListeners(0, ending)

  const becomesLate = async (one: Awaited, position: Position): Promise<void> => {
    if (late.has(one)) return
    late.add(one)
    await one.caughtUpTo(position, ending)
    late.delete(one)
  }

  return async (events: Events): Promise<void> => {
    const over = new AbortController()
    setMaxListeners(0, over.signal)
    const missing = new Map<Awaited, Position>()
    const catchUp = async (one: Awaited): Promise<void> => {
      const wanted = one.wantedFor(events)
      if (wanted === beginning || late.has(one)) return
      missing.set(one, wanted)
      await one.caughtUpTo(wanted, over.signal)
      missing.delete(one)
    }
    await Promise.race([Promise.all(everything.map(catchUp)), time.sleep(longestWait, over.signal)])
    for (const [one, wanted] of missing) void becomesLate(one, wanted)
    over.abort()
  }
}

const newestOf = (events: Events): Position =>
  events.reduce((newest, { position }) => (position > newest ? position : newest), beginning)
