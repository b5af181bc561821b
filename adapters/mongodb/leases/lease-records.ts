import type { Db } from 'mongodb'
import { isDuplicate } from '../failure.js'

/** Who holds a name, or held it: a document a term, whose id only one member can insert. */
export type ClaimRecord = {
  /** `name/term` */
  readonly _id: string
  readonly name: string
  readonly term: number
  readonly owner: string
  readonly released: boolean
}

/** The highest term of each name, and what is below it. */
export type Standing = {
  readonly highest: ReadonlyMap<string, ClaimRecord>
  readonly passed: ReadonlyArray<ClaimRecord>
}

/** Its methods throw what the driver throws. */
export type Claims = {
  readonly read: () => Promise<Standing>
  /** Tries to become the next holder of each name; the next `read` tells of which. */
  readonly take: (names: ReadonlyArray<string>, owner: string, standing: Standing) => Promise<void>
  /** By its owner alone. */
  readonly release: (record: ClaimRecord) => Promise<void>
  readonly remove: (records: ReadonlyArray<ClaimRecord>) => Promise<void>
}

/**
 * Claims that races can't break on any server: inserting a document under an id that is taken fails everywhere, where
 * changing one if it is still what it was is not always one step (FerretDB).
 */
export const claimsIn = (db: Db): Claims => {
  const claims = db.collection<ClaimRecord>('claims')
  return {
    read: async () => {
      const all = await claims.find().toArray()
      const highest = new Map<string, ClaimRecord>()
      for (const record of all) {
        if (record.term > (highest.get(record.name)?.term ?? 0)) highest.set(record.name, record)
      }
      return { highest, passed: all.filter((record) => highest.get(record.name) !== record) }
    },
    take: async (names, owner, { highest }) => {
      const records = names.map((name): ClaimRecord => {
        const term = (highest.get(name)?.term ?? 0) + 1
        return { _id: `${name}/${term}`, name, term, owner, released: false }
      })
      try {
        await claims.insertMany(records, { ordered: false })
      } catch (error) {
        if (!isDuplicate(error)) throw error
      }
    },
    release: async ({ _id }) => {
      await claims.updateOne({ _id }, { $set: { released: true } })
    },
    remove: async (records) => {
      if (records.length > 0) await claims.deleteMany({ _id: { $in: records.map(({ _id }) => _id) } })
    },
  }
}
