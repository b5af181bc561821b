import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { appendAllContract } from '../../contracts/append-all.js'
import { eventStoreContract } from '../../contracts/event-store.js'
import { openSqlite } from '../../kit/stores/sqlite.js'

eventStoreContract('sqlite', async () => {
  const { port: store, ...opened } = await openSqlite(sqliteEventStore)
  return { store, ...opened }
})

appendAllContract('sqlite', async () => {
  const { port: store, ...opened } = await openSqlite(sqliteEventStore)
  return { store, appendAll: store.appendAll, ...opened }
})
