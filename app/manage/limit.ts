import { refined, t } from '../../domain/codec.js'

/** Requests per minute (design, section 7). */
export const LimitPerMinute = refined(
  'a whole number from 1 on',
  (value): value is number => Number.isSafeInteger(value) && (value as number) >= 1,
)

/** In a PATCH null is a value of its own: it lifts the limit. */
export const PatchedLimit = t.union([t.null, LimitPerMinute], 'a whole number from 1 on, or null')
