import type { DuckDBConnection } from '@duckdb/node-api'
import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { columnsOf, tableNames } from '../../../app/analysis/tables/tidy-tables.js'
import { loadTables } from '../../../app/cli/analysis/load-tables.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { OptChange } from '../../../domain/contact.js'
import type { ConversionRecordFacts } from '../../../domain/conversion-record.js'
import type { DeliveryEvent } from '../../../domain/delivery.js'
import type { Instant } from '../../../domain/instant.js'
import type { ErasedMessageEvent } from '../../../domain/message.js'
import { expectedTables, type Row } from '../../kit/domain/expected-tables.js'
import { eventfulHistory } from '../../kit/domain/histories.js'
import { logOf } from '../../kit/domain/log.js'
import { holdsAsync } from '../../kit/domain/property.js'
import {
  accountId,
  activity,
  at,
  contactId,
  conversionId,
  deliveryFacts,
  deliveryId,
  engagementId,
  erasureId,
  leadFacts,
  leadId,
  messageId,
  recordId,
  sourceId,
} from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { writeHistory } from '../../kit/domain/lively-history.js'

/** The rows of a table, with times as they are stored and whole numbers as numbers. */
const rowsOf = async (connection: DuckDBConnection, sql: string): Promise<ReadonlyArray<Row>> =>
  (await connection.runAndReadAll(sql)).getRowObjectsJS().map(
    (row) =>
      Object.fromEntries(
        Object.entries(row).map(([name, value]) => {
          if (value instanceof Date) return [name, value.toISOString()]
          return [name, typeof value === 'bigint' ? Number(value) : value]
        }),
      ) as Row,
  )

const byText = (rows: ReadonlyArray<Row>): ReadonlyArray<Row> =>
  rows.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1))

test('at any moment the tables hold what was recorded by then, as the deciders make it of the events', async (t) => {
  await holdsAsync(
    t,
    fc.asyncProperty(fc.nat(1_000_000), fc.constantFrom(0.5, 0.999), async (seed, place) => {
      const history = eventfulHistory(seed)
      const store = await writeHistory(memoryEventStore(memoryLog()), history)
      const asOf = history[Math.floor(history.length * place)]?.time
      const expected = expectedTables(history.filter(({ time }) => asOf !== undefined && time <= asOf))
      const { connection, close } = await loadTables(store, { asOf, isPersonalShown: true }, neverAborted)
      try {
        for (const name of tableNames) {
          const rows = await rowsOf(connection, `FROM ${name}`)
          const columns = columnsOf(name, { isPersonalShown: true }).map(([column]) => column)
          const named = (expected[name] ?? []).map((row) =>
            Object.fromEntries(columns.map((column) => [column, row[column] ?? null])),
          )
          assert.deepEqual(byText(rows), byText(named), name)
        }
      } finally {
        await close()
      }
    }),
    { numRuns: 4 },
  )
})

test('a lead touches a conversion of its own moment and no earlier one, and a delivery is in its last state', async (t) => {
  const submitted = (n: number) =>
    [`lead-${leadId(n)}`, { type: 'LeadSubmitted', data: leadFacts({ lead_id: leadId(n) }) }] as const
  const change = (event: DeliveryEvent) => [`delivery-${deliveryId()}`, event] as const
  const conversion: ConversionRecordFacts = {
    record_id: recordId(),
    account_id: accountId(),
    conversion_id: conversionId(),
    title: 'Sold',
    label: 'sold',
    contact_id: contactId(),
    converted_at: at(2_000),
    value: 1,
    engagement_id: engagementId(),
    lead_id: leadId(2),
    source_id: sourceId(),
    ends: [],
  }
  const outcomeOf = (attempt: number) => ({ attempt, status: 200, reason: 'HTTP 200', duration_ms: 1 })
  const history = logOf(
    submitted(1),
    submitted(2),
    submitted(3),
    [`conversion_contact-${recordId()}`, { type: 'ConversionRecorded', data: conversion }],
    change({ type: 'DeliveryDue', data: deliveryFacts({ due_at: at(5_000) }) }),
    change({ type: 'DeliveryHeld', data: {} }),
    change({ type: 'DeliveryResumed', data: { due_at: at(7_000) } }),
    change({ type: 'DeliverySucceeded', data: { outcome: outcomeOf(1) } }),
    change({ type: 'DeliveryResent', data: { resend_id: null, delivered: true, outcome: outcomeOf(2) } }),
  )
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const loaded = async (asOf: Instant | undefined, sql: string): Promise<ReadonlyArray<Row>> => {
    const { connection, close } = await loadTables(store, { asOf, isPersonalShown: false }, neverAborted)
    const rows = await rowsOf(connection, sql)
    await close()
    return rows
  }
  t.deepEqual(
    (await loaded(undefined, 'FROM touches')).map(({ lead_id }) => lead_id),
    [leadId(1), leadId(2)],
  )
  const columns = 'SELECT state, attempts, ended_at, delay_ms FROM deliveries'
  const states = [
    [5_000, { state: 'due', attempts: 0, ended_at: null, delay_ms: null }],
    [6_000, { state: 'held', attempts: 0, ended_at: null, delay_ms: null }],
    [7_000, { state: 'due', attempts: 0, ended_at: null, delay_ms: null }],
    [8_000, { state: 'succeeded', attempts: 1, ended_at: at(8_000), delay_ms: 3_000 }],
    [9_000, { state: 'succeeded', attempts: 2, ended_at: at(8_000), delay_ms: 3_000 }],
  ] as const
  for (const [moment, row] of states) t.deepEqual(await loaded(at(moment), columns), [row])
})

