import test, { type ExecutionContext } from 'ava'
import Database from 'better-sqlite3'
import { CommanderError, type Command } from 'commander'
import { parse } from 'csv-parse/sync'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { once } from 'node:events'
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, watch, writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { asOfCommand } from '../../app/cli/analysis/as-of-command.js'
import { exportCommand } from '../../app/cli/analysis/export-command.js'
import { replayCommand } from '../../app/cli/analysis/replay-command.js'
import { readingLog } from '../../app/cli/analysis/log.js'
import { attributionCommand } from '../../app/cli/attribution/attribution-command.js'
import { E } from '../../domain/prelude.js'
import { personalFields } from '../../domain/personal-data.js'
import { bearer, having } from '../kit/network/http.js'
import { openReceiver, type Receiver } from '../kit/network/receiver.js'
import { launchLeadloop, launchLeadloopBy, runLeadloop } from '../kit/parts/leadloop.js'
import type { Ended } from '../kit/parts/program.js'
import { manage, openAccount, type Account, type SubmittedIds } from '../kit/service/account.js'
import { openDataDirectory } from '../kit/service/data-directory.js'
import { openPipe } from '../kit/parts/pipe.js'
import { openService, serviceFor, type Service } from '../kit/service/in-process-service.js'
import { configOf, operatorKey } from '../kit/service/settings.js'
import { deliveriesIn } from '../kit/service/subscription.js'
import { dataDirectory } from '../kit/service/data-directory.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'

type Line = {
  readonly position: number
  readonly type: string
  readonly stream: string
  readonly at: string
  readonly data: Readonly<Record<string, unknown>>
}

const directory = openDataDirectory()
let service: Service
let receiver: Receiver
let account: Account
let ids: SubmittedIds
/** What a replay of the whole log gives. The first delivery is retried at any time: a later one may go on further. */
let whole: Ended

/** Stands in every value of a person, in what is written of her, and in what a receiver says. */
const mark = 'Zauberwort'

const leadloop = (...args: ReadonlyArray<string>): Promise<Ended> =>
  runLeadloop(args, {
    DATA_DIR: directory.path,
    EVENTSTORE_URL: undefined,
    MONGODB_URL: undefined,
  })

const replay = (...args: ReadonlyArray<string>): Promise<Ended> => leadloop('replay', ...args)

const linesIn = (output: string): ReadonlyArray<Line> =>
  output
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line)

