import type { AnyBulkWriteOperation, Filter } from 'mongodb'
import type { DocumentRecord } from '../records/document-record.js'
import { duplicatesIn, isDuplicate, isNotThere } from '../failure.js'
import type { Server } from './server.js'

const get: Server['get'] = (records, keys) =>
  records.find({ _id: { $in: [...keys] } }, { limit: keys.length, batchSize: keys.length }).toArray()

export const mongoDb: Server = {
  get,
  getToFold: get,

  write: async (records, changed) => {
    try {
      await records.bulkWrite(changed.map(replacement(true)), { ordered: false })
    } catch (error) {
      if (!isDuplicate(error)) throw error
      // Each of these keys has a document: one that is as new, or one that another process inserted at the same time.
      const there = duplicatesIn(error).flatMap((index) => changed[index] ?? [])
      await records.bulkWrite(there.map(replacement(false)), { ordered: false })
    }
  },

  createIndexes: async (records, indexes) => {
    if (indexes.length > 0) await records.createIndexes([...indexes])
  },

  takeOver: async (db, from, name) => {
    try {
      // The driver gives this command no write concern by itself.
      const { writeConcern } = db
      await db.renameCollection(from, name, { dropTarget: true, ...(writeConcern && { writeConcern }) })
    } catch (error) {
      if (!isNotThere(error)) throw error
    }
  },
}

/** Whoever is not older matches nothing, and with `upsert` fails because its key exists. */
const replacement =
  (upsert: boolean) =>
  (record: DocumentRecord): AnyBulkWriteOperation<DocumentRecord> => ({
    replaceOne: { filter: olderThan(record), replacement: record, upsert },
  })

const olderThan = ({ _id, _generation, _position }: DocumentRecord): Filter<DocumentRecord> => ({
  _id,
  $or: [{ _generation: { $lt: _generation } }, { _generation, _position: { $lt: _position } }],
})
