import type { ExecutionContext } from 'ava'
import { randomInt } from 'node:crypto'

/** In [0, 1), and the same again for the same seed (mulberry32). */
export type Random = () => number

export const randomFrom = (seed: number): Random => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The seed of this run, which the log shows so that a failure can be run again with it in FAULT_SEED. */
export const seedOf = (t: ExecutionContext): number => {
  const given = process.env['FAULT_SEED']
  const seed = given === undefined ? randomInt(2 ** 31) : Number(given)
  t.log(`FAULT_SEED=${seed}`)
  return seed
}

/** A whole number in [0, limit). */
export const below = (random: Random, limit: number): number => Math.floor(random() * limit)

export const oneOf = <A>(random: Random, all: ReadonlyArray<A>): A | undefined => all[below(random, all.length)]
