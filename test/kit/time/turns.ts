import type { MonotonicClock } from '../../../domain/ports.js'

/** Resolves on the next turn of the event loop: what a test puts in the place of a wait. */
export const nextTurn = (): Promise<void> => new Promise(setImmediate)

/** A monotonic clock that stands still, and in which every wait lasts a turn. */
export const turnTime: MonotonicClock = { now: () => 0, sleep: nextTurn }

/** A monotonic clock that only waits move, and in which every wait lasts a turn. */
export const waitedTime = (): MonotonicClock => {
  let now = 0
  return {
    now: () => now,
    sleep: (milliseconds) => {
      now += milliseconds
      return nextTurn()
    },
  }
}

/** Resolves when whatever is in flight has done all that it can do without a timer or an answer from outside. */
export const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 50; turn += 1) await nextTurn()
}

/** Whether `running` is over once whatever is in flight has settled. */
export const isOver = async (running: Promise<unknown>): Promise<boolean> => {
  let over = false
  void running.then(() => (over = true))
  await settled()
  return over
}
