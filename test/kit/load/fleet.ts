import test, { type ExecutionContext } from 'ava'
import { randomBytes } from 'node:crypto'
import type { InstanceRecord } from '../../../adapters/mongodb/leases/instances.js'
import type { LeaseRecord } from '../../../adapters/mongodb/leases/lease-records.js'
import type { EventStoreDouble } from '../../eventstoredb-double/double.js'
import type { Environment } from '../parts/program.js'
import { dataDirectory } from '../service/data-directory.js'
import { startService, type ServiceProcess } from '../service/service-process.js'
import { mongoUrl } from '../stores/mongo-url.js'
import type { TestDatabase } from '../stores/mongodb.js'
import { openServersOf } from '../stores/servers.js'
import type { Ledger } from './ledger.js'
import type { LoadReceiver } from './load-receiver.js'
import { isWhole, stillOwed, streams, type Streams } from './streams.js'

/** Any number of processes of the service on one double of EventStoreDB and one database. */
export type Fleet = {
  /** What all of them share besides; the stores of it are found by it. */
  readonly directory: string
  readonly double: EventStoreDouble
  readonly database: TestDatabase
  /** Starts one more process. */
  readonly start: (environment?: Environment) => ServiceProcess
}

export const openFleet = async (t: ExecutionContext): Promise<Fleet> => {
  const directory = dataDirectory(t)
  const { double, database } = await openServersOf(directory)
  const secretKey = randomBytes(32).toString('base64')
  const start: Fleet['start'] = (environment) =>
    startService(t, directory, { SECRET_KEY: secretKey, LOG_LEVEL: 'fatal', ...environment })
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
  readonly instances: () => Promise<ReadonlyArray<string>>
  /** The holder of each lease that was not released. */
  readonly holders: () => Promise<ReadonlyMap<string, string>>
  /** The highest lease token of each name. */
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
    instances: async () => (await db.collection<InstanceRecord>('members').find().toArray()).map(({ _id }) => _id),
    holders: async () =>
      new Map((await highest()).filter(({ released }) => !released).map(({ name, holder }) => [name, holder])),
    tokens: async () => new Map((await highest()).map(({ name, token }) => [name, token])),
  }
}

/**
 * Waits until nothing is owed any more; then the directory is whole, and clients got no answer that they should not
 * get.
 */
export const isWholeInTheEnd = async (
  t: ExecutionContext,
  { directory }: Fleet,
  address: string,
  receiver: LoadReceiver,
  ledger: Ledger,
): Promise<Streams> => {
  t.deepEqual(await stillOwed(streams(), directory, address), [])
  t.deepEqual(ledger.surprises, [])
  return isWhole(t, directory, receiver, ledger)
}
