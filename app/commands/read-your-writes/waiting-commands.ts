import { beginning, furthest, type Position } from '../../../domain/event.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import type { Documents } from '../../../projections/ports.js'
import { limitedWait, type LogFollower } from './limited-wait.js'
import type { ReadYourWrites, ServedReadModel } from './read-your-writes.js'

type Ports = {
  readonly readModels: ReadonlyArray<ServedReadModel>
  /**
   * Resolves once this process has followed the log up to `position`, or `signal` aborts; the other processes have
   * within moments, too.
   */
  readonly followed: (position: Position, signal: AbortSignal) => Promise<void>
  readonly documents: Documents
  readonly monotonic: MonotonicClock
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal
}

/** A follower that has a position to reach to show these events. */
type AwaitedFollower = LogFollower & { readonly wantedFor: (events: ReadonlyArray<RecordedEvent>) => Position }

/** Commands that wait for the same, from the same turn of the event loop on: so a batch of leads costs one wait. */
type Group = { readonly wanted: Map<LogFollower, Position>; readonly caughtUp: Promise<void> }

/** Commands wait until the read models that their events concern show them, whichever process maintains those. */
export const waitingCommands = ({ readModels, followed, documents, monotonic, stopping }: Ports): ReadYourWrites => {
  const { waitFor, isLagging } = limitedWait(monotonic, stopping)
  const followers: ReadonlyArray<AwaitedFollower> = [
    ...readModels.map(({ projection, follower }) => ({
      name: projection.name,
      wantedFor: (events: ReadonlyArray<RecordedEvent>) =>
        newestOf(events.filter((event) => projection.keyOf(event) !== undefined)),
      caughtUpTo: follower.caughtUpTo,
    })),
    { name: 'the log', wantedFor: newestOf, caughtUpTo: followed },
  ]

  const wantedOf = (
    one: AwaitedFollower,
    events: ReadonlyArray<RecordedEvent>,
  ): ReadonlyArray<readonly [LogFollower, Position]> => {
    const wanted = isLagging(one.name) ? beginning : one.wantedFor(events)
    return wanted === beginning ? [] : [[one, wanted]]
  }

  /** By the names of what their commands wait for: none waits for what only others wrote. */
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

  const untilAnswerable: ReadYourWrites['untilAnswerable'] = async (events) => {
    const mine = followers.flatMap((one) => wantedOf(one, events))
    if (mine.length === 0) return
    const names = mine.map(([{ name }]) => name).join()
    const { wanted, caughtUp } = groups.get(names) ?? begunGroup(names)
    for (const [one, position] of mine) wanted.set(one, furthest(position, wanted.get(one) ?? beginning))
    await caughtUp
  }
  return { untilAnswerable, documents }
}

const newestOf = (events: ReadonlyArray<RecordedEvent>): Position =>
  furthest(beginning, ...events.map(({ position }) => position))
