import test from 'ava'
import { tableNames } from '../../../app/analysis/tables/tidy-tables.js'
import { loadTables } from '../../../app/cli/analysis/load-tables.js'
import { neverAborted } from '../../../domain/abortable.js'
import { later, type Instant } from '../../../domain/instant.js'
import { categoryOf } from '../../../domain/stream-name.js'
import { eventfulHistory, type History } from '../../kit/domain/histories.js'
import { erasureId, uuid } from '../../kit/domain/samples.js'
import { writeHistory } from '../../kit/domain/lively-history.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'

const history = eventfulHistory(2)
const asOf = history[Math.floor(history.length * 0.7)]?.time

/** Every table without personal values, its rows as JSON. */
const tablesOf = async (
  events: History,
  moment: Instant | undefined = asOf,
): Promise<Readonly<Record<string, string>>> => {
  const store = await writeHistory(memoryEventStore(memoryLog()), events)
  const { connection, close } = await loadTables(store, { asOf: moment, isPersonalShown: false }, neverAborted)
  const rows: Record<string, string> = {}
  for (const name of tableNames) {
    rows[name] = JSON.stringify((await connection.runAndReadAll(`FROM ${name}`)).getRowsJson())
  }
  await close()
  return rows
}

test('no figure rests on the streams of leads and contacts, which may be erased', async (t) => {
  const erasable = new Set(['lead', 'contact'])
  const left = history.filter(({ stream }) => !erasable.has(categoryOf(stream)))
  t.true(left.length < history.length - 100)
  t.deepEqual(await tablesOf(left), await tablesOf(history))
  t.deepEqual(await tablesOf(left, undefined), await tablesOf(history, undefined))
})

test('what older versions wrote of engagements gives the same figures', async (t) => {
  const older = history.map((event) => {
    if (event.type !== 'EngagementStarted') return event
    const { submitted_at: _submittedAt, state: _state, ...data } = event.data
    return { ...event, data }
  })
  t.notDeepEqual(older, history)
  t.deepEqual(await tablesOf(older), await tablesOf(history))
})

test('a lead counts from its submission on, though its engagement has not begun yet', async (t) => {
  const submitted = history.findIndex(({ type }) => type === 'LeadSubmitted')
  const [before, after] = [history.slice(0, submitted + 1), history.slice(0, submitted + 4)]
  t.is(after.at(-1)?.type, 'EngagementStarted')
  const [then, now] = [await tablesOf(before, undefined), await tablesOf(after, undefined)]
  for (const name of ['leads', 'contacts']) {
    t.not(then[name], '[]')
    t.is(then[name], now[name])
  }
})

test('a lead that was erased before its engagement began counts as before', async (t) => {
  const submitted = history.findIndex(({ type }) => type === 'LeadSubmitted')
  const last = history[submitted]
  if (last?.type !== 'LeadSubmitted') return t.fail('nobody submitted a lead')
  const { lead_id, account_id, source_id, playbook_id, contact_id, engagement_id } = last.data
  const ids = { lead_id, account_id, source_id, playbook_id, contact_id, engagement_id }
  const erased: History[number] = {
    ...last,
    type: 'LeadErased',
    data: { ...ids, submitted_at: last.time, erasure_id: erasureId() },
    id: uuid(9_999),
    revision: last.revision + 1,
    time: later(last.time, 60_000),
  }
  const counted = async (events: History, moment?: Instant): Promise<ReadonlyArray<unknown>> => {
    const { leads = '' } = await tablesOf(events, moment)
    // All but the state, which nobody knows any more.
    return (JSON.parse(leads) as ReadonlyArray<ReadonlyArray<unknown>>).map((row) => row.toSpliced(7, 1))
  }
  const before = history.slice(0, submitted + 1)
  t.is((await counted(before)).length, 1)
  t.deepEqual(await counted([...before, erased]), await counted(before))
  t.deepEqual(await counted([...before, erased], last.time), await counted(before, last.time))
})