const asked = async (url: string, parameters = ''): Promise<IncomingMessage> => {
  const request = get(`${url}/manage/v1/events${parameters}`, { headers: bearer(operatorKey) })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

test.before(async () => {
  service = await openService(directory.path)
  receiver = await openReceiver()
  receiver.answer((n, response) => {
    response.writeHead(n === 1 ? 500 : 200).end(mark)
    return undefined
  })
  account = await openAccount(service)
  await account.manage('POST', '/members', { email: `${mark}@example.com`, role: 'admin' })
  const webhookId = await account.addWebhook({ url: `${receiver.url}/${mark}`, token: 'token-of-the-receiver' })
  ids = await account.submitted({
    first_name: mark,
    last_name: mark,
    email: `${mark}@example.com`,
    current_residence_address: mark,
    current_residence_city: mark,
    current_insurance_carrier: mark,
    tcpa_opt_in_token: mark,
    tcpa_opt_in_url: `https://consent.example/${mark}`,
    favourite_colour: mark,
    lead_id: mark,
  })
  await account.submitted()
  await account.report(ids.next_engagement_id, 'event', 'phone_call_missed', { note: mark, properties: { said: mark } })
  const { sold } = await account.standardConversions()
  having(await account.record(sold, { contact_id: ids.contact_id }), 'conversion_contact')
  await account.manage('POST', `/contacts/${ids.contact_id}/messages`, { text: mark })
  await deliveriesIn(account, webhookId, 'succeeded', 3)
  whole = await replay()
})

test.after.always(async () => {
  await receiver.close()
  await service.stop()
  await directory.remove()
})

test('a replay gives every event in its order, over HTTP the same lines as on the machine', async (t) => {
  const { code, stdout, stderr } = whole
  t.is(code, 0, stderr)
  const lines = linesIn(stdout)
  t.true(lines.length > 20)
  t.deepEqual(
    lines.map(({ position }) => position),
    lines.map(({ position }) => position).toSorted((one, other) => one - other),
  )
  t.is(await text(await asked(service.url, `?limit=${lines.length}`)), stdout)
  const rest = lines.slice(5)
  const after = String(lines[4]?.position)
  t.deepEqual(linesIn((await replay('--after', after)).stdout).slice(0, rest.length), rest)
  t.deepEqual(linesIn(await text(await asked(service.url, `?after=${after}&limit=3`))), rest.slice(0, 3))
})

test('no personal value is shown, and with --personal each that was recorded', async (t) => {
  t.false(whole.stdout.includes(mark))
  const personal = linesIn((await replay('--personal')).stdout).filter((line) => JSON.stringify(line).includes(mark))
  const listed = Object.entries(personalFields).flatMap(([type, fields]) => (fields.length > 0 ? [type] : []))
  t.deepEqual(
    [...new Set(personal.map(({ type }) => type))].toSorted(),
    listed
      .filter(
        // What is said of an activity stood in it once, and the playbook sends nothing.
        (type) =>
          ![
            'ActivityRecorded',
            'ContactDetailsChanged',
            'DeliveryAbandoned',
            'DeliveryResent',
            'MessageBegun',
            'MessageRequested',
            'WebhookChanged',
          ].includes(type),
      )
      .toSorted(),
  )
  t.true((await text(await asked(service.url, '?personal=true&limit=10000'))).includes(mark))
})

test('what concerns one contact can be taken alone', async (t) => {
  const lines = linesIn((await replay('--contact', ids.contact_id)).stdout)
  const types = lines.map(({ type }) => type)
  for (const type of [
    'LeadSubmitted',
    'ContactCreated',
    'EngagementStarted',
    'ConversionRecorded',
    'DeliverySucceeded',
  ])
    t.true(types.includes(type), type)
  t.is(types.filter((type) => type === 'LeadSubmitted').length, 1)
  const served = linesIn(await text(await asked(service.url, `?contact=${ids.contact_id}`)))
  t.deepEqual(served.slice(0, lines.length), lines)
})

test('CSV and Parquet hold what the lines hold, as other programs read them', async (t) => {
  const folder = temporaryDirectory(t)
  const lines = linesIn(whole.stdout)
  const csv = await replay('--format', 'csv')
  const rows = parse(csv.stdout, { columns: true }) as unknown as ReadonlyArray<Readonly<Record<string, string>>>
  t.deepEqual(
    rows
      .slice(0, lines.length)
      .map(({ position, data, at }) => ({ position: Number(position), data: JSON.parse(data ?? '') as unknown, at })),
    lines.map(({ position, data, at }) => ({ position, data, at })),
  )
  const file = join(folder, 'events.parquet')
  const { code, stderr } = await replay('--format', 'parquet', '--out', file)
  t.is(code, 0, stderr)
  const stored = (await parquetReadObjects({ file: await asyncBufferFromFile(file) })) as unknown as ReadonlyArray<
    Readonly<{ position: bigint; data: string; at: Date; type: string }>
  >
  t.deepEqual(
    stored.slice(0, lines.length).map(({ position, data, at, type }) => ({
      position: Number(position),
      data: JSON.parse(data) as unknown,
      at: at.toISOString(),
      type,
    })),
    lines.map(({ position, data, at, type }) => ({ position, data, at, type })),
  )
})

test('a file that follows the log grows while it is read', async (t) => {
  const file = join(temporaryDirectory(t), 'events.jsonl')
  const { stdout } = whole
  const settings = { DATA_DIR: directory.path, EVENTSTORE_URL: undefined }
  const following = launchLeadloop(['replay', '--follow', '--out', file], settings)
  await until('all that was', 30_000, () => existsSync(file) && readFileSync(file, 'utf8').startsWith(stdout))
  following.signal('SIGTERM')
  t.deepEqual(await following.exited, { code: 0, signal: null })
  t.true(readFileSync(file, 'utf8').startsWith(stdout))
})

test('where an event cannot be read the file holds what comes before it', async (t) => {
  const other = dataDirectory(t)
  const stopped = await openService(other)
  await openAccount(stopped)
  await stopped.stop()
  const database = new Database(join(other, 'leadloop.db'))
  const { position } = database.prepare('SELECT max(position) AS position FROM events').get() as { position: number }
  database.prepare("UPDATE events SET type = 'NoSuchEvent' WHERE position = ?").run(position)
  database.close()
  const file = join(temporaryDirectory(t), 'events.jsonl')
  const settings = { DATA_DIR: other, EVENTSTORE_URL: undefined }
  const ended = await runLeadloop(['replay', '--out', file], settings)
  t.is(ended.code, 1)
  t.true(ended.stderr.includes(`--after ${position} goes on after it`), ended.stderr)
  t.is(linesIn(readFileSync(file, 'utf8')).at(-1)?.position, position - 1)
})

test('what a contact was at a moment is told with what came later, and what changed between two', async (t) => {
  const settings = { DATA_DIR: directory.path, EVENTSTORE_URL: undefined }
  const [created] = linesIn((await replay('--contact', ids.contact_id, '--type', 'ContactCreated')).stdout)
  const told = await runLeadloop(['as-of', ids.contact_id, String(created?.position)], settings)
  t.is(told.code, 0, told.stderr)
  const then = JSON.parse(told.stdout) as { readonly state: Line['data']; readonly since: ReadonlyArray<Line> }
  t.deepEqual(then.state['records'], [])
  t.true(then.since.some(({ type }) => type === 'ContactConverted'))
  t.false(told.stdout.includes(mark))
  const now = new Date().toISOString()
  const changed = await runLeadloop(['diff', ids.contact_id, String(created?.position), now], settings)
  t.deepEqual(
    Object.keys((JSON.parse(changed.stdout) as { readonly changed: object }).changed).includes('records'),
    true,
  )
  t.regex(await refusalOf(t, asOfCommand, ['contact-1', now]), /must be the id of an account/)
})

test('what a message and a playbook were at a moment is told by their ids', async (t) => {
  const [received] = linesIn((await replay('--contact', ids.contact_id, '--type', 'MessageReceived')).stdout)
  const now = new Date().toISOString()
  for (const [id, kind] of [
    [String(received?.data['message_id']), 'received'],
    [account.playbookId, 'created'],
  ] as const) {
    const told = await leadloop('as-of', id, now)
    t.is(told.code, 0, told.stderr)
    t.is((JSON.parse(told.stdout) as { readonly state: Line['data'] }).state['kind'], kind)
    t.false(told.stdout.includes(mark))
  }
})

test('an export beside the service shows no personal value, and with --personal each of a contact and an activity', async (t) => {
  const folder = temporaryDirectory(t)
  const { code, stdout, stderr } = await leadloop('export', '--out', folder)
  t.is(code, 0, stderr)
  t.is(stdout, '')
  const files = readdirSync(folder)
  t.is(files.filter((name) => name.endsWith('.csv')).length, 9)
  for (const name of files) t.false(readFileSync(join(folder, name)).includes(mark), name)
  const rowsOf = (name: string): ReadonlyArray<Readonly<Record<string, string>>> =>
    parse(readFileSync(join(folder, `${name}.csv`), 'utf8'), { columns: true })
  t.is(rowsOf('leads').length, 2)
  t.true(rowsOf('deliveries').filter(({ state }) => state === 'succeeded').length >= 3)

  const tables = ['--tables', 'contacts,activities', '--personal']
  t.is((await leadloop('export', '--out', folder, ...tables)).code, 0)
  const [contact = {}] = rowsOf('contacts').filter(({ contact_id }) => contact_id === ids.contact_id)
  t.deepEqual([contact['first_name'], contact['last_name'], contact['email']], [mark, mark, `${mark}@example.com`])
  const told = rowsOf('activities').filter(({ note }) => note === mark)
  t.deepEqual(
    told.map(({ properties = '' }) => JSON.parse(properties) as unknown),
    [{ said: mark }],
  )
})

/** What a command says of a wrong use; the program does nothing else with it, and ends with 2. */
const refusalOf = async (t: ExecutionContext, command: Command, args: ReadonlyArray<string>): Promise<string> => {
  command.exitOverride().configureOutput({ writeErr: () => undefined })
  const parsed = command.parseAsync(args, { from: 'user' })
  return (await t.throwsAsync(parsed, { instanceOf: CommanderError }, args.join(' '))).message
}

test('a wrong use of export names the option', async (t) => {
  const refusal = await refusalOf(t, exportCommand, ['--out', 'x', '--tables', 'leads,people'])
  t.regex(refusal, /--tables.*leads, contacts, engagements, activities, conversions, touches, sources, deliveries/)
})

test('a wrong use of attribution names the option', async (t) => {
  for (const wrong of [
    ['--account', 'bogus'],
    ['--label', 'Sold'],
    ['--label', 'sold,,quoted'],
  ] as const) {
    t.true((await refusalOf(t, attributionCommand, wrong)).includes(wrong[0]))
  }
})

test('a wrong use of replay names the option', async (t) => {
  for (const wrong of [
    ['--after', 'x'],
    ['--from', 'yesterday'],
    ['--category', 'leads'],
    ['--type', 'Lead'],
    // As of a variable of the shell that is not set: without the option everything would be written.
    ['--correlation', ''],
    ['--nothing'],
  ] as const) {
    t.true((await refusalOf(t, replayCommand, wrong)).includes(wrong[0]))
  }
  t.true((await refusalOf(t, replayCommand, ['--format', 'parquet'])).includes('--out'))
})

test('a wrong use ends with 2, a folder without a log with 1, and both say why', async (t) => {
  const wrong = await replay('--after', 'x')
  t.is(wrong.code, 2)
  t.is(wrong.stdout, '')
  t.true(wrong.stderr.includes('--after'), wrong.stderr)
  const nowhere = join(temporaryDirectory(t), 'nowhere')
  const ended = await runLeadloop(['replay'], { DATA_DIR: nowhere, EVENTSTORE_URL: undefined })
  t.is(ended.code, 1)
  t.is(ended.stderr, `leadloop can't replay. DATA_DIR: there is no ${join(nowhere, 'leadloop.db')}.\n`)
})

test('a position beyond the end of the log is refused, as it is where the log was set back to a backup', async (t) => {
  const beyond = ['--after', String(2 ** 50)]
  for (const args of [beyond, [...beyond, '--follow']]) {
    const { code, stdout, stderr } = await replay(...args)
    t.is(code, 1)
    t.is(stdout, '')
    t.regex(
      stderr,
      /^leadloop can't replay\. --after: the log ends at position \d+; it was set back, or this is another log\.$/m,
    )
  }
  for (const parameters of [`?after=${2 ** 50}`, `?after=${2 ** 50}&follow=true`]) {
    const response = await asked(service.url, parameters)
    t.is(response.statusCode, 400)
    t.regex(
      await text(response),
      /^\{"errors":\["after: the log ends at position \d+; it was set back, or this is another log"\]\}$/,
    )
  }
  const last = linesIn((await replay()).stdout).at(-1)?.position
  t.is((await replay('--after', String(last))).code, 0)
  t.is((await asked(service.url, `?after=${last}`)).statusCode, 200)
})

test('a file that can not be written ends a replay with 1 and a sentence, whatever is selected', async (t) => {
  const file = join(temporaryDirectory(t), 'nowhere', 'events.jsonl')
  for (const selected of [[], ['--type', 'ConversionDefined'], ['--follow']]) {
    const ended = await replay('--out', file, ...selected)
    t.is(ended.code, 1, selected.join(' '))
    t.regex(ended.stderr, /^leadloop can't replay\. --out: ENOENT/, selected.join(' '))
  }
})

test('nothing stays of a replay that can not be put in its place', async (t) => {
  const folder = temporaryDirectory(t)
  mkdirSync(join(folder, 'taken'))
  for (const format of ['jsonl', 'csv', 'parquet']) {
    const ended = await replay('--type', 'AccountOpened', '--format', format, '--out', join(folder, 'taken'))
    t.is(ended.code, 1, format)
    t.regex(ended.stderr, /^leadloop can't replay\. --out: .*directory/, format)
    t.deepEqual(readdirSync(folder), ['taken'], format)
  }
})

test('a replay goes through a pipe that is named, and leaves it there', async (t) => {
  const pipe = join(temporaryDirectory(t), 'pipe')
  const read = openPipe(t, pipe)
  const wanted = ['--type', 'AccountOpened']
  const ended = await replay(...wanted, '--out', pipe)
  t.is(ended.code, 0, ended.stderr)
  t.true(lstatSync(pipe).isFIFO())
  t.is(read(), (await replay(...wanted)).stdout)
})

/** Takes nothing that is written to it, as a disk that is full; not every system has it. */
const fullDisk = '/dev/full'
const whereThereIsOne = existsSync(fullDisk) ? test : test.skip

whereThereIsOne('standard output that takes nothing any more ends a replay with 1 and a sentence', async (t) => {
  const { exited, stderr } = launchLeadloopBy(`exec "$0" "$@" > ${fullDisk}`, ['replay'], {
    DATA_DIR: directory.path,
    EVENTSTORE_URL: undefined,
  })
  t.is((await exited).code, 1)
  t.regex(stderr(), /^leadloop can't write to standard output\. ENOSPC/)
})

whereThereIsOne('a file that finds no more room ends a replay that follows with 1 and a sentence', async (t) => {
  // Little at a time: so little that a stream would take it and fail later.
  const follow = ['--follow', '--type', 'AccountOpened', '--out', fullDisk]
  for (const [format, whatFailed] of Object.entries({ jsonl: '', csv: '--out: ' })) {
    const ended = await replay(...follow, '--format', format)
    t.is(ended.code, 1)
    t.is(ended.stderr, `leadloop can't replay. ${whatFailed}ENOSPC: no space left on device, write.\n`)
  }
})

test('who is told nothing any more gets the exit code that was due', async (t) => {
  const closed = 'exec 3>&1; { "$0" "$@" 2>&1; echo "ended with $?" >&3; } | true'
  const { said } = launchLeadloopBy(closed, ['replay', '--after', 'x'], { DATA_DIR: directory.path })
  t.is(await said(/^ended with (\d)$/m), '2')
})

test('the version is told', async (t) => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { readonly version: string }
  t.like(await leadloop('--version'), { code: 0, stdout: `${version}\n`, stderr: '' })
})

test('a signal that comes twice, from the terminal and once more from npm, ends a command in order', async (t) => {
  const before = process.listenerCount('SIGINT')
  const config = configOf(directory.path)
  const ended = await readingLog(config, (_, { signal }) => {
    process.emit('SIGINT')
    t.true(signal.aborted)
    t.true(process.listenerCount('SIGINT') > before, 'the system would end the process')
    return Promise.reject(new Error('aborted'))
  })
  t.deepEqual(ended, E.left('It was stopped.'))
})

test('an export that finds no more room says which file could not be written, and the next one goes on', async (t) => {
  const folder = temporaryDirectory(t)
  const into = ['export', '--out', folder]
  const { exited, stderr } = launchLeadloopBy('ulimit -f 24; exec "$0" "$@"', into, {
    DATA_DIR: directory.path,
    EVENTSTORE_URL: undefined,
  })
  t.is((await exited).code, 1)
  t.regex(
    stderr(),
    /^leadloop can't export\. .*Could not write file ".*leadloop-staging\.duckdb.*": File too large\.$/m,
  )
  const { code } = await leadloop(...into, '--continue')
  t.is(code, 0)
  t.true(existsSync(join(folder, 'leads.csv')))
})

test('nothing is written to the file of a replay once it has its name, in whichever format', async (t) => {
  const folder = temporaryDirectory(t)
  const changed = new Set<string | null>()
  const watcher = watch(folder, (event, name) => event === 'change' && changed.add(name))
  t.teardown(() => watcher.close())
  const files = ['jsonl', 'csv', 'parquet'].map((format) => [format, `log.${format}`] as const)
  for (const [format, name] of files) {
    const ended = await replay('--type', 'AccountOpened', '--format', format, '--out', join(folder, name))
    t.is(ended.code, 0, ended.stderr)
    t.true(existsSync(join(folder, name)))
  }
  writeFileSync(join(folder, 'last'), 'x')
  await until('all changes are seen', 30_000, () => changed.has('last'))
  for (const [, name] of files) t.false(changed.has(name), name)
})

test('nothing stays of the tables of an attribution for which there is no room at all', async (t) => {
  const folder = temporaryDirectory(t)
  const { exited, stderr } = launchLeadloopBy('ulimit -f 1; exec "$0" "$@"', ['attribution', '--label', 'sold'], {
    DATA_DIR: directory.path,
    EVENTSTORE_URL: undefined,
    TMPDIR: folder,
  })
  t.is((await exited).code, 1)
  t.regex(stderr(), /^leadloop can't compute the attribution\. .*tables\.duckdb.*: File too large\.$/m)
  t.deepEqual(readdirSync(folder), [])
})

test('an option of the event store that would lose events is refused by a replay with the sentence of a start', async (t) => {
  const settings = { EVENTSTORE_URL: 'esdb://ada:pass-word@127.0.0.1:9?tls=false&nodePreference=follower' }
  const ended = await runLeadloop(['replay'], settings)
  t.is(ended.code, 1)
  t.is(
    ended.stderr,
    "leadloop can't replay. EVENTSTORE_URL: the option nodePreference must be leader, or be left out.\n",
  )
})

test('over HTTP a wrong parameter is named, and only the operator is answered', async (t) => {
  for (const [name, value] of [
    ['after', '-1'],
    ['limit', '0'],
    ['category', 'leads'],
    ['type', 'Lead'],
    ['follow', 'yes'],
    ['account', 'x'],
  ] as const) {
    const response = await asked(service.url, `?${name}=${value}`)
    t.is(response.statusCode, 400)
    const [error = ''] = (JSON.parse(await text(response)) as { readonly errors: ReadonlyArray<string> }).errors
    t.true(error.startsWith(`${name} must be `), error)
  }
  t.is((await manage(service, 'GET', '/events?limit=1')).status, 200)
  const [unknown] = (await once(get(`${service.url}/manage/v1/events`), 'response')) as [IncomingMessage]
  t.is(unknown.statusCode, 403)
  unknown.resume()
})

test('who follows over HTTP gets what happens later, and the end when the service stops', async (t) => {
  const other = await serviceFor(t, dataDirectory(t))
  const followed = await openAccount(other)
  const response = await asked(other.url, '?follow=true&type=LeadSubmitted')
  t.is(response.headers['content-type'], 'application/x-ndjson; charset=utf-8')
  const { lead_id } = await followed.submitted()
  const [chunk] = (await once(response, 'data')) as [Buffer]
  t.deepEqual(
    linesIn(chunk.toString()).map(({ stream }) => stream),
    [`lead-${lead_id}`],
  )
  const ended = once(response, 'end')
  await other.stop()
  await ended
  t.true(response.complete)
})
