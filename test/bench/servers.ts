import { EventStoreDBClient, jsonEvent, NO_STREAM, START, streamNameFilter } from '@eventstore/db-client'
import { MongoClient } from 'mongodb'
import { randomUUID } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { mongoDocuments } from '../../adapters/mongodb/documents.js'
import { eventStoreDb } from '../../adapters/eventstoredb/event-store.js'
import { connect } from '../../adapters/eventstoredb/client/connection.js'
import { connectMongo } from '../../adapters/mongodb/client/connection.js'
import { beginning, positionOf } from '../../domain/event.js'
import type { NewEvent } from '../../domain/ports.js'
import type { Change, Collection } from '../../projections/ports.js'
import { follow } from '../../projections/subscriptions/follower.js'
import { at } from '../kit/domain/samples.js'
import { medianOf, summaryOf, type Summary } from './summary.js'
import { orFail } from './tools.js'
import { startDoubleProcess } from '../kit/stores/double-process.js'
import { recordingLogger } from '../kit/parts/recording-logger.js'
import { sleep } from '../kit/time/until.js'

/** What was measured through an adapter, and with the bare driver. */
type AgainstDriver = { readonly ours: Summary; readonly theirs: Summary }

const inFlight = 64

type EventStoreServer = { readonly url: string; readonly stop: () => Promise<void> }

/** The server that `EVENTSTORE_URL` names, or else the double in a process of its own. */
export const eventStoreServer = (): Promise<EventStoreServer> => {
  const url = process.env['EVENTSTORE_URL']
  return url === undefined ? startServer() : Promise.resolve({ url, stop: () => Promise.resolve() })
}

/** The double of EventStoreDB in a process of its own. */
export const startServer = async (): Promise<EventStoreServer> => {
  const { url, signal, exited } = await startDoubleProcess()
  return {
    url,
    stop: async () => {
      signal('SIGTERM')
      await exited
    },
  }
}

/**
 * Whether the server reads the whole collection whatever index a query names (adapters/mongodb/servers/ferretdb.ts).
 */
export const isFerretDb = async (url: string): Promise<boolean> => {
  const { db, close } = orFail(connectMongo(url, recordingLogger()))
  const { ferretdbVersion } = await db.command({ buildInfo: 1 })
  await close()
  return ferretdbVersion !== undefined
}

const activity: NewEvent = {
  type: 'MemberAdded',
  data: { member_id: `mbr_${'0'.repeat(26)}`, email: 'someone@example.com', role: 'agent' },
  id: randomUUID(),
  time: at(),
  correlationId: randomUUID(),
  causationId: randomUUID(),
  schemaVersion: 1,
  actor: 'operator',
}

const stream = (): string => `account-${randomUUID()}`

/** One event a stream, many in flight, through the port and with `appendToStream` alone. */
export const measureAppends = async (url: string, rounds: number, count: number): Promise<AgainstDriver> => {
  const store = eventStoreDb(orFail(connect(url)))
  const client = EventStoreDBClient.connectionString(url)
  const ours = (): Promise<unknown> =>
    store.append(stream(), 'no-stream', [{ ...activity, id: randomUUID() }]).then(orFail)
  const { type, data, correlationId, causationId, ...rest } = activity
  const metadata = { $correlationId: correlationId, $causationId: causationId, time: rest.time, actor: rest.actor }
  const theirs = (): Promise<unknown> =>
    client.appendToStream(`bare-${randomUUID()}`, jsonEvent({ id: randomUUID(), type, data, metadata }), {
      expectedRevision: NO_STREAM,
    })
  const measured = await alternating(rounds, {
    ours: () => timed(count, ours),
    theirs: () => timed(count, theirs),
  })
  await store.close()
  await client.dispose()
  return measured
}

/** The whole log from its beginning, through the port and with `for await` over the driver's subscription. */
export const measureSubscription = async (url: string, rounds: number, count: number): Promise<AgainstDriver> => {
  const store = eventStoreDb(orFail(connect(url)))
  const client = EventStoreDBClient.connectionString(url)
  const many = (): ReadonlyArray<NewEvent> => Array.from({ length: 100 }, () => ({ ...activity, id: randomUUID() }))
  for (let written = 0; written < count; written += 100) {
    const [first, ...others] = many()
    if (first !== undefined) orFail(await store.append(stream(), 'no-stream', [first, ...others]))
  }
  const ours = async (): Promise<void> => {
    const enough = new AbortController()
    let seen = 0
    for await (const { events } of store.subscribe(beginning, ['account'], enough.signal)) {
      seen += events.length
      if (seen >= count) enough.abort()
    }
  }
  const theirs = (): Promise<void> => bareSubscription(client, ['account'], count)
  const measured = await alternating(rounds, {
    ours: () => perSecond(count, ours),
    theirs: () => perSecond(count, theirs),
  })
  await store.close()
  await client.dispose()
  return measured
}

