import type { Time } from '../../domain/ports.js'

/** Resolves on the next turn of the event loop: what a test puts in the place of a wait. */
export const nextTurn = (): Promise<void> => new Promise(setImmediate)

/** A time that stands still, and in which every wait lasts a turn. */
export const turnTime: Time = { now: () => 0, sleep: nextTurn }
