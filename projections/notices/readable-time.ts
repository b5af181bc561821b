import type { Instant } from '../../domain/instant.js'

/** As people read it in an e-mail: to the second. */
export const readableTime = (instant: Instant): string => `${instant.slice(0, 10)} ${instant.slice(11, 19)} UTC`
