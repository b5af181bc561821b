import type { ExecutionContext } from 'ava'
import { eventStoreDb, type EventStoreDb, type Patience } from '../../adapters/eventstoredb/event-store.js'
import { connect, type Connection } from '../../adapters/eventstoredb/connection.js'
import { startDouble, type EventStoreDouble } from '../eventstoredb-double/double.js'
import { rightOf } from './right-of.js'

/** Of a test that waits for what does not come. */
export const impatient: Patience = { call: 150, inAll: 400, pause: [5, 40] }

/** Of a test in which nothing is given up, however busy the machine is. */
export const calm: Patience = { call: 20_000, inAll: 30_000, pause: [1, 40] }

export type OpenConnection = { readonly double: EventStoreDouble; readonly connection: Connection }

/**
 * A double of a test's own, and a connection to it. Tests of one process must take turns: the driver keeps the appends of
 * all connections in one table.
 */
export const openConnection = async (t: ExecutionContext): Promise<OpenConnection> => {
  const double = await startDouble()
  t.teardown(double.stop)
  const connection = rightOf(connect(double.url))
  t.teardown(connection.close)
  return { double, connection }
}

export type OpenStore = { readonly double: EventStoreDouble; readonly store: EventStoreDb }

/** A double of a test's own, and a store on it. */
export const openEventStoreDb = async (t: ExecutionContext, patience = calm): Promise<OpenStore> => {
  const double = await startDouble()
  t.teardown(double.stop)
  const store = storeAt(t, double.url, patience)
  return { double, store }
}

export const storeAt = (t: ExecutionContext, url: string, patience = calm): EventStoreDb => {
  const store = eventStoreDb(rightOf(connect(url)), patience)
  t.teardown(store.close)
  return store
}
