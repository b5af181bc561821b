import { sqliteEventStore } from '../../adapters/event-store/sqlite.js'
import { eventStoreContract } from '../contracts/event-store.js'
import { openSqlite } from '../support/open-sqlite.js'

eventStoreContract('sqlite', async () => {
  const { port: store, ...opened } = await openSqlite(sqliteEventStore)
  return { store, ...opened }
})
