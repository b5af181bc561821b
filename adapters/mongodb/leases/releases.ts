import type { Attempt } from '../client/attempt.js'
import type { LeaseRecord, LeaseRecords } from './lease-records.js'

/** Resolves once the lease was released, or could not be; never rejects. */
export type Release = (record: LeaseRecord) => Promise<unknown>

/** Those that end while others are being released are released by the next command together. */
export const releasesBy = (attempt: Attempt, leases: Pick<LeaseRecords, 'release'>): Release => {
  let underWay: Promise<unknown> = Promise.resolve()
  let next: { readonly records: Array<LeaseRecord>; readonly done: Promise<unknown> } | undefined

  const begin = (): NonNullable<typeof next> => {
    const records: Array<LeaseRecord> = []
    const done = underWay.then(() => {
      next = undefined
      return attempt(() => leases.release(records))
    })
    underWay = done
    return { records, done }
  }
  return (record) => {
    next ??= begin()
    next.records.push(record)
    return next.done
  }
}
