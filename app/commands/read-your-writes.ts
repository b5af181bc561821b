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

type Ports = {
  readonly readModels: ReadonlyArray<ServedReadModel>
  /** Resolves once this process has followed the log up to a position, as those beside it will have within moments. */
  readonly followed: (position: Position) => Promise<void>
  readonly time: Time
}

/** In milliseconds. A read model that takes longer is not waited for: what was accepted stands, and a miss asks the stream. */
const longestWait = 1_000

/** In milliseconds: after a wait in vain nobody waits for so long, so that read models that are away slow no lead down. */
const rest = 2_000

/** Waits until the read models that these events concern show them, in whichever process they are kept. */
export const readYourWrites = ({ readModels, followed, time }: Ports) => {
  let restsUntil = Number.NEGATIVE_INFINITY

  return async (events: ReadonlyArray<Recorded<DomainEvent>>): Promise<void> => {
    if (time.now() < restsUntil) return
    const over = new AbortController()
    setMaxListeners(0, over.signal)
    const waits = readModels.flatMap(({ projection, follower }) => {
      const last = newestOf(events.filter((event) => projection.keyOf(event) !== undefined))
      return last === beginning ? [] : [follower.caughtUpTo(last, over.signal)]
    })
    const shown = Promise.all([...waits, followed(newestOf(events))]).then(() => true)
    const isShown = await Promise.race([shown, time.sleep(longestWait, over.signal).then(() => false)])
    if (!isShown) restsUntil = time.now() + rest
    over.abort()
  }
}

const newestOf = (events: ReadonlyArray<Recorded<DomainEvent>>): Position =>
  events.reduce((newest, { position }) => (position > newest ? position : newest), beginning)
