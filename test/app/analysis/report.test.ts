import test from 'ava'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { openLogReader } from '../../../adapters/sqlite/log-reader.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import {
  attributionModels,
  attributionQuery,
  type AttributionRequest,
} from '../../../app/analysis/attribution/attribution-query.js'
import type { AttributionRow } from '../../../app/analysis/attribution/attribution-output.js'
import { countText, moneyText, percentText } from '../../../app/analysis/report/wording.js'
import { loadTables } from '../../../app/cli/analysis/load-tables.js'
import { figuresOf } from '../../../app/cli/attribution/attribution.js'
import { reportCommand } from '../../../app/cli/report/report-command.js'
import { reportOf } from '../../../app/cli/report/report.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { Position } from '../../../domain/event.js'
import type { AccountId } from '../../../domain/ids.js'
import { instantOf, later, type Instant } from '../../../domain/instant.js'
import type { LogReader } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { eventfulHistory, type History } from '../../kit/domain/histories.js'
import { writeHistory } from '../../kit/domain/lively-history.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { runLeadloop } from '../../kit/parts/leadloop.js'
import type { Ended } from '../../kit/parts/program.js'
import { rightOf } from '../../kit/right-of.js'
import { openEventStoreDb } from '../../kit/stores/eventstoredb.js'
import { openIn } from '../../kit/stores/sqlite.js'
import { openTemporaryDirectory, temporaryDirectory } from '../../kit/temporary-directory.js'
import { turnTime } from '../../kit/time/turns.js'

/** The same value with every text in it turned into another. */
const withTexts = <Value>(value: Value, turn: (text: string) => string): Value => {
  if (typeof value === 'string') return turn(value) as Value
  if (Array.isArray(value)) return value.map((one: unknown) => withTexts(one, turn)) as Value
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withTexts(one, turn)])) as Value
}

const isTime = (text: string): boolean => /^\d{4}-\d{2}-\d{2}T/.test(text)

const start = Date.parse('2025-03-01T00:00:00.000Z')

/** Some weeks of what happens within minutes, with calls, and sales that are worth something. */
const stretched = (history: History): History => {
  const first = Date.parse(history[0]?.time ?? '')
  return history.map((event, n) => {
    const { position, ...rest } = event
    const moved = withTexts(rest, (text) => {
      if (text === 'phone_call_connected') return 'phone_call_started'
      return isTime(text) ? instantOf(start + (Date.parse(text) - first) * 10_000) : text
    })
    const isSale = moved.type === 'ConversionRecorded' && moved.data.label === 'sold'
    const data = isSale ? { ...moved.data, value: 100_001 + n } : moved.data
    return { ...moved, data, position } as History[number]
  })
}

const history = stretched(eventfulHistory(1))
const madeAt = later(history.at(-1)?.time ?? instantOf(start), 1)
const directory = openTemporaryDirectory()
let log: LogReader
let tables: Awaited<ReturnType<typeof loadTables>>
let page: string
const told: Array<Position> = []

test.before(async () => {
  log = await logOf(history)
  tables = await loadTables(log, { isPersonalShown: false }, neverAborted)
  page = await reported(log, {}, (position) => told.push(position))
  const database = await openIn(directory.path)
  await writeHistory(sqliteEventStore(database), history)
  await database.close()
})

test.after.always(async () => {
  await tables.close()
  await directory.remove()
})

const logOf = (events: History): Promise<LogReader> => writeHistory(memoryEventStore(memoryLog()), events)

type Asked = Parameters<typeof reportOf>[1]

const reported = async (
  from: LogReader,
  asked: Partial<Asked> = {},
  onPosition?: (position: Position) => void,
): Promise<string> => {
  const made = await reportOf(from, { madeAt, ...asked }, neverAborted, onPosition)
  if (E.isLeft(made)) throw new Error(made.left)
  return made.right
}

/** In an order of its own. */
const sorted = <Value>(pairs: Iterable<readonly [string, Value]>): ReadonlyArray<readonly [string, Value]> =>
  [...pairs].toSorted(([one], [other]) => (one < other ? -1 : 1))

const leadloop = (args: ReadonlyArray<string>, settings: Readonly<Record<string, string>> = {}): Promise<Ended> =>
  runLeadloop(['report', ...args], {
    DATA_DIR: directory.path,
    EVENTSTORE_URL: undefined,
    MONGODB_URL: undefined,
    ...settings,
  })

const plain = (html: string): string =>
  html
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')

