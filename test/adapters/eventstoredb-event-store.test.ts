import { eventStoreDb } from '../../adapters/event-store/eventstoredb.js'
import { connect } from '../../adapters/eventstoredb/connection.js'
import { eventStoreContract } from '../contracts/event-store.js'
import { startDouble } from '../eventstore-double/double.js'
import { rightOf } from '../support/right-of.js'

/** On the protocol double, or on the server that EVENTSTORE_URL names. */
const server = process.env['EVENTSTORE_URL']

eventStoreContract(server === undefined ? 'double of eventstoredb' : 'eventstoredb', async () => {
  const double = server === undefined ? await startDouble() : undefined
  const open = () => eventStoreDb(rightOf(connect(server ?? double?.url ?? '')))
  let store = open()
  return {
    store,
    reopen: async () => {
      await store.close()
      await double?.stop()
      await double?.start()
      store = open()
      return store
    },
    close: async () => {
      await store.close()
      await double?.stop()
    },
  }
})
