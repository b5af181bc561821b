import Database from 'better-sqlite3'
import test, { type ExecutionContext } from 'ava'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { bearer, having, send, sendJson, type Answer } from '../kit/network/http.js'
import { labelOf, receiverFor, type Received } from '../kit/network/receiver.js'
import { runLeadloop } from '../kit/parts/leadloop.js'
import { manage, openAccount, type Account } from '../kit/service/account.js'
import { dataDirectory } from '../kit/service/data-directory.js'
import { openService, type Service } from '../kit/service/in-process-service.js'
import { lead, newPhone, type Fields } from '../kit/service/leads.js'
import { operatorKey } from '../kit/service/settings.js'
import { longestDelivery } from '../kit/service/subscription.js'
import { until } from '../kit/time/until.js'

/** The embedded database of a service, for what no service writes. */
type Log = { readonly run: (sql: string, ...values: ReadonlyArray<unknown>) => unknown }

type Parked = Readonly<Record<string, unknown>>

/** Two accounts with a webhook each, in a service that can be stopped while somebody spoils its log. */
const openStage = async (t: ExecutionContext) => {
  const directory = dataDirectory(t)
  let service: Service = await openService(directory)
  t.teardown(() => service.stop())
  const site = {
    get url() {
      return service.url
    },
  }
  const open = async () => {
    const [account, receiver] = await Promise.all([openAccount(site), receiverFor(t)])
    await account.addWebhook({ url: receiver.url, token: 'x' })
    return { account, receiver }
  }
  const log: Log = {
    run: (sql, ...values) => {
      const database = new Database(join(directory, 'leadloop.db'))
      try {
        const statement = database.prepare(sql)
        return statement.reader ? statement.get(...values) : statement.run(...values)
      } finally {
        database.close()
      }
    },
  }
  return {
    site,
    directory,
    stop: () => service.stop(),
    poisoned: await open(),
    other: await open(),
    log,
    /** Starts the service anew on what `spoil` leaves of its log. */
    restart: async (spoil: () => void) => {
      await service.stop()
      spoil()
      service = await openService(directory)
    },
    submit: ({ postUrl }: Account, fields: Fields = {}): Promise<Answer> =>
      sendJson(site.url + new URL(postUrl).pathname, 'POST', lead(fields)),
    parked: async (): Promise<ReadonlyArray<Parked>> =>
      having(await manage(site, 'GET', '/parked'), 'parked') as unknown as ReadonlyArray<Parked>,
    retry: (id: unknown): Promise<Answer> => manage(site, 'POST', `/parked/${String(id)}/retry`, {}),
    ready: async () => (await send(`${site.url}/health/ready`)).body,
    metrics: async () => (await send(`${site.url}/metrics`)).text,
  }
}

type Stage = Awaited<ReturnType<typeof openStage>>

const dataOf = (log: Log, stream: string, revision: number): string =>
  (log.run('SELECT data FROM events WHERE stream = ? AND revision = ?', stream, revision) as { data: string }).data

const write = (log: Log, stream: string, revision: number, data: string): void => {
  log.run('UPDATE events SET data = ? WHERE stream = ? AND revision = ?', data, stream, revision)
}

/** Resolves once so many events are parked. */
const parkedOnes = ({ parked }: Stage, count: number): Promise<ReadonlyArray<Parked>> =>
  until(`${count} events are parked`, longestDelivery, parked, (all) => all.length === count)

const has =
  (label: string) =>
  (request: Received): boolean =>
    labelOf(request) === label

/** The other account's leads are accepted, and delivered, whatever became of the first one's. */
const otherGoesOn = async (
  t: ExecutionContext,
  { other, submit, site, ready }: Stage,
  leads: number,
): Promise<void> => {
  const before = other.receiver.requests.length
  for (let n = 0; n < leads; n += 1) t.is((await submit(other.account)).status, 200)
  await other.receiver.received(before + leads)
  const unknown = encodeURIComponent(newPhone())
  const found = await send(`${site.url}/api/v3/contacts/find?phone=${unknown}`, {
    headers: bearer(other.account.apiKey),
  })
  t.is(found.status, 404, 'a contact that is not there is not there')
  const lags = async (): Promise<ReadonlyArray<number>> => {
    const { projections = [] } = await ready()
    return projections.filter(({ failure }) => failure === null).map(({ lag }) => lag)
  }
  await until('nobody lags', longestDelivery, lags, (all) => all.length >= 3 && all.every((lag) => lag === 0))
}

