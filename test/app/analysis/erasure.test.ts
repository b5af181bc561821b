import test, { type ExecutionContext } from 'ava'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { tableNames } from '../../../app/analysis/tables/tidy-tables.js'
import { exportTables } from '../../../app/cli/analysis/export-files.js'
import { loadTables } from '../../../app/cli/analysis/load-tables.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { Instant } from '../../../domain/instant.js'
import type { EventStore, LogReader } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { triggers } from '../../../domain/trigger.js'
import { eventfulHistory, type History } from '../../kit/domain/histories.js'
import { logOf } from '../../kit/domain/log.js'
import {
  accountId,
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
import { temporaryDirectory } from '../../kit/temporary-directory.js'

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

type Appended = readonly [stream: string, event: DomainEvent]

/**
 * A lead that is filtered since its contact has opted out before, as one submission appends it; `before`: what came a
 * second earlier.
 */
const filteredLead = (...before: ReadonlyArray<Appended>): History => {
  const [lead, contact, engagement] = [`lead-${leadId()}`, `contact-${contactId()}`, `engagement-${engagementId()}`]
  const time = at(1_000)
  const { label, note } = triggers['opted-out-before']
  const filtered = activity({ type: 'outcome', label, note, at: at(1_001) })
  const engaged = { ...attribution(), submitted_at: time, engaged_at: time, filtered: true }
  const ended = { engagement_id: engagementId(), reason: label, ended_at: at(1_001) }
  return logOf(
    ...before,
    [lead, { type: 'LeadSubmitted', data: { ...leadFacts(), opted_out_before: true } }],
    [contact, contactCreated],
    [contact, { type: 'ContactOptedOut', data: { engagement_id: engagementId() } }],
    [contact, { type: 'ContactEngaged', data: engaged }],
    [engagement, { type: 'EngagementStarted', data: { ...attribution(), submitted_at: time } }],
    [engagement, { type: 'ActivityRecorded', data: { activity: filtered, record_id: null } }],
    [engagement, { type: 'EngagementEnded', data: ended }],
  ).map((event, index) => ({ ...event, time: index < before.length ? at() : time }))
}

const eraseAll = async (stage: Awaited<ReturnType<typeof openErasureStage>>, events: History): Promise<void> => {
  for (const one of contactsIn(events)) await stage.request(one)
  await stage.run()
}

/** What a number says by itself: its account has no contact of it yet. */
const saidByNumber = (type: 'NumberOptedOut' | 'NumberOptedIn'): Appended => [
  `contact-${contactId()}`,
  { type, data: { contact_id: contactId(), account_id: accountId() } },
]

const optedOutBefore = {
  'with its first lead': filteredLead(),
  'before it was a contact': filteredLead(saidByNumber('NumberOptedOut')),
  'and in before it was a contact': filteredLead(saidByNumber('NumberOptedOut'), saidByNumber('NumberOptedIn')),
}

for (const [name, events] of Object.entries(optedOutBefore)) {
  test(`who opted out ${name} had done so when it did at every moment before an erasure`, async (t) => {
    const store = memoryEventStore(memoryLog())
    const stage = await openErasureStage(store, events)
    const contactsAsOf = async (moment: Instant | undefined) => (await tablesOf(store, moment))['contacts']
    const moments = [at(1_000), undefined]
    const before = await Promise.all(moments.map(contactsAsOf))
    for (const contacts of before) t.true(contacts?.includes('true'))
    await eraseAll(stage, events)
    t.deepEqual(await Promise.all(moments.map(contactsAsOf)), before)
  })
}

test('an export that goes on after an erasure is the one made at once, also of what a number had said by itself', async (t) => {
  const events = filteredLead(saidByNumber('NumberOptedOut'))
  const store = memoryEventStore(memoryLog())
  const stage = await openErasureStage(store, events)
  const folder = temporaryDirectory(t)
  const exported = async (isContinued: boolean): Promise<string> => {
    const asked = { format: 'csv', tables: ['contacts'], asOf: undefined, isPersonalShown: false } as const
    t.deepEqual(await exportTables(store, { ...asked, folder, isContinued }, neverAborted), E.right(undefined))
    return readFileSync(join(folder, 'contacts.csv'), 'utf8')
  }
  const whole = await exported(false)
  t.true(whole.includes(`true,${at()}`))
  await eraseAll(stage, events)
  t.is(await exported(true), whole)
  t.is(await exported(false), whole)
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

test('who is erased while the log is read is counted as before', async (t) => {
  const store = memoryEventStore(memoryLog())
  const whole = memoryEventStore(memoryLog())
  await openErasureStage(whole, history)
  const stage = await openErasureStage(store, history)
  let isErased = false
  const erase = async (): Promise<void> => {
    isErased = true
    for (const contact of contactsIn(history).slice(0, 3)) await stage.request(contact)
    await stage.run()
  }
  const read: LogReader = {
    ...store,
    history: async function* (after, categories, signal) {
      for await (const batch of store.history(after, categories, signal)) {
        yield batch
        if (!isErased && categories.length > 1) await erase()
      }
    },
  }
  t.deepEqual(await tablesOf(read, end), await tablesOf(whole, end))
  t.true(isErased)
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
