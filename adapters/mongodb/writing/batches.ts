import type { AnyBulkWriteOperation, Collection as MongoCollection } from 'mongodb'
import type { Time } from '../../../domain/ports.js'
import type { DocumentRecord } from '../document-record.js'
import { isDuplicate, isTimeout } from '../failure.js'
import { adaptiveBatchSize } from './batch-size.js'

type Records = MongoCollection<DocumentRecord>
type Write = AnyBulkWriteOperation<DocumentRecord>

/** Writes any number of documents, batch by batch, each one command. Throws what the driver throws. */
export const batchesAt = ({ now }: Pick<Time, 'now'>) => {
  const size = adaptiveBatchSize()
  return async (records: Records, writes: ReadonlyArray<Write>): Promise<void> => {
    for (let done = 0; done < writes.length;) {
      const batch = writes.slice(done, done + size.current())
      const start = now()
      try {
        await writeBatch(records, batch)
      } catch (error) {
        if (isTimeout(error)) size.timedOut(batch.length)
        throw error
      }
      size.adapt(batch.length, now() - start)
      done += batch.length
    }
  }
}

/** What another process inserted meanwhile is there when the batch is written again, which writes the rest of it forward. */
const writeBatch = async (records: Records, batch: ReadonlyArray<Write>, retries = batch.length): Promise<void> => {
  try {
    await records.bulkWrite(batch, { ordered: false })
  } catch (error) {
    if (retries === 0 || !isDuplicate(error)) throw error
    await writeBatch(records, batch, retries - 1)
  }
}
