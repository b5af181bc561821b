import { eventStoreDb } from '../../../adapters/eventstoredb/event-store.js'
import { connect } from '../../../adapters/eventstoredb/client/connection.js'
import { eventStoreContract } from '../../contracts/event-store.js'
import type { OpenStore } from '../../contracts/event-store-fixtures.js'
import { startDouble } from '../../eventstoredb-double/double.js'
import { longRetries } from '../../kit/stores/eventstoredb.js'
import { rightOf } from '../../kit/right-of.js'

/** A real server, where one is given, instead of the double. */
const server = process.env['EVENTSTORE_URL']

const openAt = (url: string, restart: () => Promise<void>, stop: () => Promise<void>): OpenStore => {
  const open = () => eventStoreDb(rightOf(connect(url)), longRetries)
  let store = open()
  return {
    store,
    reopen: async () => {
      await store.close()
      await restart()
      store = open()
      return store
    },
    close: async () => {
      await store.close()
      await stop()
    },
  }
}

const nothing = (): Promise<void> => Promise.resolve()

if (server === undefined) {
  eventStoreContract('eventstoredb, on its double', async () => {
    const { url, stop, start } = await startDouble()
    const restart = async (): Promise<void> => {
      await stop()
      await start()
    }
    return openAt(url, restart, stop)
  })
} else eventStoreContract('eventstoredb, on a server', () => Promise.resolve(openAt(server, nothing, nothing)))
