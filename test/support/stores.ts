import { startDouble, type EventStoreDouble } from '../eventstore-double/double.js'
import { mongoUrl, testDatabase, type TestDatabase } from './mongodb.js'

/** The settings that put a service on servers; none where it keeps everything in its data directory. */
export type StoreSettings = { readonly EVENTSTORE_URL?: string; readonly MONGODB_URL?: string }

type Servers = { readonly double: EventStoreDouble; readonly database: TestDatabase }

/** `TEST_STORES=servers` runs the end-to-end tests on the double of EventStoreDB and a database on MONGODB_URL. */
export const isOnServers = process.env['TEST_STORES'] === 'servers'

const servers = new Map<string, Promise<Servers>>()

/** The stores that belong to a data directory: whoever starts on it again finds them again. */
export const storesOf = async (dataDir: string): Promise<StoreSettings> => {
  if (!isOnServers) return {}
  const opened = servers.get(dataDir) ?? openServers()
  servers.set(dataDir, opened)
  const { double, database } = await opened
  return { EVENTSTORE_URL: double.url, MONGODB_URL: database.url }
}

const openServers = async (): Promise<Servers> => {
  if (mongoUrl === undefined) throw new Error('TEST_STORES=servers needs MONGODB_URL')
  return { double: await startDouble(), database: testDatabase(mongoUrl) }
}

export const removeStoresOf = async (dataDir: string): Promise<void> => {
  const opened = servers.get(dataDir)
  servers.delete(dataDir)
  if (opened === undefined) return
  const { double, database } = await opened
  await database.drop()
  await double.stop()
}
