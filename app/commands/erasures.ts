import { neverAborted, withinLimit } from '../../domain/abortable.js'
import { erasure, type ErasureOutcome } from '../../domain/erasure.js'
import type { Position } from '../../domain/event.js'
import type { ErasureId } from '../../domain/ids.js'
import type { CommandHandler, StoreFailure, Time } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import { loadState } from './states/current-states.js'
import { longestTrust } from './states/in-memory-projection.js'

/** How far an erasure has come. */
type ErasureEnd = {
  /** Undefined while the process manager is at it. */
  readonly outcome: ErasureOutcome | undefined
  /** Nothing of the contact is left in the files of the stores either. */
  readonly isPurged: boolean
}

export type Erasures = {
  /** Waits some seconds for the end of an erasure that was requested at this position; of one that was requested before, not at all. */
  readonly ended: (id: ErasureId, requestedAt: Position | undefined) => Promise<Either<StoreFailure, ErasureEnd>>
  /** Resolves once every process knows of what this one has just changed in an account. */
  readonly knownToAll: () => Promise<void>
}

type Ports = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly eraser: Pick<LeasedFollower, 'caughtUpTo'>
  /** Of each store: true once no byte of what was removed is left in its files. */
  readonly purges: ReadonlyArray<() => Promise<Either<StoreFailure, boolean>>>
  /** Whether other processes work on the same stores. */
  readonly isShared: boolean
  readonly time: Pick<Time, 'sleep'>
}

/** In milliseconds. */
const longestWait = 5_000

export const erasuresOn = ({ commandHandler, eraser, purges, isShared, time }: Ports): Erasures => ({
  ended: async (id, requestedAt) => {
    if (requestedAt !== undefined)
      await withinLimit(time, longestWait, (isOver) => eraser.caughtUpTo(requestedAt, isOver))
    const state = await loadState(commandHandler, erasure, id)
    if (E.isLeft(state)) return state
    const outcome = state.right.kind === 'unknown' ? undefined : state.right.outcome
    if (outcome === undefined) return E.right({ outcome, isPurged: false })
    for (const purge of purges) {
      const isPurged = await purge()
      if (E.isLeft(isPurged)) return isPurged
      if (!isPurged.right) return E.right({ outcome, isPurged: false })
    }
    return E.right({ outcome, isPurged: true })
  },
  knownToAll: () => (isShared ? time.sleep(longestTrust, neverAborted) : Promise.resolve()),
})
