import type { ActiveFaults } from './faults.js'
import type { Log } from './log.js'
import type { Answers } from './version.js'

/** How many calls of a kind were made so far, whatever became of them; cuts are subscriptions that a fault ended. */
export type Calls = {
  readonly appends: number
  readonly reads: number
  readonly subscriptions: number
  readonly cuts: number
}

/** What the calls of one double share. */
export type Served = {
  readonly log: Log
  readonly answers: Answers
  readonly faults: ActiveFaults
  readonly count: (call: keyof Calls) => void
  /** A stream was read, once or by pages. */
  readonly countRead: (stream: string) => void
}
