import test, { type ExecutionContext } from 'ava'
import { randomBytes } from 'node:crypto'
import type { MemberRecord } from '../../../adapters/mongodb/leases/members.js'
import type { LeaseRecord } from '../../../adapters/mongodb/leases/lease-records.js'
import type { WebhookId } from '../../../domain/ids.js'
import type { EventStoreDouble } from '../../eventstoredb-double/double.js'
import { operatorKey, startService, temporaryDirectory, type ChildService, type StartOptions } from '../service/service-process.js'
import { clientOf, type Account, type Ledger, type Receiver } from './load.js'
import { mongoUrl, type TestDatabase } from '../stores/mongodb.js'
import { openServersOf, removeStoresOf } from '../stores/servers.js'
import { differingReadModels, eventsAfter, settled, streams, type Streams } from './streams.js'

/** Any number of processes of the service on one double of EventStoreDB and one database. */
export type Fleet = {
  /** What all of them share besides; the stores of it are found by it. */
  readonly directory: string
  readonly double: EventStoreDouble
  readonly database: TestDatabase
  /** Starts one more process. */
  readonly start: (options?: StartOptions) => ChildService
}

export const openFleet = async (t: ExecutionContext): Promise<Fleet> => {
  const directory = temporaryDirectory(t)
  t.teardown(() => removeStoresOf(directory))
  const { double, database } = await openServersOf(directory)
  const secretKey = randomBytes(32).toString('base64')
  const start: Fleet['start'] = ({ environment = {}, ...options } = {}) =>
    startService(t, directory, { ...options, environment: { SECRET_KEY: secretKey, ...environment } })
  return { directory, double, database, start }
}

/** Defines the tests of a file that need a MongoDB; where there is none it is told once. */
export const onServers = (what: string, define: (mongoUrl: string) => void): void => {
  if (mongoUrl === undefined) test.skip(`${what} needs a server: set MONGODB_URL`, (t) => t.fail())
  else define(mongoUrl)
}

// What is on record about who does what.

export type Leases = {
  /** Ids of all who joined and were not removed since. */
  readonly members: () => Promise<ReadonlyArray<string>>
  /** The holder of each lease that was not released. */
  readonly holders: () => Promise<ReadonlyMap<string, string>>
  /** The highest fencing token of each name. */
  readonly tokens: () => Promise<ReadonlyMap<string, number>>
}

export const leasesOf = (t: ExecutionContext, { database }: Pick<Fleet, 'database'>): Leases => {
  const { db, close } = database.open()
  t.teardown(close)
  const highest = async (): Promise<ReadonlyArray<LeaseRecord>> => {
    const all = await db.collection<LeaseRecord>('leases').find().toArray()
    const byToken = all.toSorted((one, other) => one.token - other.token)
    return [...new Map(byToken.map((record) => [record.name, record])).values()]
  }
  return {
    members: async () => (await db.collection<MemberRecord>('members').find().toArray()).map(({ _id }) => _id),
    holders: async () =>
      new Map((await highest()).filter(({ released }) => !released).map(({ name, holder }) => [name, holder])),
    tokens: async () => new Map((await highest()).map(({ name, token }) => [name, token])),
  }
}

/** By the URL that it posts to, the webhook that was added. */
export const webhooksIn = ({ double }: Fleet): ReadonlyMap<string, WebhookId> =>
  new Map(
    double
      .log()
      .filter(({ type }) => type === 'WebhookAdded')
      .map(({ data }) => JSON.parse(data.toString()) as { webhook_id: WebhookId; settings: { url: string } })
      .map(({ webhook_id, settings }) => [settings.url, webhook_id]),
  )

/** Adds something to an account through the management API. */
export const added = async (address: string, { id }: Account, what: string, body: unknown): Promise<void> => {
  const client = clientOf(address)
  const headers = { authorization: `Bearer ${operatorKey}`, 'content-type': 'application/json' }
  const { status } = await client.send('POST', `/manage/v1/accounts/${id}/${what}`, {
    headers,
    body: JSON.stringify(body),
  })
  client.close()
  if (status !== 201) throw new Error(`adding to ${what} gave ${status}`)
}

/**
 * Waits until nothing is owed any more, and reads everything once more from the first event on: nothing is lost, nothing
 * stands there twice, every delivery was received, and the read models are what a rebuild makes of the log.
 */
export const isWhole = async (
  t: ExecutionContext,
  { directory }: Fleet,
  address: string,
  receiver: Receiver,
  ledger: Ledger,
): Promise<Streams> => {
  t.deepEqual(await settled(streams(), directory, address), [])
  const log = streams()
  log.take(eventsAfter(directory, 0))
  t.deepEqual(log.problems, [])
  t.deepEqual(log.owed(), [])
  t.deepEqual(log.unknown(ledger), [])
  t.deepEqual(log.undelivered(receiver), [])
  t.deepEqual(log.altered(receiver), [])
  t.deepEqual(receiver.unauthorized, [])
  t.deepEqual(ledger.surprises, [])
  t.deepEqual(await differingReadModels(directory), [])
  return log
}
