import { refined, t } from '../../domain/codec.js'

/** How many requests of a key or a source are taken in a minute. */
export const LimitPerMinute = refined(
  'a whole number from 1 on',
  (value): value is number => Number.isSafeInteger(value) && (value as number) >= 1,
)

/** In a PATCH null is a value of its own: it lifts the limit. */
export const ChangedLimit = t.union([t.null, LimitPerMinute], 'a whole number from 1 on, or null')
