import test from 'ava'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openDuckDb } from '../../../adapters/duckdb/database.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { attributionText } from '../../../app/analysis/attribution/attribution-output.js'
import { attributionQuery } from '../../../app/analysis/attribution/attribution-query.js'
import { tableNames } from '../../../app/analysis/tables/tidy-tables.js'
import { exportTables } from '../../../app/cli/analysis/export-files.js'
import { attributionCommand } from '../../../app/cli/attribution/attribution-command.js'
import { attributionOf, figuresOf } from '../../../app/cli/attribution/attribution.js'
import { neverAborted } from '../../../domain/abortable.js'
import { E } from '../../../domain/prelude.js'
import { eventfulHistory } from '../../kit/domain/histories.js'
import { writeHistory } from '../../kit/domain/lively-history.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { runLeadloop } from '../../kit/parts/leadloop.js'
import type { Ended } from '../../kit/parts/program.js'
import { openEventStoreDb } from '../../kit/stores/eventstoredb.js'
import { openIn } from '../../kit/stores/sqlite.js'
import { openTemporaryDirectory, temporaryDirectory } from '../../kit/temporary-directory.js'

const history = eventfulHistory(1)
const request = { model: 'last-touch', by: 'source', halfLife: 7, window: 90 } as const
const directory = openTemporaryDirectory()

const attribution = (dataDir: string, ...args: ReadonlyArray<string>): Promise<Ended> =>
  runLeadloop(['attribution', ...args], {
    DATA_DIR: dataDir,
    EVENTSTORE_URL: undefined,
    MONGODB_URL: undefined,
  })

test.before(async () => {
  const database = await openIn(directory.path)
  await writeHistory(sqliteEventStore(database), history)
  await database.close()
})

test.after.always(() => directory.remove())

test('an attribution of one history is the same bytes from the embedded store and from EventStoreDB', async (t) => {
  const { store } = await openEventStoreDb(t)
  await writeHistory(store, history)
  const rows = await attributionOf(store, request, undefined, neverAborted)
  t.true(rows.some(({ leads, conversions, key }) => leads > 0n && conversions > 0n && key.startsWith('mks_')))
  const { code, stdout, stderr } = await attribution(directory.path, '--format', 'json')
  t.is(code, 0, stderr)
  t.is(stdout, attributionText(rows, 'json', 'source'))
})

test('as of a time the figures are those of what was recorded by then', async (t) => {
  const asOf = history[Math.floor(history.length / 2)]?.time
  const recorded = history.filter(({ time }) => asOf !== undefined && time <= asOf)
  const store = await writeHistory(memoryEventStore(memoryLog()), recorded)
  const rows = await attributionOf(store, request, undefined, neverAborted)
  const { code, stdout, stderr } = await attribution(directory.path, '--as-of', String(asOf), '--format', 'csv')
  t.is(code, 0, stderr)
  t.is(stdout, attributionText(rows, 'csv', 'source'))
  const whole = await writeHistory(memoryEventStore(memoryLog()), history)
  t.not(stdout, attributionText(await attributionOf(whole, request, undefined, neverAborted), 'csv', 'source'))
})

test('the SQL that is printed gives the same figures over an export', async (t) => {
  const folder = temporaryDirectory(t)
  const costs = join(folder, 'costs.csv')
  const [source = ''] = history.flatMap((event) =>
    event.type === 'MarketingSourceCreated' ? event.data.source_id : [],
  )
  writeFileSync(costs, `source_id,from,to,cost_per_lead\n${source},,,1250\n`)
  const asked = ['--model', 'time-decay', '--half-life', '0.5', '--window', '30', '--by', 'week', '--costs', costs]
  const { code, stdout, stderr } = await attribution(join(folder, 'nowhere'), ...asked, '--explain')
  t.is(code, 0, stderr)
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const exported = { folder, format: 'duckdb', tables: tableNames, isPersonalShown: false, isContinued: false } as const
  t.deepEqual(await exportTables(store, { ...exported, asOf: undefined }, neverAborted), E.right(undefined))
  const { connection, close } = await openDuckDb(join(folder, 'leadloop.duckdb'))
  t.teardown(close)
  const given = { model: 'time-decay', halfLife: 0.5, window: 30, by: 'week' } as const
  t.is(stdout, attributionQuery({ ...given, costs: [{ sourceId: source, cents: 1250 }] }))
  t.true(stdout.endsWith(readFileSync('app/analysis/attribution/attribution.sql', 'utf8')))
  const rows = await figuresOf(connection, stdout)
  t.true(rows.some(({ cost_cents }) => cost_cents !== null && cost_cents > 0n))
  t.is((await attribution(directory.path, ...asked, '--format', 'csv')).stdout, attributionText(rows, 'csv', 'week'))
})