/** The cells of each row of the table whose caption begins so: that of the headings first, that of the sums last. */
const tableOf = (html: string, caption: string): ReadonlyArray<ReadonlyArray<string>> => {
  const tables = [...html.matchAll(/<table>\n<caption>([^<]*)<\/caption>([\s\S]*?)<\/table>/g)]
  const found = tables.filter(([, text = '']) => plain(text).startsWith(caption))
  if (found.length !== 1) throw new Error(`${found.length} tables are called ${caption}`)
  const rows = [...(found[0]?.[2] ?? '').matchAll(/<tr>(.*?)<\/tr>/g)]
  return rows.map(([, row = '']) => [...row.matchAll(/<t[hd][^>]*>([^<]*)</g)].map(([, cell = '']) => plain(cell)))
}

const titles = new Map(
  history.flatMap((event) =>
    event.type === 'MarketingSourceCreated' ? [[event.data.source_id as string, event.data.title] as const] : [],
  ),
)

type Row = Readonly<Record<string, unknown>>

/** A table as an export writes it. */
const exported = async (name: 'leads' | 'activities' | 'deliveries'): Promise<ReadonlyArray<Row>> =>
  (await tables.connection.runAndReadAll(`FROM ${name}`)).getRowObjectsJson()

const countBy = (rows: ReadonlyArray<Row>, keyOf: (row: Row) => string): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const row of rows) counts.set(keyOf(row), (counts.get(keyOf(row)) ?? 0) + 1)
  return counts
}

const sold = { labels: ['sold'], halfLife: 7, window: 90 } as const

const attributed = (
  asked: Pick<AttributionRequest, 'model' | 'by'> & Partial<Asked>,
): Promise<ReadonlyArray<AttributionRow>> => figuresOf(tables.connection, attributionQuery({ ...sold, ...asked }))

test('a report of one history is the same bytes from the embedded store and from EventStoreDB, in whatever time zone', async (t) => {
  const { store } = await openEventStoreDb(t)
  const asked = { to: madeAt }
  const server = await reported(await writeHistory(store, history), asked)
  const { log: embedded, close } = rightOf(openLogReader(directory.path, turnTime))
  t.teardown(close)
  t.is(await reported(embedded, asked), server)
  t.is(await reported(embedded, asked), server)
  const file = join(temporaryDirectory(t), 'report.html')
  const { code, stdout, stderr } = await leadloop(['--out', file, '--to', madeAt], { TZ: 'America/Los_Angeles' })
  t.is(code, 0, stderr)
  t.is(stdout, '')
  const withoutMaking = (html: string): string => html.replace(/<dt>Made<\/dt><dd>[^<]*/, '')
  t.is(withoutMaking(readFileSync(file, 'utf8')), withoutMaking(server))
  t.false(existsSync(`${file}.part`))
})

test('leads by day and source are those of an export', async (t) => {
  const [headings = [], ...rows] = tableOf(page, 'Leads by day')
  const leads = await exported('leads')
  t.true(leads.length > 50)
  const shown = headings.slice(1, -2)
  t.is(shown.length, 7)
  const nameOf = (row: Row): string => {
    const title = titles.get(String(row['source_id'])) ?? ''
    return shown.includes(title) ? title : String(headings.at(-2))
  }
  const counts = countBy(leads, (row) => `${String(row['submitted_at']).slice(0, 10)} ${nameOf(row)}`)
  const cells = rows
    .slice(0, -1)
    .flatMap(([day = '', ...figures]) =>
      figures.slice(0, -1).map((figure, n) => [`${day} ${headings[n + 1] ?? ''}`, Number(figure)] as const),
    )
  t.deepEqual(sorted(cells.filter(([, count]) => count > 0)), sorted(counts))
  t.true(new Set(cells.map(([key]) => key.slice(0, 10))).size > 5)
  t.is(Number(rows.at(-1)?.at(-1)), leads.length)
})

test('more days than a chart has room for are counted by week', async (t) => {
  const slow = history.map((event) =>
    withTexts(event, (text) => (isTime(text) ? instantOf(start + (Date.parse(text) - start) * 10) : text)),
  )
  const html = await reported(await logOf(slow), { madeAt: instantOf(start * 2) })
  t.true(html.includes('Leads by week and source'))
  const [, ...rows] = tableOf(html, 'Leads by week')
  for (const [day = ''] of rows.slice(0, -1)) t.is(new Date(day).getUTCDay(), 1, day)
  t.is(rows.at(-1)?.at(-1), tableOf(page, 'Leads by day').at(-1)?.at(-1))
})

