import test, { type ExecutionContext } from 'ava'
import { tableNames } from '../../../app/analysis/tables/tidy-tables.js'
import { loadTables } from '../../../app/cli/analysis/load-tables.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { Instant } from '../../../domain/instant.js'
import type { EventStore, LogReader } from '../../../domain/ports.js'
import { triggers } from '../../../domain/trigger.js'
import { eventfulHistory } from '../../kit/domain/histories.js'
import { logOf } from '../../kit/domain/log.js'
import {
  activity,
  at,
  attribution,
  contactCreated,
  contactId,
  engagementId,
  leadFacts,
  leadId,
} from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { contactsIn, openErasureStage } from '../../kit/parts/erasure-stage.js'
import { openEventStoreDb } from '../../kit/stores/eventstoredb.js'

const history = eventfulHistory(5)
const middle = history[Math.floor(history.length / 2)]?.time
const end = history.at(-1)?.time

/** Every table as of a moment, its rows as JSON. */
const tablesOf = async (
  log: LogReader,
  asOf: Instant | undefined,
  isPersonalShown = false,
): Promise<Readonly<Record<string, string>>> => {
  const { connection, close } = await loadTables(log, { asOf, isPersonalShown }, neverAborted)
  const rows: Record<string, string> = {}
  for (const name of tableNames)
    rows[name] = JSON.stringify((await connection.runAndReadAll(`FROM ${name}`)).getRowsJson())
  await close()
  return rows
}

/** Erases the first three contacts of a history. */
const eraseSome = async (t: ExecutionContext, empty: EventStore, events = history) => {
  const stage = await openErasureStage(empty, events)
  const erased = contactsIn(events).slice(0, 3)
  t.is(erased.length, 3)
  for (const contact of erased) await stage.request(contact)
  await stage.run()
  return erased
}

test('of every moment before an erasure the tables for analysts are what they were', async (t) => {
  const store = memoryEventStore(memoryLog())
  const whole = memoryEventStore(memoryLog())
  await openErasureStage(whole, history)
  await eraseSome(t, store)
  for (const moment of [middle, end]) t.deepEqual(await tablesOf(store, moment), await tablesOf(whole, moment))
})

test('who opted out before the first lead had done so at every moment before an erasure, too', async (t) => {
  const [lead, contact, engagement] = [`lead-${leadId()}`, `contact-${contactId()}`, `engagement-${engagementId()}`]
  const time = at(1_000)
  const { label, note } = triggers['opted-out-before']
  const filtered = activity({ type: 'outcome', label, note, at: at(1_001) })
  const engaged = { ...attribution(), submitted_at: time, engaged_at: time, filtered: true }
  const ended = { engagement_id: engagementId(), reason: label, ended_at: at(1_001) }
  // What one submission appends has its time.
  const events = logOf(
    [lead, { type: 'LeadSubmitted', data: { ...leadFacts(), opted_out_before: true } }],
    [contact, contactCreated],
    [contact, { type: 'ContactOptedOut', data: { engagement_id: engagementId() } }],
    [contact, { type: 'ContactEngaged', data: engaged }],
    [engagement, { type: 'EngagementStarted', data: { ...attribution(), submitted_at: time } }],
    [engagement, { type: 'ActivityRecorded', data: { activity: filtered, record_id: null } }],
    [engagement, { type: 'EngagementEnded', data: ended }],
  ).map((event) => ({ ...event, time }))
  const store = memoryEventStore(memoryLog())
  const stage = await openErasureStage(store, events)
  const before = await tablesOf(store, undefined)
  t.true(before['contacts']?.includes('true'))
  for (const one of contactsIn(events)) await stage.request(one)
  await stage.run()
  for (const moment of [time, undefined]) t.is((await tablesOf(store, moment))['contacts'], before['contacts'])
})

test('no export shows a person who was erased, whatever the moment', async (t) => {
  const store = memoryEventStore(memoryLog())
  const erased = await eraseSome(t, store)
  for (const moment of [middle, end, undefined]) {
    const { contacts = '' } = await tablesOf(store, moment, true)
    for (const [id, , , , , , ...personal] of JSON.parse(contacts) as ReadonlyArray<ReadonlyArray<unknown>>)
      if (erased.some((one) => one.id === id)) t.deepEqual(personal, [null, null, null, null])
  }
})

test.serial('a scavenge of EventStoreDB changes no figure', async (t) => {
  const { store, double } = await openEventStoreDb(t)
  const part = history.slice(0, 500)
  await eraseSome(t, store, part)
  const moment = part[250]?.time
  const [before, then] = [await tablesOf(store, undefined), await tablesOf(store, moment)]
  double.scavenge()
  t.deepEqual(await tablesOf(store, undefined), before)
  t.deepEqual(await tablesOf(store, moment), then)
})
