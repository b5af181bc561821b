import { monotonicFactory } from 'ulid'
import { idBody } from '../../../domain/ids.js'
import { millisecondsOf } from '../../../domain/instant.js'
import type { Clock, Ids } from '../../../domain/ports.js'
import type { Random } from '../load/random.js'

/** Ids that are the same for the same seed. */
export const seededIds = (clock: Pick<Clock, 'now'>, random: Random): Ids => {
  const next = monotonicFactory(random)
  /** 32 bits. */
  const word = (): string =>
    Math.floor(random() * 2 ** 32)
      .toString(16)
      .padStart(8, '0')
  const words = (count: number): string => Array.from({ length: count }, word).join('')
  return {
    ulid: () => next(millisecondsOf(clock.now())),
    unguessable: () => idBody(Buffer.from(words(4), 'hex')),
    uuid: () => {
      const hex = words(4)
      return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20)}`
    },
    secret: () => words(8),
  }
}