test('an activity whose contact can not be read is parked, and delivered once somebody has mended it', async (t) => {
  const stage = await openStage(t)
  const { poisoned, log, restart, ready, metrics, retry, site } = stage
  const { contact_id, next_engagement_id } = await poisoned.account.submitted()
  await poisoned.receiver.received(1)
  const stream = `contact-${contact_id}`
  const whole = dataOf(log, stream, 0)
  t.is((await ready()).status, 'ready')
  await restart(() => write(log, stream, 0, '{"phone":"+14155550199"}'))

  t.is((await poisoned.account.report(next_engagement_id, 'event', 'interested')).status, 201)
  const [one] = await parkedOnes(stage, 1)
  t.like(one, { process_manager: 'delivery_projector', event_type: 'ActivityRecorded' })
  t.deepEqual(Object.keys(one ?? {}).toSorted(), ['at', 'event_id', 'event_type', 'id', 'process_manager', 'reason'])
  t.regex(String(one?.['reason']), /ContactCreated can't be decoded: data\.contact_id must be a contact id/)
  t.false(JSON.stringify(one).includes('4155550199'))
  await otherGoesOn(t, stage, 3)
  const { status, parked: named, projections = [] } = await ready()
  t.is(status, 'degraded')
  t.deepEqual<unknown, unknown>(named, [{ process_manager: 'delivery_projector', events: 1 }])
  t.true(projections.every(({ failure, retrying }) => failure === null && retrying === null))
  t.regex(await metrics(), /^leadloop_parked_events\{process_manager="delivery_projector"\} 1$/m)

  const again = await retry(one?.['id'])
  t.is(again.status, 202)
  t.deepEqual<unknown, unknown>(again.body.parked, { id: one?.['id'], state: 'retrying' })
  const [still] = await until('it fails again', longestDelivery, stage.parked, ([now]) => now?.['at'] !== one?.['at'])
  t.deepEqual({ ...still, at: one?.['at'] }, one)

  write(log, stream, 0, whole)
  t.is((await retry(one?.['id'])).status, 202)
  await poisoned.receiver.receivedOne(has('interested'))
  await parkedOnes(stage, 0)
  t.is((await ready()).status, 'ready')
  t.regex(await metrics(), /^leadloop_parked_events\{process_manager="delivery_projector"\} 0$/m)
  t.is((await retry(one?.['id'])).status, 202, 'it is handled already, which is no failure')
  t.is((await manage(site, 'POST', '/parked/prk_00000000000000000000000000/retry', {})).status, 404)
  t.is((await manage(site, 'POST', '/parked/none/retry', {})).status, 404)
})

test('a lead whose contact can not be read is accepted and parked, and enrolled once somebody has mended it', async (t) => {
  const stage = await openStage(t)
  const { poisoned, log, restart, submit, retry, ready } = stage
  const phone = newPhone()
  const { contact_id } = await poisoned.account.submitted({ phone })
  await poisoned.receiver.received(1)
  const stream = `contact-${contact_id}`
  const whole = dataOf(log, stream, 0)
  await restart(() => write(log, stream, 0, '{}'))

  t.is((await submit(poisoned.account, { phone })).status, 200)
  const [one] = await parkedOnes(stage, 1)
  t.like(one, { process_manager: 'reactions', event_type: 'LeadSubmitted' })
  await otherGoesOn(t, stage, 3)
  t.deepEqual<unknown, unknown>((await ready()).parked, [{ process_manager: 'reactions', events: 1 }])

  write(log, stream, 0, whole)
  await retry(one?.['id'])
  await parkedOnes(stage, 0)
  await poisoned.receiver.received(2)
  t.deepEqual(poisoned.receiver.requests.map(labelOf), ['started', 'started'])
  t.is((await ready()).status, 'ready')
})

test('an event that can not be decoded is parked by each process manager that follows it, and stops read models alone', async (t) => {
  const stage = await openStage(t)
  const { poisoned, log, restart, retry, ready } = stage
  const { next_engagement_id } = await poisoned.account.submitted()
  await poisoned.receiver.received(1)
  const stream = `engagement-${next_engagement_id}`
  const whole = dataOf(log, stream, 1).replace('started', 'interested')
  await restart(() => {
    log.run(
      `INSERT INTO events SELECT (SELECT max(position) FROM events) + 1, stream, revision + 1, category,
         'ffffffff-ffff-4fff-bfff-ffffffffffff', type, time, correlation_id, causation_id, schema_version, actor, '{}'
       FROM events WHERE stream = ? AND revision = 1`,
      stream,
    )
  })

  const both = await parkedOnes(stage, 2)
  t.deepEqual(both.map((one) => one['process_manager']).toSorted(), ['delivery_projector', 'reactions'])
  await otherGoesOn(t, stage, 3)
  const { status, projections = [] } = await ready()
  t.is(status, 'degraded')
  t.deepEqual(
    projections.filter(({ failure }) => failure !== null).map(({ name }) => name),
    ['contact_timeline', 'follow_ups'],
  )
  const found = log.run('SELECT position FROM events WHERE stream = ? AND revision = 2', stream)
  const { position } = found as { position: number }
  for (const { failure } of projections) {
    if (failure !== null) t.true(failure.endsWith(`, at position ${position} of ${stream}`), failure)
  }

  write(log, stream, 2, whole)
  for (const { id } of both) await retry(id)
  await poisoned.receiver.receivedOne(has('interested'))
  await parkedOnes(stage, 0)
})

test('a webhook that can not be read is parked once, its deliveries wait, and come once somebody has mended it', async (t) => {
  const stage = await openStage(t)
  const { poisoned, log, restart, submit, retry, ready } = stage
  const { stream } = log.run("SELECT stream FROM events WHERE category = 'webhook' ORDER BY position LIMIT 1") as {
    stream: string
  }
  const whole = dataOf(log, stream, 0)
  await restart(() => write(log, stream, 0, '{}'))

  for (let n = 0; n < 3; n += 1) t.is((await submit(poisoned.account)).status, 200)
  const [one] = await parkedOnes(stage, 1)
  t.like(one, { process_manager: 'delivery_worker' })
  await otherGoesOn(t, stage, 3)
  t.deepEqual<unknown, unknown>((await ready()).parked, [{ process_manager: 'delivery_worker', events: 1 }])
  const { port } = new URL(stage.site.url)
  const settings = { PORT: port, OPERATOR_KEY: operatorKey, EVENTSTORE_URL: undefined, MONGODB_URL: undefined }
  const listed = await runLeadloop(['parked', 'list'], settings)
  t.deepEqual(listed, { code: 0, stdout: `${JSON.stringify(one)}\n`, stderr: '' })
  const retried = await runLeadloop(['parked', 'retry', String(one?.['id'])], settings)
  t.is(retried.code, 0, retried.stderr)
  const [still] = await until('it fails again', longestDelivery, stage.parked, ([now]) => now?.['at'] !== one?.['at'])
  t.deepEqual({ ...still, at: one?.['at'] }, one)
  t.is(poisoned.receiver.requests.length, 0)

  write(log, stream, 0, whole)
  t.is((await retry(one?.['id'])).status, 202)
  await poisoned.receiver.received(3)
  await parkedOnes(stage, 0)
})

test('where no service runs, one runs for what the command line asks, and a folder without data is refused', async (t) => {
  const stage = await openStage(t)
  await stage.stop()
  const settings = { DATA_DIR: stage.directory, OPERATOR_KEY: operatorKey, PORT: '1', EVENTSTORE_URL: undefined }
  t.deepEqual(await runLeadloop(['parked', 'list'], settings), { code: 0, stdout: '', stderr: '' })
  const unknown = await runLeadloop(['parked', 'retry', 'prk_1'], settings)
  t.is(unknown.code, 1)
  t.regex(unknown.stderr, /^leadloop can't retry\. The service answers 404: .+\n$/)
  t.is((await runLeadloop(['parked', 'retry'], settings)).code, 2)
  const nowhere = join(stage.directory, 'nowhere')
  const refused = await runLeadloop(['parked', 'list'], { ...settings, DATA_DIR: nowhere })
  t.is(refused.code, 1)
  t.regex(refused.stderr, /^leadloop can't list what is parked\. DATA_DIR: there is no .+leadloop\.db\.\n$/)
  t.false(existsSync(nowhere))
})

test('whoever lists what is parked and has no read model of that is told what builds it', async (t) => {
  const { directory, log, stop } = await openStage(t)
  await stop()
  log.run('DROP VIEW parked_events')
  log.run("DELETE FROM collections WHERE name = 'parked_events'")
  const settings = { DATA_DIR: directory, OPERATOR_KEY: operatorKey, PORT: '1', EVENTSTORE_URL: undefined }
  const { code, stderr } = await runLeadloop(['parked', 'list'], settings)
  t.is(code, 1)
  const sentence = "What is parked can't be read: if that was never built, `leadloop rebuild parked_events` builds it."
  t.is(stderr, `leadloop can't list what is parked. ${sentence}\n`)
  t.is((await runLeadloop(['rebuild', 'parked_events'], settings)).code, 0)
  t.deepEqual(await runLeadloop(['parked', 'list'], settings), { code: 0, stdout: '', stderr: '' })
})
