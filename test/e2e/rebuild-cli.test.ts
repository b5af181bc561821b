import test, { type ExecutionContext } from 'ava'
import type Database from 'better-sqlite3'
import { cpSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { answerTo, nothingAtPath } from '../../app/http/problem.js'
import { readModels } from '../../projections/read-models/registry.js'
import { startDouble } from '../eventstoredb-double/double.js'
import { portAnswering } from '../kit/network/answering.js'
import { bearer, having, send } from '../kit/network/http.js'
import { launchLeadloop, runLeadloop } from '../kit/parts/leadloop.js'
import type { Ended } from '../kit/parts/program.js'
import { manage, openAccount, type Account } from '../kit/service/account.js'
import { openDataDirectory } from '../kit/service/data-directory.js'
import { openService, serviceFor } from '../kit/service/in-process-service.js'
import { loggedOf } from '../kit/service/logged-events.js'
import { operatorKey } from '../kit/service/settings.js'
import { byHand } from '../kit/stores/sqlite.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'

const names = readModels.map(({ name }) => name)

const settings = { PORT: '0', EVENTSTORE_URL: undefined, MONGODB_URL: undefined }

const rebuild = (DATA_DIR: string, ...args: ReadonlyArray<string>): Promise<Ended> =>
  runLeadloop(['rebuild', ...args], { ...settings, DATA_DIR })

type Lived = { readonly folder: string; readonly account: Account; readonly contactId: string }

const left = openDataDirectory()
let lived: Omit<Lived, 'folder'>

/** A data directory that a service left behind after a lead was sold. */
test.before(async () => {
  const service = await openService(left.path)
  const account = await openAccount(service)
  const { contact_id: contactId } = await account.submitted({ first_name: 'Ada' })
  await account.submitted({ first_name: 'Grace' })
  const { sold } = await account.standardConversions()
  having(await account.record(sold, { contact_id: contactId }), 'conversion_contact')
  await service.stop()
  lived = { account, contactId }
})

test.after.always(left.remove)

/** A copy of that directory. */
const livedIn = (t: ExecutionContext): Lived => {
  const folder = temporaryDirectory(t)
  cpSync(left.path, folder, { recursive: true })
  return { ...lived, folder }
}

const liveTable = (database: Database.Database, name: string): string => {
  const sql = `SELECT table_name FROM collections WHERE name = ? AND generation = 'live'`
  return String(database.prepare(sql).pluck().get(name))
}

/** Everything that is served, and what else stands beside it. */
const served = (folder: string): unknown =>
  byHand(folder, (database) => [
    names.map((name) => database.prepare(`SELECT * FROM "${name}" ORDER BY key`).all()),
    database.prepare('SELECT name, version, generation, checkpoint FROM collections ORDER BY name, generation').all(),
  ])

const firstNames = (folder: string): ReadonlyArray<unknown> =>
  byHand(folder, (database) =>
    database.prepare(`SELECT body ->> '$.first_name' FROM contacts ORDER BY 1`).pluck().all(),
  )

test('every read model is built anew, equals what was served and takes its place', async (t) => {
  const { folder } = livedIn(t)
  const before = firstNames(folder)
  const { code, stdout, stderr } = await rebuild(folder)

  t.is(code, 0)
  for (const name of names) t.regex(stdout, new RegExp(`^${name} +\\d+ documents?, equal to what was served$`, 'm'))
  t.regex(stdout, /^contacts +2 documents, /m)
  t.regex(stdout, /^All equal what was served\.$/m)
  t.regex(stdout, /\d+ events in [\d.]+ s: [\d,]+ events\/s\.\n$/)
  t.regex(stderr, /^100% \| at (\d+) of \1$/m)
  t.false(stderr.includes('\u001b'), 'a line now and then where there is no terminal')
  t.deepEqual(firstNames(folder), before)
})

test('a rebuild can follow a rebuild, as often as it is wanted', async (t) => {
  const { folder } = livedIn(t)
  for (const time of [1, 2]) {
    const { code, stdout, stderr } = await rebuild(folder)
    t.is(code, 0, `time ${time}: ${stderr}`)
    t.regex(stdout, /^All equal what was served\.$/m)
  }
})

test('documents that were changed, removed or added by hand are told and right afterwards', async (t) => {
  const { folder, account, contactId } = livedIn(t)
  byHand(folder, (database) => {
    const contacts = liveTable(database, 'contacts')
    const isFirst = `body ->> '$.first_name' = 'Ada'`
    database.exec(`UPDATE "${contacts}" SET body = json_set(body, '$.first_name', 'Eve') WHERE ${isFirst}`)
    const leads = liveTable(database, 'lead_list')
    database.exec(`DELETE FROM "${leads}" WHERE rowid = (SELECT min(rowid) FROM "${leads}")`)
    const sources = liveTable(database, 'source_list')
    database.exec(`INSERT INTO "${sources}" (key, position, body) VALUES ('made up', 1, '{}')`)
  })
  t.deepEqual(firstNames(folder), ['Eve', 'Grace'])
  const { code, stdout } = await rebuild(folder)

  t.is(code, 0)
  t.regex(stdout, /^contacts +2 documents, 1 differing from what was served$/m)
  t.regex(stdout, /^lead_list +2 documents, 1 differing from what was served$/m)
  t.regex(stdout, /^source_list +2 documents, 1 differing from what was served$/m)
  t.regex(stdout, /^conversion_list +4 documents, equal to what was served$/m)
  t.regex(stdout, /^What differed is right from now on\.$/m)
  t.deepEqual(firstNames(folder), ['Ada', 'Grace'])

  const { url } = await serviceFor(t, folder)
  const found = await send(`${url}/api/v3/contacts/${contactId}`, { headers: bearer(account.apiKey) })
  t.is(having(found, 'contact').first_name, 'Ada')
})

test('documents that can not even be read are replaced too', async (t) => {
  const { folder } = livedIn(t)
  byHand(folder, (database) => database.exec(`UPDATE "${liveTable(database, 'contacts')}" SET body = 'no JSON'`))
  const { code, stdout } = await rebuild(folder)

  t.is(code, 0)
  t.regex(stdout, /^contacts +2 documents, 2 differing from what was served$/m)
  t.regex(stdout, /^What differed is right from now on\.$/m)
  t.deepEqual(firstNames(folder), ['Ada', 'Grace'])
})

test('a live read model that a stop left behind the log is not called different', async (t) => {
  const { folder } = livedIn(t)
  byHand(folder, (database) => {
    const timeline = liveTable(database, 'contact_timeline')
    const last = Number(database.prepare(`SELECT max(position) FROM "${timeline}"`).pluck().get())
    database.exec(`DELETE FROM "${timeline}" WHERE position = ${last}`)
    database.exec(`UPDATE collections SET checkpoint = ${last - 1} WHERE table_name = '${timeline}'`)
  })
  const { code, stdout } = await rebuild(folder, 'contact_timeline')
  t.is(code, 0)
  t.regex(stdout, /^contact_timeline +\d+ documents, equal to what was served$/m)
})

test('a read model that was not there yet is built too', async (t) => {
  const { folder } = livedIn(t)
  byHand(folder, (database) => {
    const contacts = liveTable(database, 'contacts')
    database.exec(
      `DROP VIEW contacts; DROP TABLE "${contacts}"; DELETE FROM collections WHERE table_name = '${contacts}'`,
    )
  })
  const { code, stdout } = await rebuild(folder)
  t.is(code, 0)
  t.regex(stdout, /^contacts +2 documents, none were served before$/m)
  t.deepEqual(firstNames(folder), ['Ada', 'Grace'])
})

test('only the read models that are named are rebuilt', async (t) => {
  const { folder } = livedIn(t)
  const { code, stdout } = await rebuild(folder, 'lead_list', 'contacts')
  t.is(code, 0)
  const reported = stdout.split('\n').filter((line) => line.includes('document'))
  t.deepEqual(
    reported.map((line) => line.split(' ', 1)[0]),
    ['contacts', 'lead_list'],
  )
})

test('a rebuild of a read model that there is not names those that there are', async (t) => {
  const { folder } = livedIn(t)
  const before = served(folder)
  const { code, stdout, stderr } = await rebuild(folder, 'contacts', 'contact')
  t.is(code, 2)
  t.is(stdout, '')
  t.true(stderr.startsWith(`error: There is no read model contact. There are ${names.join(', ')}.\n`), stderr)
  t.deepEqual(served(folder), before)
})

test('a rebuild is refused while a service uses the directory, and where there is no log', async (t) => {
  const folder = temporaryDirectory(t)
  const { stop } = await serviceFor(t, folder)
  const inUse = await rebuild(folder)
  await stop()
  t.is(inUse.code, 1)
  t.is(inUse.stderr, `leadloop can't rebuild. DATA_DIR: another process is using ${folder}.\n`)

  const other = temporaryDirectory(t)
  for (const mistyped of [other, join(other, 'nowhere')]) {
    const missing = await rebuild(mistyped)
    t.is(missing.code, 1)
    t.is(missing.stderr, `leadloop can't rebuild. DATA_DIR: there is no ${join(mistyped, 'leadloop.db')}.\n`)
  }
  t.deepEqual(readdirSync(other), [])
})

test('an event that can not be folded stops a rebuild, and what is served stays as it was', async (t) => {
  const { folder } = livedIn(t)
  byHand(folder, (database) => database.exec(`UPDATE events SET data = '{}' WHERE type = 'ContactCreated'`))
  const before = served(folder)
  const { code, stdout, stderr } = await rebuild(folder)
  t.is(code, 1)
  t.is(stdout, '')
  t.regex(stderr, /^leadloop can't rebuild\. The rebuild stopped: ContactCreated can't be decoded: data\./m)
  t.regex(stderr, / What is served stays as it was\.\n$/)
  t.deepEqual(served(folder), before)
})

test('a call that an older version stored as lasting beyond the year 9999 is read as lasting to its end: by a rebuild, a replay and a STOP', async (t) => {
  const { folder, account } = livedIn(t)
  const { contact, engagement } = byHand(folder, (database) => {
    const grace = `SELECT key AS contact, stream AS engagement FROM contacts JOIN events
      ON type = 'ActivityRecorded' AND data ->> '$.activity.contact_id' = key WHERE body ->> '$.first_name' = 'Grace'`
    return database.prepare(grace).get() as { readonly contact: string; readonly engagement: string }
  })
  byHand(folder, (database) =>
    database
      .prepare(
        `UPDATE events SET data = json_set(data, '$.call_until', '+010000-01-01T00:59:59.000Z')
         WHERE stream = ? AND type = 'ActivityRecorded'`,
      )
      .run(engagement),
  )
  const { code, stderr } = await rebuild(folder)
  t.is(code, 0, stderr)

  const site = await serviceFor(t, folder)
  const [started] = (await loggedOf(site, engagement.replace('engagement-', ''))).filter(
    ({ type }) => type === 'ActivityRecorded',
  )
  t.is(started?.data['call_until'], '9999-12-31T23:59:59.999Z')
  const said = await manage(site, 'POST', `/accounts/${account.id}/contacts/${contact}/messages`, { text: 'STOP' })
  t.is(said.status, 201)
  const found = await send(`${site.url}/api/v3/contacts/${contact}`, { headers: bearer(account.apiKey) })
  t.like(having(found, 'contact'), { opted_out: true })
})

test('a service that runs builds its read models anew itself, and answers all the while', async (t) => {
  const { folder, account } = livedIn(t)
  byHand(folder, (database) => {
    const contacts = liveTable(database, 'contacts')
    const isFirst = `body ->> '$.first_name' = 'Ada'`
    database.exec(`UPDATE "${contacts}" SET body = json_set(body, '$.first_name', 'Eve') WHERE ${isFirst}`)
  })
  const { url, stop } = await serviceFor(t, folder)
  const called = { ...settings, DATA_DIR: folder, PORT: new URL(url).port, OPERATOR_KEY: operatorKey }
  const leadloop = (...args: ReadonlyArray<string>): Promise<Ended> => runLeadloop(['rebuild', ...args], called)

  const unknown = await leadloop('contact')
  t.is(unknown.code, 2)
  t.regex(unknown.stderr, /^error: There is no read model contact\. There are contacts, /)

  const [{ code, stdout, stderr }, found] = await Promise.all([
    leadloop(),
    send(`${url}/api/v3/contacts/${lived.contactId}`, { headers: bearer(account.apiKey) }),
  ])
  t.is(code, 0, stderr)
  t.is(found.status, 200)
  t.deepEqual(
    stdout.split('\n').map((line) => line.split(':', 1)[0]),
    [...names, ''],
  )
  t.regex(stdout, /^contacts: 2 documents$/m)
  t.deepEqual(firstNames(folder), ['Ada', 'Grace'])

  const again = await leadloop('contacts')
  t.is(again.stdout, 'contacts: 2 documents\n')
  await stop()
  const { stdout: compared } = await rebuild(folder)
  t.regex(compared, /^All equal what was served\.$/m)
})

const maintainedElsewhere = answerTo({ kind: 'read-models-elsewhere', names: ['contacts'] })

for (const [what, answer] of [
  ['does not maintain them', maintainedElsewhere],
  ['takes no requests', answerTo(nothingAtPath)],
] as const) {
  test(`on servers a rebuild is done on the stores where the process that is asked ${what}`, async (t) => {
    const rebuilding = launchLeadloop(['rebuild'], {
      DATA_DIR: temporaryDirectory(t),
      PORT: await portAnswering(t, answer),
      OPERATOR_KEY: operatorKey,
      EVENTSTORE_URL: 'esdb://127.0.0.1:1?tls=false',
      MONGODB_URL: 'mongodb://127.0.0.1:1/leadloop',
    })
    t.truthy(await rebuilding.said(/^(The rebuild tries again and goes on from where it came to: .+)$/m))
    rebuilding.signal('SIGTERM')
    await rebuilding.exited
  })
}

for (const EVENTSTORE_URL of [undefined, 'esdb://127.0.0.1:1?tls=false']) {
  const embedded = EVENTSTORE_URL === undefined ? 'the store is' : 'the read models are'
  test(`where ${embedded} embedded a rebuild is refused that the process that runs refuses`, async (t) => {
    const { folder } = livedIn(t)
    const PORT = await portAnswering(t, maintainedElsewhere)
    const called = { ...settings, DATA_DIR: folder, PORT, OPERATOR_KEY: operatorKey, EVENTSTORE_URL }
    const { code, stderr } = await runLeadloop(['rebuild'], called)
    t.is(code, 1)
    const answer = 'The service answers 409: ["this process does not maintain contacts now"].'
    t.is(stderr, `leadloop can't rebuild. ${answer}\n`)
  })
}

test('a rebuild goes on once its event store answers again, tells that it waits, and ends at once when it is told to', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const folder = temporaryDirectory(t)
  const service = await serviceFor(t, folder, { eventStoreUrl: double.url })
  await (await openAccount(service)).submitted({ first_name: 'Ada' })
  await service.stop()
  await double.stop()
  const environment = { ...settings, EVENTSTORE_URL: double.url, DATA_DIR: folder }
  const begin = () => launchLeadloop(['rebuild'], environment)
  const waits =
    /^(The rebuild tries again and goes on from where it came to: the event store answered unavailable \(14\)\.)$/m

  const ended = begin()
  t.truthy(await ended.said(waits))
  ended.signal('SIGTERM')
  t.deepEqual(await ended.exited, { code: null, signal: 'SIGTERM' })

  const completed = begin()
  t.truthy(await completed.said(waits))
  await double.start()
  t.deepEqual(await completed.exited, { code: 0, signal: null })
  t.regex(completed.stdout(), /^contacts +1 document, equal to what was served$/m)
  t.deepEqual(firstNames(folder), ['Ada'])
})
