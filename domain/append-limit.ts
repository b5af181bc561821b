import { approximateBytes } from './approximate-size.js'
import type { NewEvent } from './ports.js'

/**
 * What one append may take in bytes, as JSON with everything around it. EventStoreDB refuses 1,048,576: of the data
 * alone up to 23.10, since 24.10 of data, metadata and twice the type, which is less than the whole event as JSON.
 */
export const largestAppend = 800_000

/**
 * In JSON a character takes six bytes at most, and a name eight more: this times the quick estimate is never too
 * little.
 */
const worst = 6

export const exceedsLargestAppend = (events: ReadonlyArray<NewEvent>): boolean =>
  approximateBytes(events) * worst > largestAppend && Buffer.byteLength(JSON.stringify(events)) > largestAppend

/** Trying again gives the same. */
export const tooLargeAppend = { kind: 'corrupt', reason: `an append is larger than ${largestAppend} bytes` } as const