test('the funnel counts the leads that have an activity of each label', async (t) => {
  const activities = await exported('activities')
  const [, [, , leads] = [], ...rows] = tableOf(page, 'Leads with at least one activity')
  t.is(Number(leads), (await exported('leads')).length)
  const pairs = new Set(activities.map((row) => `${String(row['lead_id'])} ${String(row['label'])}`))
  const counts = countBy(
    [...pairs].map((pair) => ({ label: pair.split(' ')[1]?.replaceAll('_', ' ') })),
    ({ label }) => String(label),
  )
  t.deepEqual(sorted(rows.map(([label = '', , count]) => [label, Number(count)] as const)), sorted(counts))
})

test('revenue by source is that of each model of attribution, and the sums are equal', async (t) => {
  const [headings = [], ...rows] = tableOf(page, 'Revenue')
  t.deepEqual(headings.slice(1), [...attributionModels])
  for (const [n, model] of attributionModels.entries()) {
    const attribution = await attributed({ model, by: 'source' })
    const figures = rows.slice(0, -1).map((cells) => [cells[0] ?? '', cells[n + 1] ?? ''] as const)
    const expected = attribution.map(
      ({ key, value_cents }) => [titles.get(key) ?? key, moneyText(value_cents)] as const,
    )
    t.deepEqual(sorted(figures), sorted(expected), model)
  }
  const sums = new Set(rows.at(-1)?.slice(1))
  t.is(sums.size, 1)
  t.true(Number([...sums][0]?.replaceAll(',', '')) > 1_000)
})

test('cohorts and rates by the time to first contact are those of attribution', async (t) => {
  const rates = (rows: ReadonlyArray<AttributionRow>): ReadonlyArray<ReadonlyArray<string>> =>
    rows
      .filter(({ contacts }) => contacts > 0n)
      .map(({ leads, contacts, converted, rate }) => [
        ...[leads, contacts, converted].map(countText),
        percentText(rate),
      ])
  const weeks = await attributed({ model: 'last-touch', by: 'week' })
  const [, ...cohorts] = tableOf(page, 'Weeks')
  t.true(cohorts.length > 1)
  t.deepEqual(
    cohorts.map(([week]) => week),
    weeks.map(({ key }) => key),
  )
  t.deepEqual(
    cohorts.filter(([, , contacts]) => contacts !== '0').map((cells) => cells.slice(1, 5)),
    rates(weeks),
  )
  const waits = await attributed({ model: 'last-touch', by: 'first-contact' })
  const [, ...waited] = tableOf(page, 'Leads by the time until')
  t.true(waited.length > 1)
  t.deepEqual(
    waited.map((cells) => cells.slice(1, 5)),
    rates(waits),
  )
})

test('deliveries by state and by attempts are those of an export', async (t) => {
  const deliveries = await exported('deliveries')
  const cellsOf = (caption: string): ReadonlyArray<readonly [string, number]> => {
    const [headings = [], ...rows] = tableOf(page, caption)
    const cells = rows.flatMap(([webhook = '', ...figures]) =>
      figures.slice(0, -1).map((figure, n) => [`${webhook} ${headings[n + 1] ?? ''}`, Number(figure)] as const),
    )
    return sorted(cells.filter(([, count]) => count > 0))
  }
  t.deepEqual(
    cellsOf('Deliveries by state'),
    sorted(countBy(deliveries, ({ webhook_id, state }) => `${String(webhook_id)} ${String(state)}`)),
  )
  const attemptsText = (attempts: number): string => {
    if (attempts === 0) return 'not tried'
    if (attempts < 3) return attempts === 1 ? '1 attempt' : '2 attempts'
    return attempts < 6 ? '3 to 5' : '6 or more'
  }
  t.deepEqual(
    cellsOf('Deliveries by their attempts'),
    sorted(
      countBy(deliveries, ({ webhook_id, attempts }) => `${String(webhook_id)} ${attemptsText(Number(attempts))}`),
    ),
  )
  t.true(
    tableOf(page, 'Delay').some(([, delivered, median]) => delivered !== '0' && / (ms|s|min|h|d)$/.test(median ?? '')),
  )
})

test('a range and an account choose leads, sales and deliveries as they do for attribution', async (t) => {
  const [from, to] = [later(history[300]?.time ?? madeAt, 0), later(history[900]?.time ?? madeAt, 0)]
  const lead = history.find((event) => event.type === 'LeadSubmitted')
  const accountId = lead?.type === 'LeadSubmitted' ? lead.data.account_id : ('' as AccountId)
  const asked = { from, to, accountId }
  const html = await reported(log, asked)
  const leads = (await attributed({ ...asked, model: 'last-touch', by: 'source' })).reduce(
    (all, row) => all + row.leads,
    0n,
  )
  t.true(leads > 0n && leads < BigInt((await exported('leads')).length))
  t.is(tableOf(html, 'Leads by day').at(-1)?.at(-1), String(leads))
  t.true(html.includes(`<dd>Account 1 (${accountId})</dd>`))
  const time = (at: Instant): string => `${at.slice(0, 10)} ${at.slice(11, 19)} UTC`
  t.true(html.includes(`<dd>from ${time(from)} on, before ${time(to)}</dd>`))
  t.true(html.includes(`<dt>Made</dt><dd>${time(madeAt)}</dd>`))
})

