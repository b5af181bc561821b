import type { Db } from 'mongodb'
import { isDuplicate } from '../failure.js'

/**
 * The generations, by their checkpoints, whose last write may not have reached a majority of the servers. Such a write
 * can be read, and still be lost with the primary. A later write that a majority acknowledges confirms all before it.
 * The methods throw what the driver throws.
 */
type Confirmation = {
  readonly isMissing: (checkpoint: string) => boolean
  readonly miss: (checkpoint: string) => void
  /** What is read of a generation from now on stays. */
  readonly obtain: (checkpoint: string) => Promise<void>
}

type ConfirmationRecord = { readonly _id: string; readonly count: number }

export const confirmationOn = (db: Db): Confirmation => {
  const confirmations = db.collection<ConfirmationRecord>('confirmations')
  const missing = new Set<string>()

  /** It must change something: what changes nothing is acknowledged without a majority by some servers. */
  const write = async (): Promise<void> => {
    const add = () => confirmations.updateOne({ _id: 'last' }, { $inc: { count: 1 } }, { upsert: true })
    try {
      await add()
    } catch (error) {
      // Another process inserted it at the same time.
      if (!isDuplicate(error)) throw error
      await add()
    }
  }
  return {
    isMissing: (checkpoint) => missing.has(checkpoint),
    miss: (checkpoint) => void missing.add(checkpoint),
    obtain: async (checkpoint) => {
      await write()
      missing.delete(checkpoint)
    },
  }
}
