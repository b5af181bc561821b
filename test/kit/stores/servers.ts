import type { EventStoreDouble } from '../../eventstoredb-double/double.js'
import { mongoUrl } from './mongo-url.js'
import type { TestDatabase } from './mongodb.js'

/** The settings that put a service on servers; none where it keeps everything in its data directory. */
type StoreSettings = { readonly EVENTSTORE_URL?: string; readonly MONGODB_URL?: string }

type Servers = { readonly double: EventStoreDouble; readonly database: TestDatabase }

/** `TEST_STORES=servers` runs the end-to-end tests on the double of EventStoreDB and a database on MONGODB_URL. */
export const isOnServers = process.env['TEST_STORES'] === 'servers'

const opening = new Map<string, Promise<Servers>>()
const opened = new Map<string, Servers>()

/** The stores that belong to a data directory: whoever starts on it again finds them again. */
export const storesOf = async (dataDir: string): Promise<StoreSettings> => {
  if (isOnServers) await openServersOf(dataDir)
  return settingsOf(dataDir)
}

/** Servers for a data directory, whatever `TEST_STORES` says. */
export const openServersOf = async (dataDir: string): Promise<Servers> => {
  const servers = opening.get(dataDir) ?? openServers()
  opening.set(dataDir, servers)
  opened.set(dataDir, await servers)
  return servers
}

/** The servers that were opened for a data directory; undefined where it keeps everything itself. */
export const serversOf = (dataDir: string): Servers | undefined => opened.get(dataDir)

/** The settings that lead to the servers of a data directory. */
export const settingsOf = (dataDir: string): StoreSettings => {
  const servers = serversOf(dataDir)
  return servers === undefined ? {} : { EVENTSTORE_URL: servers.double.url, MONGODB_URL: servers.database.url }
}

const openServers = async (): Promise<Servers> => {
  if (mongoUrl === undefined) throw new Error('servers for a test need MONGODB_URL')
  // Loaded here, since both drivers take longer to load than most tests take.
  const { startDouble } = await import('../../eventstoredb-double/double.js')
  const { testDatabase } = await import('./mongodb.js')
  return { double: await startDouble(), database: testDatabase(mongoUrl) }
}

export const removeStoresOf = async (dataDir: string): Promise<void> => {
  const servers = await opening.get(dataDir)
  opening.delete(dataDir)
  opened.delete(dataDir)
  if (servers === undefined) return
  await servers.database.drop()
  await servers.double.stop()
}
