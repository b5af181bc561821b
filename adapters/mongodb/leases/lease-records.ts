import type { Db, Filter } from 'mongodb'
import { isDuplicate } from '../failure.js'

/**
 * The holder of a lease, or a former one: a document for each holder in turn, under an id that only one instance can
 * insert.
 */
export type LeaseRecord = {
  /** `name/token` */
  readonly _id: string
  readonly name: string
  /** The lease token: one more than that of the holder before. */
  readonly token: number
  /** An instance's id. */
  readonly holder: string
  readonly released: boolean
}

/** The record with the highest token of each name, and the records below those. */
export type LeaseTable = {
  readonly current: ReadonlyMap<string, LeaseRecord>
  readonly superseded: ReadonlyArray<LeaseRecord>
}

/** Its methods throw what the driver throws. */
export type LeaseRecords = {
  readonly read: () => Promise<LeaseTable>
  /** Tries to become the next holder of each name; the next `read` tells of which. */
  readonly acquire: (names: ReadonlyArray<string>, holder: string, table: LeaseTable) => Promise<void>
  /** Only its holder releases a lease. */
  readonly release: (records: ReadonlyArray<LeaseRecord>) => Promise<void>
  readonly remove: (records: ReadonlyArray<LeaseRecord>) => Promise<void>
}

const anyOf = (records: ReadonlyArray<LeaseRecord>): Filter<LeaseRecord> => ({
  _id: { $in: records.map(({ _id }) => _id) },
})

/**
 * Leases are inserted, never changed from holder to holder: on every server the insertion of an id that exists fails,
 * while an update on a condition is not atomic on all of them (FerretDB).
 */
export const leaseRecordsIn = (db: Db): LeaseRecords => {
  const leases = db.collection<LeaseRecord>('leases')
  return {
    read: async () => {
      const all = await leases.find().toArray()
      const current = new Map<string, LeaseRecord>()
      for (const record of all) {
        if (record.token > (current.get(record.name)?.token ?? 0)) current.set(record.name, record)
      }
      return { current, superseded: all.filter((record) => current.get(record.name) !== record) }
    },
    acquire: async (names, holder, { current }) => {
      const records = names.map((name): LeaseRecord => {
        const token = (current.get(name)?.token ?? 0) + 1
        return { _id: `${name}/${token}`, name, token, holder, released: false }
      })
      try {
        await leases.insertMany(records, { ordered: false })
      } catch (error) {
        if (!isDuplicate(error)) throw error
      }
    },
    release: async (records) => {
      if (records.length > 0) await leases.updateMany(anyOf(records), { $set: { released: true } })
    },
    remove: async (records) => {
      if (records.length > 0) await leases.deleteMany(anyOf(records))
    },
  }
}