/** The first events of these categories, by `for await` over the driver's subscription alone. */
export const bareSubscription = async (
  client: EventStoreDBClient,
  categories: ReadonlyArray<string>,
  events: number,
): Promise<void> => {
  const filter = streamNameFilter({ prefixes: categories.map((category) => `${category}-`) })
  const subscription = client.subscribeToAll({ fromPosition: START, filter })
  let seen = 0
  for await (const _event of subscription) {
    seen += 1
    if (seen >= events) break
  }
  await subscription.unsubscribe().catch(() => undefined)
}

const batchSize = 500

/** Batches of new documents and of changed ones, through the port and with `bulkWrite` alone, which guards nothing. */
export const measureDocuments = async (url: string, rounds: number, batches: number): Promise<AgainstDriver> => {
  const connection = orFail(connectMongo(url, recordingLogger()))
  const documents = mongoDocuments(connection.db)
  const bare = new MongoClient(url, { writeConcern: { w: 'majority', journal: true } })
  const body = { account_id: `acc_${'0'.repeat(26)}`, group: 'a', rank: 1, text: 'x'.repeat(400) }
  let turn = 0
  const ours = async (): Promise<void> => {
    turn += 1
    const collection: Collection = {
      name: `bench_ours_${turn}`,
      version: 1,
      indexes: { by_group: ['group', 'rank'] },
      generation: 'live',
    }
    orFail(await documents.prepare(collection))
    for (let batch = 0; batch < batches; batch += 1) {
      const position = positionOf(BigInt(batch + 1))
      const changes = keysOf(batch).map((key): Change => ({ key, document: body, position }))
      orFail(await documents.apply(collection, changes, position))
    }
    orFail(await documents.drop(collection))
  }
  const theirs = async (): Promise<void> => {
    turn += 1
    const collection = bare.db().collection<{ readonly _id: string }>(`bench_theirs_${turn}`)
    const [group, rank] = ['index.group', 'index.rank']
    await collection.createIndexes([{ name: 'by_group', key: { [group]: 1, [rank]: 1, _id: 1 } }])
    for (let batch = 0; batch < batches; batch += 1) {
      const fields = { position: BigInt(batch), body: JSON.stringify(body), index: { group: 'a', rank: 1 } }
      await collection.bulkWrite(
        // Not `updateOne`: FerretDB stands still for ever at a hundred of them.
        keysOf(batch).map((key) => ({ updateMany: { filter: { _id: key }, update: { $set: fields }, upsert: true } })),
        { ordered: false },
      )
    }
    await collection.drop()
  }
  const measured = await alternating(rounds, {
    ours: () => perSecond(batches * batchSize, ours),
    theirs: () => perSecond(batches * batchSize, theirs),
  })
  await connection.close()
  await bare.close()
  return measured
}

/** Every other batch changes the documents of the one before it. */
const keysOf = (batch: number): ReadonlyArray<string> =>
  Array.from({ length: batchSize }, (_, n) => `${batch - (batch % 2)}-${n}`)

/** Events that a follower is handed at once while it catches up, on average, when writing a batch takes it 3 ms. */
export const measureBatches = async (url: string, count: number): Promise<number> => {
  const store = eventStoreDb(orFail(connect(url)))
  let seen = 0
  let batches = 0
  await new Promise<void>((resolve) => {
    const following = follow(
      {
        name: 'bench',
        categories: ['account'],
        begin: () => Promise.resolve(beginning),
        handle: async ({ events }) => {
          seen += events.length
          batches += 1
          if (seen >= count) void following.stop().then(resolve)
          await sleep(3)
        },
      },
      { store, logger: recordingLogger(), backoff: () => Promise.resolve() },
    )
  })
  await store.close()
  return seen / batches
}

type Runs = { readonly ours: () => Promise<Summary>; readonly theirs: () => Promise<Summary> }

/** By turns, and each first in every other round, so that what else goes on meets both. The first round warms up. */
const alternating = async (rounds: number, { ours, theirs }: Runs): Promise<AgainstDriver> => {
  const measured: { readonly ours: Array<Summary>; readonly theirs: Array<Summary> } = { ours: [], theirs: [] }
  for (let round = 0; round <= rounds; round += 1) {
    const isFirst = round % 2 === 0
    const before = isFirst ? await ours() : undefined
    const bare = await theirs()
    const through = before ?? (await ours())
    if (round === 0) continue
    measured.ours.push(through)
    measured.theirs.push(bare)
  }
  return { ours: medianOf(measured.ours), theirs: medianOf(measured.theirs) }
}

const timed = async (count: number, ask: () => Promise<unknown>): Promise<Summary> => {
  const latencies: Array<number> = []
  const started = performance.now()
  const worker = async (): Promise<void> => {
    while (latencies.length < count) {
      const asked = performance.now()
      await ask()
      latencies.push(performance.now() - asked)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  return summaryOf(latencies, (performance.now() - started) / 1000)
}

const perSecond = async (count: number, work: () => Promise<void>): Promise<Summary> => {
  const started = performance.now()
  await work()
  return { perSecond: count / ((performance.now() - started) / 1000), p50: Number.NaN, p99: Number.NaN }
}
