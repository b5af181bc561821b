import { monotonicFactory } from 'ulid'
import { idBody } from '../../../domain/ids.js'
import { millisecondsOf } from '../../../domain/instant.js'
import type { Clock, Ids } from '../../../domain/ports.js'
import type { Random } from '../load/random.js'

/** Ids that are the same for the same seed. */
export const seededIds = (clock: Pick<Clock, 'now'>, random: Random): Ids => {
  const next = monotonicFactory(random)
  const hex = (digits: number): string =>
    Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('')
  return {
    ulid: () => next(millisecondsOf(clock.now())),
    unguessable: () => idBody(Buffer.from(hex(32), 'hex')),
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`,
    secret: () => hex(64),
  }
}
