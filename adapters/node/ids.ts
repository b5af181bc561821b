import { randomBytes, randomUUID } from 'node:crypto'
import { monotonicFactory } from 'ulid'
import { millisecondsOf } from '../../domain/instant.js'
import type { Clock, Ids } from '../../domain/ports.js'

/** Ids from the platform's source of randomness, the letters of a ULID ordered by `clock`. */
export const randomIds = (clock: Pick<Clock, 'now'>): Ids => {
  const next = monotonicFactory(pooledRandom())
  return {
    ulid: () => next(millisecondsOf(clock.now())),
    uuid: () => randomUUID(),
    secret: () => randomBytes(32).toString('base64url'),
  }
}

/** In [0, 1), a byte at a time: asking the platform for each one is what costs. */
const pooledRandom = (): (() => number) => {
  let pool = randomBytes(0)
  let used = 0
  return () => {
    if (used === pool.length) {
      pool = randomBytes(4096)
      used = 0
    }
    const byte = pool[used] ?? 0
    used += 1
    return byte / 256
  }
}