test('a wrong use is named, and ends with 2', async (t) => {
  attributionCommand.exitOverride().configureOutput({ writeErr: () => undefined })
  for (const args of [
    ['--by', 'colour'],
    ['--half-life', '0'],
    ['--window', '-1'],
    ['--label', 'sold,'],
    ['--from', 'yesterday'],
    ['--format', 'parquet'],
  ] as const) {
    const error = await t.throwsAsync(attributionCommand.parseAsync(args, { from: 'user' }))
    t.true(error.message.includes(args[0]), error.message)
  }
  const { code, stdout, stderr } = await attribution(directory.path, '--model', 'best')
  t.is(code, 2)
  t.is(stdout, '')
  t.true(stderr.includes('--model'), stderr)
})

test('a folder without a log, and costs that cannot be read, end with 1 and say why', async (t) => {
  const folder = temporaryDirectory(t)
  const costs = join(folder, 'costs.csv')
  writeFileSync(costs, `source_id,from,to,cost_per_lead\nmks_${'A'.repeat(26)},,,12.50\n`)
  const wrong = await attribution(directory.path, '--costs', costs)
  t.is(wrong.code, 1)
  t.is(
    wrong.stderr,
    `leadloop can't compute the attribution. --costs: ${costs}, line 2: cost_per_lead must be a whole number of cents.\n`,
  )
  const missing = await attribution(directory.path, '--costs', join(folder, 'none.csv'))
  t.is(missing.code, 1)
  t.true(missing.stderr.includes('--costs: ENOENT'), missing.stderr)
  const nowhere = await attribution(join(folder, 'nowhere'))
  t.is(nowhere.code, 1)
  t.true(nowhere.stderr.includes('DATA_DIR'), nowhere.stderr)
})

test('costs of sources that the log does not have are named', async (t) => {
  const costs = join(temporaryDirectory(t), 'costs.csv')
  const [source = ''] = history.flatMap((event) =>
    event.type === 'MarketingSourceCreated' ? event.data.source_id : [],
  )
  const [one, other] = [`mks_${'A'.repeat(26)}`, `mks_${'B'.repeat(26)}`]
  writeFileSync(
    costs,
    `source_id,from,to,cost_per_lead\n${other},,,3\n${one},,2026-02-01,1\n${source},,,1250\n${one},2026-02-01,,2\n`,
  )
  const { code, stdout, stderr } = await attribution(directory.path, '--costs', costs, '--format', 'csv')
  t.is(code, 0)
  t.true(stderr.includes(`--costs: the log has no ${other}, ${one}.\n`), stderr)
  t.true(stdout.startsWith('key,title,leads'))
})

test('a range that ends before it begins is a wrong use', async (t) => {
  const range = ['--from', '2026-02-01', '--to', '2026-01-01']
  for (const command of [
    ['attribution'],
    ['report', '--out', join(temporaryDirectory(t), 'report.html')],
    ['replay'],
  ]) {
    const { code, stderr } = await runLeadloop([...command, ...range], { DATA_DIR: directory.path })
    t.is(code, 2, command[0])
    t.true(stderr.startsWith('error: --to must be later than --from'), stderr)
  }
})
