import type { Db, IndexDescription, Collection as MongoCollection } from 'mongodb'
import type { DocumentRecord } from '../records/document-record.js'

export type Records = MongoCollection<DocumentRecord>

/** What is asked in another way where a server has defects. The methods throw what the driver throws. */
export type Server = {
  /** In no particular order, with one command however many there are. */
  readonly get: (records: Records, keys: ReadonlyArray<string>) => Promise<ReadonlyArray<DocumentRecord>>
  /** The same for who folds into these records and calls `write` then. */
  readonly getToFold: Server['get']
  /**
   * Writes each record, all of different keys, unless what stands there is of a later generation, or of this one and
   * not older.
   */
  readonly write: (records: Records, changed: ReadonlyArray<DocumentRecord>) => Promise<void>
  /** Those that are there already stay. */
  readonly createIndexes: (records: Records, indexes: ReadonlyArray<IndexDescription>) => Promise<void>
  /**
   * Gives a collection another name, in the place of the one that has it. Where there is none, that was done already.
   */
  readonly takeOver: (db: Db, from: string, name: string) => Promise<void>
}
