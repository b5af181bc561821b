import { randomUUID } from 'node:crypto'
import { openStores, type Stores } from '../../../app/composition/stores.js'
import { E } from '../../../domain/prelude.js'
import { recordingLogger } from '../parts/recording-logger.js'
import { storesOf } from './servers.js'

/** The stores of a service that does not run, for what no client could write. */
export const storesAtRest = async (dataDir: string): Promise<Stores> => {
  const { EVENTSTORE_URL: eventStoreUrl, MONGODB_URL: mongoUrl } = await storesOf(dataDir)
  const means = { newId: randomUUID, logger: recordingLogger() }
  const stores = await openStores({ dataDir, eventStoreUrl, mongoUrl }, means)
  if (E.isLeft(stores)) throw new Error(stores.left)
  return stores.right
}
