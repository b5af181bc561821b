import type { ExecutionContext } from 'ava'
import { connect, type Connection } from '../../../adapters/eventstoredb/client/connection.js'
import { eventStoreDb, type EventStoreDb } from '../../../adapters/eventstoredb/event-store.js'
import type { RetryPolicy } from '../../../adapters/eventstoredb/retry.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { startDouble, type EventStoreDouble } from '../../eventstoredb-double/double.js'
import type { Version } from '../../eventstoredb-double/version.js'
import { rightOf } from '../right-of.js'

/** For a test that waits until a call fails. */
export const shortRetries: RetryPolicy = { callTimeout: 150, retryFor: 400, backoff: { first: 5, longest: 40 } }

/** For a test in which no call may fail, however busy the machine is. */
export const longRetries: RetryPolicy = { callTimeout: 20_000, retryFor: 30_000, backoff: { first: 1, longest: 40 } }

type OpenConnection = { readonly double: EventStoreDouble; readonly connection: Connection }

/**
 * A double of a test's own, and a connection to it. Tests of one process must take turns: the driver holds the appends
 * of all connections in one table.
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
export const openEventStoreDb = async (
  t: ExecutionContext,
  policy = longRetries,
  version: Version = '24.10',
): Promise<OpenStore> => {
  const double = await startDouble({ version })
  t.teardown(double.stop)
  const store = storeAt(t, double.url, policy)
  return { double, store }
}

export const storeAt = (
  t: ExecutionContext,
  url: string,
  policy = longRetries,
  monotonic?: MonotonicClock,
): EventStoreDb => {
  const store = eventStoreDb(rightOf(connect(url)), policy, monotonic)
  t.teardown(store.close)
  return store
}
