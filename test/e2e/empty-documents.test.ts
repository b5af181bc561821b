import { EventStoreDBClient } from '@eventstore/db-client'
import test, { type ExecutionContext } from 'ava'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { startDouble } from '../eventstoredb-double/double.js'
import { bearer, send, type Site } from '../kit/network/http.js'
import { receiverFor } from '../kit/network/receiver.js'
import { manage, openAccount } from '../kit/service/account.js'
import { serviceFor, type Service } from '../kit/service/in-process-service.js'
import { isReady, readinessOf } from '../kit/service/readiness.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'

const processManagers = ['reactions', 'delivery_projector', 'notice_projector']

/** A log on the double of EventStoreDB, in which so many leads were delivered to a webhook; no service runs on it. */
const openFullLog = async (t: ExecutionContext, leads: number) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const dataDir = temporaryDirectory(t)
  const receiver = await receiverFor(t)
  const start = (): Promise<Service> => serviceFor(t, dataDir, { eventStoreUrl: double.url, mongoUrl: undefined })
  const service = await start()
  const account = await openAccount(service)
  const webhookId = await account.addWebhook({ url: receiver.url, token: 'x' })
  const submitted = []
  for (let n = 0; n < leads; n += 1) submitted.push(await account.submitted())
  const delivered = (): number => double.log().filter(({ type }) => type === 'DeliverySucceeded').length
  await until('all is delivered and recorded', 60_000, () => delivered() === leads)
  await until('everything has followed the log', 60_000, () => isCaughtUp(service))
  await service.stop()
  const [events, reads, { appends }] = [double.log().length, double.streamsRead().length, double.calls()]
  return {
    double,
    receiver,
    account,
    webhookId,
    submitted,
    start,
    emptyDocuments: async () => {
      for (const name of await readdir(dataDir)) if (name.startsWith('leadloop.db')) await rm(join(dataDir, name))
    },
    /** As a version left it that saved how far process managers have come in the documents only. */
    forgetCheckpoints: async () => {
      const client = EventStoreDBClient.connectionString(double.url)
      for (const name of processManagers) await client.deleteStream(`checkpoint-${name}`)
      await client.dispose()
    },
    /** The types of the events that were appended to the log since. */
    appended: () =>
      double
        .log()
        .slice(events)
        .filter(({ stream }) => !stream.startsWith('checkpoint-'))
        .map(({ type }) => type),
    /** The calls that wrote to the log, or would have if it had not been written before. */
    appends: () => double.calls().appends - appends,
    saved: () =>
      double
        .log()
        .slice(events)
        .filter(({ stream }) => stream.startsWith('checkpoint-')).length,
    /** The streams that process managers read of what is in the log already. */
    readAgain: () =>
      double
        .streamsRead()
        .slice(reads)
        .filter((stream) => /^(lead|contact|engagement|delivery|notice)-/.test(stream)),
  }
}

const isCaughtUp = async (site: Site): Promise<boolean> => {
  const { projections = [] } = await readinessOf(site)
  return projections.length > 0 && projections.every(({ lag }) => lag === 0)
}

test.serial(
  'with empty documents beside a full log read models are rebuilt, and no work is done a second time',
  async (t) => {
    const { receiver, start, emptyDocuments, appends, readAgain } = await openFullLog(t, 5)
    await emptyDocuments()
    const service = await start()
    await until('it is ready', 60_000, () => isReady(service))
    await service.stop()
    t.is(appends(), 0)
    t.deepEqual(readAgain(), [])
    t.is(receiver.requests.length, 5)
  },
)

test.serial(
  'a log of an older version goes on from the documents, and has its own checkpoints from then on',
  async (t) => {
    const { receiver, start, emptyDocuments, forgetCheckpoints, appended, saved, readAgain } = await openFullLog(t, 5)
    await forgetCheckpoints()
    const upgraded = await start()
    await until('it is ready', 60_000, () => isReady(upgraded))
    await upgraded.stop()
    // The one of erasures had handled nothing, and had saved nothing before.
    t.is(saved(), processManagers.length + 1)
    await emptyDocuments()
    const service = await start()
    await until('it is ready', 60_000, () => isReady(service))
    t.deepEqual(appended(), [])
    t.deepEqual(readAgain(), [])
    t.is(receiver.requests.length, 5)
  },
)

test.serial('where neither knows how far process managers had come, what they do again changes nothing', async (t) => {
  const { receiver, start, emptyDocuments, forgetCheckpoints, appended, appends } = await openFullLog(t, 5)
  await forgetCheckpoints()
  await emptyDocuments()
  const service = await start()
  await until('it is ready', 60_000, () => isReady(service))
  t.true(appends() >= 5, 'this is what the checkpoints in the event store spare')
  t.deepEqual(appended(), [])
  t.is(receiver.requests.length, 5)
})

test.serial('while read models are rebuilt streams answer, and the rest is to be tried again', async (t) => {
  const { double, receiver, account, webhookId, submitted, start, emptyDocuments } = await openFullLog(t, 30)
  await emptyDocuments()
  // Each subscription ends after every event, and the next one is 50 ms later.
  double.faults.cutSubscriptions(1, Number.POSITIVE_INFINITY)
  const { url } = await start()
  const { projections = [], starting = [] } = await readinessOf({ url })
  const lagOf = (name: string): number => projections.find((one) => one.name === name)?.lag ?? 0
  const head = Number(double.log().at(-1)?.position)
  t.true(starting.includes('contacts') && starting.includes('deliveries'))
  t.true(lagOf('contacts') > 0)

  const known = await send(`${url}/api/v3/contacts/${submitted[0]?.contact_id}`, { headers: bearer(account.apiKey) })
  t.is(known.status, 200)
  const listed = await manage({ url }, 'GET', `/accounts/${account.id}/webhooks/${webhookId}/deliveries`)
  t.is(listed.status, 503)
  t.is(listed.headers['retry-after'], '1')
  await until('health says how far it is', 60_000, async () => {
    const { projections = [] } = await readinessOf({ url })
    const lag = projections.find(({ name }) => name === 'deliveries')?.lag ?? 0
    return lag > 0 && lag < head
  })
  t.is(receiver.requests.length, 30)
  double.faults.clear()
  await until('it is ready', 60_000, () => isReady({ url }))
  t.is(receiver.requests.length, 30)
})