test('what was recorded by a clock that is ahead of this one is in it', async (t) => {
  const withoutMaking = (html: string): string => html.replace(/<dt>Made<\/dt><dd>[^<]*/, '')
  t.is(withoutMaking(await reported(log, { madeAt: instantOf(0) })), withoutMaking(page))
})

test('the file loads nothing, runs nothing and holds no personal value', (t) => {
  t.true((page.match(/<svg /g) ?? []).length >= 8)
  t.notRegex(
    page,
    /<(script|link|img|image|iframe|object|embed|base|a|use)\b|@import|@font-face|\burl\(|\bon\w+=|\b(src|href)=/i,
  )
  t.notRegex(page.replaceAll(/ xmlns(:\w+)?="[^"]*"/g, ''), /:\/\//)
  for (const event of history) {
    if (event.type !== 'LeadSubmitted') continue
    const { email, phone } = event.data.details
    t.false(page.includes(phone) || page.includes(email))
  }
  t.false(page.includes('NaN') || page.includes('undefined') || page.includes('null'))
})

test('an empty log gives a report that says so', async (t) => {
  const html = await reported(await logOf([]))
  t.true(html.includes('Nothing was recorded in this range: no lead, no sale and no delivery.'))
  t.true(html.includes('<dd>none</dd>'))
  t.false(html.includes('<svg') || html.includes('<table'))
})

test('a title is text, whatever stands in it, and sources of one title are told apart', async (t) => {
  const title = `</svg><script>alert("1 & '2'")`
  const html = await reported(
    await logOf(
      history.map((event) =>
        event.type === 'MarketingSourceCreated' ? { ...event, data: { ...event.data, title } } : event,
      ),
    ),
  )
  t.false(html.includes('<script'))
  t.is((html.match(/<svg/g) ?? []).length, (html.match(/<\/svg>/g) ?? []).length)
  const [, ...rows] = tableOf(html, 'Revenue')
  const names = rows.slice(0, -1).map(([name = '']) => name)
  t.true(names.length > 2)
  t.is(new Set(names).size, names.length)
  for (const name of names.filter((one) => one !== '(none)')) t.true(name.startsWith(title), name)
})

test('how far it has come in the log is told until its end', async (t) => {
  t.is(told.at(-1), rightOf(await log.head()))
})

test('a wrong use ends with 2, what can not be read or written with 1, and both say why', async (t) => {
  const folder = temporaryDirectory(t)
  const file = join(folder, 'report.html')
  reportCommand.exitOverride().configureOutput({ writeErr: () => undefined })
  for (const args of [
    ['--from', 'yesterday'],
    ['--to', '2026-13-01'],
    ['--account', 'one'],
  ] as const) {
    const error = await t.throwsAsync(reportCommand.parseAsync(['--out', file, ...args], { from: 'user' }))
    t.true(error.message.includes(args[0]), error.message)
  }
  const { code, stdout, stderr } = await leadloop([])
  t.is(code, 2)
  t.is(stdout, '')
  t.true(stderr.includes('--out'), stderr)
  const unknown = `acc_${'7'.repeat(26)}`
  const nobody = await leadloop(['--out', file, '--account', unknown])
  t.is(nobody.code, 1)
  // Before it, on a slow machine, how far the log was read.
  t.regex(nobody.stderr, new RegExp(`^leadloop can't report\\. --account: the log has no ${unknown}\\.\n$`, 'm'))
  const empty = join(folder, 'empty')
  await (await openIn(empty)).close()
  const noFolder = await leadloop(['--out', join(folder, 'none', 'report.html')], { DATA_DIR: empty })
  t.is(noFolder.code, 1)
  t.true(noFolder.stderr.includes('--out: ENOENT'), noFolder.stderr)
  for (const [out, reason] of [
    [folder, 'EISDIR'],
    [join(folder, 'none', 'report.html'), 'ENOENT'],
  ] as const) {
    const unread = await leadloop(['--out', out, '--account', unknown])
    t.regex(unread.stderr, new RegExp(`^leadloop can't report\\. --out: ${reason}`), 'before the log is read')
  }
  const nowhere = await leadloop(['--out', file], { DATA_DIR: join(folder, 'nowhere') })
  t.is(nowhere.code, 1)
  t.true(nowhere.stderr.includes('DATA_DIR'), nowhere.stderr)
  t.false(existsSync(file))
})
