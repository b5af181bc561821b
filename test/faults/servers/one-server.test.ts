import test, { type ExecutionContext } from 'ava'
import { startDouble } from '../../eventstoredb-double/double.js'
import { addressOf, isRefused, startService, stopped } from '../../kit/service/service-process.js'
import { onServers } from '../../kit/load/fleet.js'
import { loadOn } from '../../kit/load/load.js'
import { testDatabase } from '../../kit/stores/mongodb.js'
import { until } from '../../kit/time/until.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'
import { clientOf } from '../../kit/network/http.js'
import { finding, openLoadedAccount } from '../../kit/load/loaded-account.js'
import { randomFrom, seedOf } from '../../kit/load/random.js'
import { startReceiver } from '../../kit/load/load-receiver.js'

/** The closed loop on one server and the embedded other store; a second process on the folder is refused. */
const loops = async (t: ExecutionContext, environment: Readonly<Record<string, string>>): Promise<void> => {
  const directory = temporaryDirectory(t)
  const receiver = await startReceiver(t)
  const service = startService(t, directory, environment)
  const address = await addressOf(service)
  const account = await openLoadedAccount(address, receiver.url)
  const load = loadOn(account, randomFrom(seedOf(t)))
  const client = clientOf(address)
  t.teardown(client.close)
  for (let n = 0; n < 10; n += 1) t.is((await load.submit(client))?.status, 200)
  for (const { submission } of load.ledger.leads) {
    t.is((await client.send(...finding(account, submission.phone))).status, 200)
  }
  t.true([200, 201].includes((await load.convert(client))?.status ?? 0))
  await until('each lead and the sale reached the webhook', 60_000, () => receiver.bodies.size >= 11)
  await isRefused(t, startService(t, directory, environment), /another process is using/)
  await stopped(t, service)
  const again = await addressOf(startService(t, directory, environment))
  const known = load.ledger.leads[0]?.submission.phone ?? ''
  const after = clientOf(again)
  t.teardown(after.close)
  t.is((await after.send(...finding(account, known))).status, 200)
}

test('with EventStoreDB alone the log is there, and the read models are embedded', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  await loops(t, { EVENTSTORE_URL: double.url })
  t.true(double.log().some(({ type }) => type === 'ConversionRecorded'))
})

onServers('MongoDB alone', (url) => {
  test('with MongoDB alone the read models are there, and the log is embedded', async (t) => {
    const database = testDatabase(url)
    t.teardown(database.drop)
    await loops(t, { MONGODB_URL: database.url })
  })

  test('a database that another application uses ends the start in one sentence, with nothing changed in it', async (t) => {
    for (const name of ['contacts', 'log', 'leases', 'checkpoints', 'generations']) {
      const database = testDatabase(url)
      t.teardown(database.drop)
      const { db, close } = database.open()
      t.teardown(close)
      const theirs = db.collection(name)
      await theirs.insertMany([{ name: 'Important customer' }, { name: 'Other' }])
      const before = await theirs.find().toArray()
      const service = startService(t, temporaryDirectory(t), { MONGODB_URL: database.url })
      await isRefused(
        t,
        service,
        new RegExp(`MONGODB_URL: the collection ${name} holds documents of another application`),
      )
      t.deepEqual(await theirs.find().toArray(), before)
      const all = await db.listCollections({}, { nameOnly: true }).toArray()
      t.deepEqual(
        all.map((one) => one.name),
        [name],
      )
    }
  })

  test('beside collections of other names a start takes a database, and again when they have ours beside them', async (t) => {
    const database = testDatabase(url)
    t.teardown(database.drop)
    const { db, close } = database.open()
    t.teardown(close)
    await db.collection('customers').insertOne({ name: 'Important customer' })
    const directory = temporaryDirectory(t)
    for (const _start of ['first', 'second']) {
      const service = startService(t, directory, { MONGODB_URL: database.url })
      await addressOf(service)
      await stopped(t, service)
    }
    // What versions before the registry of generations left: their documents stand under names of another kind.
    await db.collection('generations').drop()
    await db.collection('leases').insertOne({ name: 'reactions', term: 4 })
    await addressOf(startService(t, directory, { MONGODB_URL: database.url }))
    t.is(await db.collection('customers').countDocuments(), 1)
  })
})
