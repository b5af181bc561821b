import { randomBytes, randomUUID } from 'node:crypto'
import { monotonicFactory } from 'ulid'
import { idBody } from '../../domain/ids.js'
import { millisecondsOf } from '../../domain/instant.js'
import type { Clock, Ids } from '../../domain/ports.js'

/** Ids from the platform's source of randomness; the ULIDs of one process are ordered by `clock`. */
export const randomIds = (clock: Pick<Clock, 'now'>): Ids => {
  const next = monotonicFactory(pooledRandom())
  return {
    ulid: () => next(millisecondsOf(clock.now())),
    unguessable: () => idBody(randomBytes(16)),
    uuid: () => randomUUID(),
    secret: () => randomBytes(32).toString('base64url'),
  }
}

/** Numbers in [0, 1) of a byte each, from a pool: to ask the platform for every byte would cost too much. */
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
