import type { AnyBulkWriteOperation, Document } from 'mongodb'
import { duplicatesIn, isDuplicate } from '../failure.js'
import type { DocumentRecord } from '../records/document-record.js'
import { asJson, jsonOf } from '../records/json.js'
import type { Records, Server } from './server.js'

/**
 * Every way around FerretDB 1.24, which keeps MongoDB's protocol on SQLite or PostgreSQL, each for a defect:
 * - It reads the whole collection for every filter but one that is a single key and nothing else.
 * - It holds a connection for each `updateOne` or `replaceOne` until their command is done; with a hundred it hangs for
 *   ever.
 * - It reads a document and writes it back, so that one of two updates at the same time may be lost. Its inserts are
 *   safe.
 * - It holds no list in a list.
 * - Asked for several indexes that exist already it breaks the connection.
 * - It can't rename a collection over another one.
 *
 * So a write matches by the key alone, and its guard is what was read before: by `getToFold`, or once more. It is no
 * guard against a promotion between the two: then a process that goes on with the old generation may overwrite a record
 * of the new one, which shows again once the read model is built anew.
 */
export const ferretDb = (): Server => {
  const seen = new Map<string, DocumentRecord>()
  const nameOf = ({ namespace }: Records, key: string): string => `${namespace}/${key}`

  /** Other reads are no guard: one that comes late gives what was overwritten meanwhile. */
  const getToFold: Server['get'] = async (records, keys) => {
    const found = await get(records, keys)
    if (seen.size > mostSeen) seen.clear()
    for (const record of found) seen.set(nameOf(records, record._id), record)
    return found
  }

  const write: Server['write'] = async (records, changed) => {
    const known = changed.flatMap((record) => {
      const before = seen.get(nameOf(records, record._id))
      return before === undefined ? [] : [{ record, before }]
    })
    for (const { record } of known) seen.delete(nameOf(records, record._id))
    const older = known.filter(({ record, before }) => isOlder(before, record))
    if (older.length > 0) await records.bulkWrite(older.map(update), { ordered: false })
    const updated = new Set(known.map(({ record }) => record))
    const unknown = changed.filter((record) => !updated.has(record))
    const there = unknown.length === 0 ? [] : await insert(records, unknown)
    if (there.length === 0) return
    await getToFold(
      records,
      there.map(({ _id }) => _id),
    )
    await write(records, there)
  }

  return {
    get,
    getToFold,
    write: (records, changed) => write(records, changed.map(withoutListsInLists)),
    createIndexes: async (records, indexes) => {
      for (const index of indexes) await records.createIndexes([index])
    },
    takeOver,
  }
}

const get: Server['get'] = (records, keys) => {
  const [only] = keys
  const filter = only !== undefined && keys.length === 1 ? { _id: only } : { _id: { $in: [...keys] } }
  return records.find(filter, { limit: keys.length, batchSize: keys.length }).toArray()
}

/** Documents whose guards are remembered. */
const mostSeen = 10_000

const isOlder = (before: DocumentRecord, record: DocumentRecord): boolean =>
  before._generation < record._generation ||
  (before._generation === record._generation && before._position < record._position)

/** Gives back those whose keys have a document. */
const insert = async (
  records: Records,
  changed: ReadonlyArray<DocumentRecord>,
): Promise<ReadonlyArray<DocumentRecord>> => {
  try {
    await records.insertMany([...changed], { ordered: false })
    return []
  } catch (error) {
    if (!isDuplicate(error)) throw error
    return duplicatesIn(error).flatMap((index) => changed[index] ?? [])
  }
}

type Update = { readonly record: DocumentRecord; readonly before: DocumentRecord }

/** All fields, one by one: whatever replaces a document at once is written for one document only. */
const update = ({ before, record: { _id, ...fields } }: Update): AnyBulkWriteOperation<DocumentRecord> => {
  const gone = Object.keys(before).filter((name) => name !== '_id' && !(name in fields))
  const unset: Document = gone.length === 0 ? {} : { $unset: Object.fromEntries(gone.map((name) => [name, ''])) }
  return { updateMany: { filter: { _id }, update: { $set: fields, ...unset } } }
}

const withoutListsInLists = (record: DocumentRecord): DocumentRecord => flattened(record) as DocumentRecord

const flattened = (value: unknown): unknown => {
  if (Array.isArray(value))
    return value.map((one: unknown) => (Array.isArray(one) ? asJson(jsonOf(one)) : flattened(one)))
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, flattened(one)]))
}

/** Looks for the end of a takeover that another process began, before that process counts as dead. */
const mostLooks = 100

/**
 * Between drop and rename there is no collection of that name. Who finds none asks the registry, and then waits here
 * for the end.
 */
const takeOver: Server['takeOver'] = async (db, from, name) => {
  const takeovers = db.collection<{ readonly _id: string }>('takeovers')
  const isThere = async (): Promise<boolean> =>
    (await db.listCollections({ name: from }, { nameOnly: true }).toArray()).length > 0
  try {
    await takeovers.insertOne({ _id: from })
  } catch (error) {
    if (!isDuplicate(error)) throw error
    for (let looks = 0; looks < mostLooks; looks += 1) if (!(await isThere())) return
  }
  if (await isThere()) {
    await db.collection(name).drop()
    await db.renameCollection(from, name)
  }
  await takeovers.deleteOne({ _id: from })
}