test('who opted out before the first lead is opted out, until the number opts in again', async (t) => {
  const said = (type: 'NumberOptedOut' | 'NumberOptedIn') =>
    [`contact-${contactId()}`, { type, data: { contact_id: contactId(), account_id: accountId() } }] as const
  const submitted = { type: 'LeadSubmitted', data: leadFacts() } as const
  const history = logOf(said('NumberOptedOut'), [`lead-${leadId()}`, submitted], said('NumberOptedIn'))
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const asOf = async (moment: Instant | undefined) => {
    const { connection, close } = await loadTables(store, { asOf: moment, isPersonalShown: false }, neverAborted)
    const rows = await rowsOf(connection, 'SELECT opted_out, opted_out_at FROM contacts')
    await close()
    return rows
  }
  t.deepEqual(await asOf(history[1]?.time), [{ opted_out: true, opted_out_at: history[0]?.time }])
  t.deepEqual(await asOf(undefined), [{ opted_out: false, opted_out_at: history[0]?.time }])
})

test('who opted out of the sender before the account used it is opted out', async (t) => {
  const submitted = { type: 'LeadSubmitted', data: leadFacts() } as const
  const optedOut = { type: 'ContactOptedOut', data: { engagement_id: engagementId() } } as const
  const history = logOf([`lead-${leadId()}`, submitted], [`contact-${contactId()}`, optedOut])
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const { connection, close } = await loadTables(store, { asOf: undefined, isPersonalShown: false }, neverAborted)
  const rows = await rowsOf(connection, 'SELECT opted_out, opted_out_at FROM contacts')
  await close()
  t.deepEqual(rows, [{ opted_out: true, opted_out_at: history[1]?.time }])
})

test('of an opt-out and an opt-in in one millisecond the later one counts, also once the contact is erased', async (t) => {
  const of = { engagement_id: engagementId() }
  const ids = { contact_id: contactId(), account_id: accountId(), erasure_id: erasureId() }
  const out: OptChange = { meaning: 'opted_out', at: at(2_000) }
  const back: OptChange = { meaning: 'opted_in', at: at(2_000) }
  const types = { opted_out: 'ContactOptedOut', opted_in: 'ContactOptedIn' } as const
  for (const changes of [
    [out, back],
    [out, back, out],
  ]) {
    const isOut = changes.at(-1) === out
    const submitted = { type: 'LeadSubmitted', data: leadFacts() } as const
    const said = changes.map(({ meaning }) => [`contact-${contactId()}`, { type: types[meaning], data: of }] as const)
    const erased = { type: 'ContactErased', data: { ...ids, opted_out: isOut, opt_history: changes } } as const
    const known = logOf([`lead-${leadId()}`, submitted], ...said)
    const closed = logOf([`lead-${leadId()}`, submitted], [`contact-${contactId()}`, erased])
    for (const history of [known, closed]) {
      const timed = history.map((event) => ({ ...event, time: event.type === 'ContactErased' ? at(3_000) : at(2_000) }))
      const store = await writeHistory(memoryEventStore(memoryLog()), timed)
      const { connection, close } = await loadTables(store, { asOf: at(2_000), isPersonalShown: false }, neverAborted)
      const rows = await rowsOf(connection, 'SELECT opted_out, opted_out_at FROM contacts')
      await close()
      t.deepEqual(rows, [{ opted_out: isOut, opted_out_at: at(2_000) }])
    }
  }
})

