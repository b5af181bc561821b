import type { Db } from 'mongodb'
import { isDuplicate } from '../failure.js'

/** Who holds a name, or held it: a document a term, whose id only one member can insert. */
export type LeaseRecord = {
  /** `name/term` */
  readonly _id: string
  readonly name: string
  readonly term: number
  readonly owner: string
  readonly released: boolean
}

/** The highest term of each name, and what is below it. */
export type Standing = {
  readonly highest: ReadonlyMap<string, LeaseRecord>
  readonly passed: ReadonlyArray<LeaseRecord>
}

/** Its methods throw what the driver throws. */
export type LeaseRecords = {
  readonly read: () => Promise<Standing>
  /** Tries to become the next holder of each name; the next `read` tells of which. */
  readonly take: (names: ReadonlyArray<string>, owner: string, standing: Standing) => Promise<void>
  /** By its owner alone. */
  readonly release: (record: LeaseRecord) => Promise<void>
  readonly remove: (records: ReadonlyArray<LeaseRecord>) => Promise<void>
}

/**
 * LeaseRecords that races can't break on any server: inserting a document under an id that is taken fails everywhere, where
 * changing one if it is still what it was is not always one step (FerretDB).
 */
export const leaseRecordsIn = (db: Db): LeaseRecords => {
  const leases = db.collection<LeaseRecord>('leases')
  return {
    read: async () => {
      const all = await leases.find().toArray()
      const highest = new Map<string, LeaseRecord>()
      for (const record of all) {
        if (record.term > (highest.get(record.name)?.term ?? 0)) highest.set(record.name, record)
      }
      return { highest, passed: all.filter((record) => highest.get(record.name) !== record) }
    },
    take: async (names, owner, { highest }) => {
      const records = names.map((name): LeaseRecord => {
        const term = (highest.get(name)?.term ?? 0) + 1
        return { _id: `${name}/${term}`, name, term, owner, released: false }
      })
      try {
        await leases.insertMany(records, { ordered: false })
      } catch (error) {
        if (!isDuplicate(error)) throw error
      }
    },
    release: async ({ _id }) => {
      await leases.updateOne({ _id }, { $set: { released: true } })
    },
    remove: async (records) => {
      if (records.length > 0) await leases.deleteMany({ _id: { $in: records.map(({ _id }) => _id) } })
    },
  }
}
