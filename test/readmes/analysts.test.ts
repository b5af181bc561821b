import test from 'ava'
import { sqliteDocuments } from '../../adapters/sqlite/documents/documents.js'
import { sqliteEventStore } from '../../adapters/sqlite/event-store.js'
import type { AttributionRow } from '../../app/analysis/attribution/attribution-output.js'
import type { AttributionModel, AttributionRequest } from '../../app/analysis/attribution/attribution-query.js'
import { loadTables } from '../../app/cli/analysis/load-tables.js'
import { attributionOf } from '../../app/cli/attribution/attribution.js'
import { neverAborted } from '../../domain/abortable.js'
import type { LogReader } from '../../domain/ports.js'
import { collectionOf } from '../../projections/projection.js'
import { readModels } from '../../projections/read-models/registry.js'
import { rebuild } from '../../projections/subscriptions/rebuild.js'
import { eventfulHistory, type History } from '../kit/domain/histories.js'
import { writeHistory } from '../kit/domain/lively-history.js'
import { memoryEventStore, memoryLog } from '../kit/memory/event-store.js'
import { rightOf } from '../kit/right-of.js'
import { byHand, openIn } from '../kit/stores/sqlite.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { readmeNamed } from './readmes.js'

/** Every conversion is worth something else, so that figures are equal only where the conversions are. */
const history: History = eventfulHistory(2).map((event, n) =>
  event.type === 'ConversionRecorded' ? { ...event, data: { ...event.data, value: 100_001 + n * n } } : event,
)
const labels = ['quoted', 'sold', 'custom_conversion'] as const
const directory = openTemporaryDirectory()
let log: LogReader

test.before(async () => {
  log = await writeHistory(memoryEventStore(memoryLog()), history)
  const database = await openIn(directory.path)
  const store = await writeHistory(sqliteEventStore(database), history)
  const documents = sqliteDocuments(database)
  await rebuild(readModels, { store, onDocuments: (work) => work(documents) }, () => undefined)
  for (const projection of readModels) rightOf(await documents.promote(collectionOf(projection)))
  await database.close()
})

test.after.always(() => directory.remove())

type Rows = ReadonlyArray<Readonly<Record<string, string | number>>>

/** What SQLite answers to the SQL that follows this sentence on the page for analysts, asked for this label. */
const answerTo = (sentence: string, label = 'sold'): Rows => {
  const [, after = ''] = readmeNamed('projections/README.md').text.split(sentence)
  const sql = (/^```sql\n([\s\S]*?)^```$/m.exec(after)?.[1] ?? '').replaceAll("= 'sold'", `= '${label}'`)
  return byHand(directory.path, (database) => database.prepare<[], Rows[number]>(sql).all())
}

const attribution = (asked: Partial<AttributionRequest>): Promise<ReadonlyArray<AttributionRow>> => {
  const request = { model: 'last-touch', by: 'source', halfLife: 7, window: 90, ...asked } as const
  return attributionOf(log, request, undefined, neverAborted)
}

/** In the order of their texts: both sides order rows by figures that may be equal. */
const sorted = (rows: ReadonlyArray<unknown>): ReadonlyArray<string> =>
  rows.map((row) => JSON.stringify(row)).toSorted()

const dollars = ({ value_cents }: AttributionRow): number => Number(value_cents) / 100

for (const label of labels) {
  test(`leads, conversions and revenue by source are those of the SQL on the page, by last touch: ${label}`, async (t) => {
    const rows = await attribution({ labels: [label] })
    const expected = answerTo('Leads, sales and their worth, by the source of the conversation that was sold:', label)
    t.true(expected.filter(({ sold = 0 }) => Number(sold) > 0).length > 1)
    t.deepEqual(
      sorted(rows.map((row) => [row.title, Number(row.leads), Number(row.conversions), dollars(row)])),
      sorted(expected.map((row) => [row['source'], row['leads'], row['sold'], row['dollars']])),
    )
  })

  test(`conversions and revenue by source are those of the SQL on the page, by first touch: ${label}`, async (t) => {
    const model: AttributionModel = 'first-touch'
    const rows = (await attribution({ labels: [label], model })).filter(({ conversions }) => conversions > 0n)
    const expected = answerTo('The same sales by the source that brought the contact in the first place:', label)
    t.true(expected.length > 0)
    t.deepEqual(
      sorted(rows.map((row) => [row.key, Number(row.conversions), dollars(row)])),
      sorted(expected.map((row) => [row['source_id'], row['sold'], row['dollars']])),
    )
  })

  test(`revenue is that of the read model of timelines: ${label}`, async (t) => {
    const titles = history.flatMap((event) =>
      event.type === 'ConversionDefined' && event.data.label === label ? event.data.title : [],
    )
    const sum = (cents: ReadonlyArray<number>): number => cents.reduce((all, one) => all + one, 0)
    const answered = answerTo('**For how many cents was sold, by conversion?**')
    const expected = answered.filter(({ conversion }) => titles.includes(String(conversion)))
    const rows = await attribution({ labels: [label] })
    t.true(expected.length > 0)
    t.is(sum(rows.map(({ value_cents }) => Number(value_cents))), sum(expected.map(({ cents }) => Number(cents))))
  })
}

test('leads by source are those of the read model of leads', async (t) => {
  const expected = answerTo('**How many leads did each source bring on that day?**')
  t.true(expected.length > 1)
  const rows = (await attribution({})).filter(({ leads }) => leads > 0n)
  t.deepEqual(
    sorted(rows.map(({ key, leads }) => [key, Number(leads)])),
    sorted(expected.map(({ source, leads }) => [source, leads])),
  )
})

/**
 * What DuckDB answers in this time zone to the questions of the page on analysis, in their order, where sources have
 * one title.
 */
const answersOfExport = async (timeZone: string): Promise<ReadonlyArray<ReadonlyArray<ReadonlyArray<unknown>>>> => {
  const { text } = readmeNamed('app/analysis/README.md')
  const questions = (/^```sql\n([\s\S]*?)^```$/m.exec(text)?.[1] ?? '').split(/;\n/).filter((one) => one !== '')
  const { connection, close } = await loadTables(log, { isPersonalShown: false }, neverAborted)
  await connection.run(`SET TimeZone = '${timeZone}'`)
  await connection.run("UPDATE sources SET title = 'Search ads'")
  const answers = []
  for (const question of questions) {
    const reader = await connection.runAndReadAll(question.replaceAll(/'tables\/(\w+)\.parquet'/g, '$1'))
    answers.push(reader.getRowsJson())
  }
  await close()
  return answers
}

test('the questions that are asked of an export have the same answers wherever they are asked', async (t) => {
  const answers = await answersOfExport('UTC')
  t.true(answers.length > 3 && answers.every((rows) => rows.length > 0))
  const elsewhere = await answersOfExport('Pacific/Kiritimati')
  t.deepEqual(elsewhere.map(sorted), answers.map(sorted))
})

test('the question after the contacts of each source tells sources of one title apart', async (t) => {
  const [contacts = []] = await answersOfExport('UTC')
  const first = new Map<string, string>()
  for (const event of history) {
    if (event.type !== 'EngagementStarted') continue
    const { contact_id, source_id } = event.data
    if (!first.has(contact_id)) first.set(contact_id, source_id)
  }
  t.is(contacts.length, new Set(first.values()).size)
})