test('of a contact that an older version erased an activity tells when it opted out, and nothing else before its erasure', async (t) => {
  const submitted = (n: number) =>
    [
      `lead-${leadId(n)}`,
      { type: 'LeadSubmitted', data: leadFacts({ lead_id: leadId(n), contact_id: contactId(n) }) },
    ] as const
  const erased = (n: number) => {
    const data = { contact_id: contactId(n), account_id: accountId(), erasure_id: erasureId(n), opted_out: true }
    return [`contact-${contactId(n)}`, { type: 'ContactErased', data }] as const
  }
  const optedOut = activity({ type: 'outcome', label: 'opted_out', contact_id: contactId(1) })
  const recorded = { type: 'ActivityRecorded', data: { activity: optedOut, record_id: null } } as const
  const history = logOf(submitted(1), submitted(2), [`engagement-${engagementId()}`, recorded], erased(1), erased(2))
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const asOf = async (moment: Instant | undefined) => {
    const { connection, close } = await loadTables(store, { asOf: moment, isPersonalShown: false }, neverAborted)
    const rows = await rowsOf(connection, 'SELECT opted_out, opted_out_at FROM contacts ORDER BY contact_id')
    await close()
    return rows
  }
  const told = { opted_out: true, opted_out_at: history[2]?.time }
  t.deepEqual(await asOf(history[3]?.time), [told, { opted_out: false, opted_out_at: null }])
  t.deepEqual(await asOf(undefined), [told, { opted_out: true, opted_out_at: history[4]?.time }])
})

test('a message that was erased while it waited is dropped, and one that was under way may have been sent', async (t) => {
  const concerned = { account_id: accountId(), contact_id: contactId(), engagement_id: engagementId() }
  const began = { step: 0, text: 'A text', segments: 2, begun_at: at(0) }
  const begun = (n: number) =>
    [
      `message-${messageId(n)}`,
      { type: 'MessageBegun', data: { ...concerned, message_id: messageId(n), ...began } },
    ] as const
  const erased = (n: number, state: string, history: ReadonlyArray<ErasedMessageEvent>) => {
    const kept = { direction: 'outbound', segments: 2, began_at: at(1_000 * n), history } as const
    const data = { ...concerned, message_id: messageId(n), state, ...kept }
    return [`message-${messageId(n)}`, { type: 'MessageErased', data }] as const
  }
  const first = { type: 'MessageBegun', at: at(0), step: 0, segments: 2 }
  const failed = { type: 'MessageAttemptFailed', at: at(500), attempt: 1 }
  const history = logOf(begun(1), erased(2, 'waiting', [first, failed]), erased(3, 'sending', [first]))
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const { connection, close } = await loadTables(store, { asOf: undefined, isPersonalShown: false }, neverAborted)
  t.teardown(close)
  const shown =
    'SELECT message_id, state, purpose, step, segments, attempts, ended_at FROM messages ORDER BY message_id'
  const common = { purpose: 'step', step: 0, segments: 2, attempts: 1 }
  t.deepEqual(await rowsOf(connection, shown), [
    { message_id: messageId(1), state: 'sending', ...common, ended_at: null },
    { message_id: messageId(2), state: 'dropped', ...common, ended_at: history[1]?.time ?? null },
    { message_id: messageId(3), state: 'unknown', ...common, ended_at: history[2]?.time ?? null },
  ])
})

test('a message that was erased before its first try has no segments, nor has one that a contact wrote', async (t) => {
  const concerned = { account_id: accountId(), contact_id: contactId(), engagement_id: engagementId() }
  const requested = { type: 'MessageRequested', at: at(0), purpose: 'member' } as const
  const received = { type: 'MessageReceived', at: at(0), meaning: 'reply' } as const
  // Older versions left the history out.
  const erased = [
    { direction: 'outbound', state: 'requested', history: [requested] },
    { direction: 'outbound', state: 'requested' },
    { direction: 'inbound', state: 'received', meaning: 'reply', history: [received] },
    { direction: 'inbound', state: 'received', meaning: 'reply' },
  ] as const
  const history = logOf(
    ...erased.map((kept, n) => {
      const data = { ...concerned, message_id: messageId(n), segments: 0, began_at: at(0), ...kept }
      return [`message-${messageId(n)}`, { type: 'MessageErased', data }] as const
    }),
  )
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const { connection, close } = await loadTables(store, { asOf: undefined, isPersonalShown: false }, neverAborted)
  t.teardown(close)
  t.deepEqual(
    await rowsOf(connection, 'SELECT state, segments FROM messages ORDER BY message_id'),
    ['dropped', 'dropped', 'received', 'received'].map((state) => ({ state, segments: null })),
  )
})
