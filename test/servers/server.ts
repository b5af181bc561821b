import { EventStoreDBClient, excludeSystemEvents, START } from '@eventstore/db-client'
import type { ExecutionContext } from 'ava'
import { startDouble } from '../eventstoredb-double/double.js'
import { secretKey } from '../kit/service/settings.js'

/** The EventStoreDB that these tests are put to; the double where none is named. */
export const namedServer = process.env['EVENTSTORE_URL']

export const eventStoreFor = async (t: ExecutionContext): Promise<string> => {
  if (namedServer !== undefined) return namedServer
  const double = await startDouble()
  t.teardown(double.stop)
  return double.url
}

/** The settings of a service on that log. All have one key: services of several tests find the log of each other. */
export const settingsOn = (url: string) => ({ EVENTSTORE_URL: url, SECRET_KEY: secretKey.toString('base64url') })

/** Whether nobody but the server itself has written to its log. */
export const isEmpty = async (url: string): Promise<boolean> => {
  const client = EventStoreDBClient.connectionString(url)
  const following = client.subscribeToAll({ fromPosition: START, filter: excludeSystemEvents() })
  const first = await new Promise<'event' | 'caughtUp'>((resolve, reject) => {
    following.once('data', () => resolve('event'))
    following.once('caughtUp', () => resolve('caughtUp'))
    following.once('error', reject)
  })
  await following.unsubscribe()
  await client.dispose()
  return first === 'caughtUp'
}
