import type { RecordedEvent } from '../../../domain/events.js'
import type { Position } from '../../../domain/event.js'
import type { Documents } from '../../../projections/ports.js'
import { memoryDocuments } from '../memory/documents.js'
import { eventsIn } from '../memory/event-store.js'
import type { Life } from '../simulation/life.js'
import { openLives, type LifeParts } from '../simulation/lives.js'
import type { ManualClock } from '../time/manual-clock.js'
import type { FollowUpProcess } from './follow-up-process.js'

/** Where a month takes place: processes that come and go on some stores, in simulated time. */
export type MonthStage = {
  /** The head of the log, as far as anybody was told. */
  readonly head: () => Position
  /** The processes that take commands now. */
  readonly running: () => ReadonlyArray<{ readonly life: Life; readonly process: FollowUpProcess }>
  /** Resolves when nothing is left to do at this time. */
  readonly settle: () => Promise<void>
  readonly toNextTimer: (latest: number) => boolean
  /** What a client did failed: the next `settle` rejects. */
  readonly fail: (error: unknown) => void
  /** The process that takes the n-th durable step from now, from 1 on, crashes there; 0 cancels it. */
  readonly crashAt: (step: number) => void
  readonly crashes: () => number
  readonly events: () => Promise<ReadonlyArray<RecordedEvent>>
  readonly documents: () => Pick<Documents, 'all'>
}

export type MonthScene = {
  readonly seed: number
  readonly leads: number
  readonly clock: ManualClock
  readonly process: (parts: LifeParts) => FollowUpProcess
}

/** In milliseconds: from a crash to the next start at most. */
export const longestAway = 2 * 60 * 60_000

/** One process at a time, on stores in memory. */
export const memoryStage = ({ seed, leads, clock, process }: MonthScene): MonthStage => {
  // Twice as many as it takes: where a turn comes in vain again and again there are soon more.
  const mostTimers = 1_000 + leads * 30
  const scene = { seed, slowest: 0, longestAway, mostTimers, note: () => undefined, process }
  const lives = openLives(scene, clock)
  return {
    ...lives,
    running: () => {
      const { life, process: current, isUp } = lives.current()
      return isUp && !life.isOver() ? [{ life, process: current }] : []
    },
    crashes: () => lives.crashes.length,
    events: () => Promise.resolve(eventsIn(lives.log)),
    documents: () => memoryDocuments(lives.state),
  }
}
