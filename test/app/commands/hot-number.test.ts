import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { reactor } from '../../../app/commands/reactions/reactor.js'
import { documentSnapshots } from '../../../app/commands/snapshots.js'
import { foldStream, newAggregate } from '../../../domain/aggregate.js'
import { contact } from '../../../domain/contact.js'
import { conversionRecord } from '../../../domain/conversion-record.js'
import { recordIdOf } from '../../../domain/derived-id.js'
import { engagement } from '../../../domain/engagement.js'
import { lead } from '../../../domain/lead.js'
import type { CommandHandler, EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Documents } from '../../../projections/ports.js'
import {
  accountId,
  at,
  contactId,
  conversionId,
  details,
  engagementId,
  leadFacts,
  leadId,
  sourceId,
} from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { cachedHandler, sharedHandler } from '../../kit/parts/command-handlers.js'
import { countedReads } from '../../kit/parts/counted-reads.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { settled } from '../../kit/time/turns.js'

const clock = manualClock()
const envelope = { actor: 'vendor', eventId: randomIds(clock).uuid }

const conversionFacts = {
  account_id: accountId(),
  title: 'Sold',
  label: 'sold',
  contact_id: contactId(),
  converted_at: at(),
  value: 0,
  engagement_id: engagementId(1),
  lead_id: leadId(1),
  source_id: sourceId(),
} as const

const kinds = { cached: cachedHandler, shared: sharedHandler } as const

/** A process on a log, and on documents which hold its snapshots. */
const open = (kind: keyof typeof kinds, stored: EventStore, documents: Documents) => {
  const { store, taken } = countedReads(stored)
  const handler: CommandHandler = kinds[kind](store, clock, documentSnapshots(documents))
  const { react } = reactor({ commandHandler: handler, logger: recordingLogger() })
  return {
    taken,
    load: async () => rightOf(await handler.load(contact, contactId())),
    /** Gives what was read for it. */
    submit: async (n: number, additional_info: Readonly<Record<string, string>> = { order: String(n) }) => {
      taken()
      const ofItsOwn = { lead_id: leadId(n), engagement_id: engagementId(n) }
      const facts = leadFacts({ ...ofItsOwn, details: details({ additional_info }) })
      const command = { type: 'SubmitLead', facts } as const
      await clock.sleepUntil(clock.now(), new AbortController().signal)
      const { events } = rightOf(await handler.execute(lead, leadId(n), command, envelope, newAggregate(lead)))
      const known = events.length > 0 ? events : rightOf(await stored.read(`lead-${leadId(n)}`)).events
      await react(known)
      await settled()
      return taken()
    },
  }
}

const wholeState = async (store: EventStore) => {
  const { events } = rightOf(await store.read(`contact-${contactId()}`))
  return foldStream(contact, events)
}

for (const kind of ['cached', 'shared'] as const) {
  test(`${kind}: whatever its number, a lead of a hot number is decided by as few events, before and after a restart`, async (t) => {
    const store = memoryEventStore(memoryLog())
    const documents = memoryDocuments(documentState())
    const process = open(kind, store, documents)
    const most = { early: 0, late: 0 }
    for (let n = 1; n <= 500; n += 1) {
      const { events } = await process.submit(n)
      if (n > 150 && n <= 250) most.early = Math.max(most.early, events)
      if (n > 400) most.late = Math.max(most.late, events)
    }
    t.true(most.late <= most.early, `${most.late} events, and ${most.early} before`)
    t.true(most.late <= 300, `${most.late} events`)
    t.deepEqual((await process.load()).state, await wholeState(store))

    const next = open(kind, store, documents)
    t.deepEqual((await next.load()).state, await wholeState(store))
    t.true(next.taken().events <= 150)
    t.true((await next.submit(501)).events <= 300)
  })

  test(`${kind}: an old lead that comes again engages nobody a second time, and costs no more`, async (t) => {
    const store = memoryEventStore(memoryLog())
    const { submit } = open(kind, store, memoryDocuments(documentState()))
    for (let n = 1; n <= 150; n += 1) await submit(n)
    const before = rightOf(await store.head())
    for (const n of [1, 30, 149, 150]) t.true((await submit(n)).events <= 300)
    t.is(rightOf(await store.head()), before)
  })
}

test('whatever fields its leads bring, a lead of a hot number is decided by as few bytes', async (t) => {
  const process = open('shared', memoryEventStore(memoryLog()), memoryDocuments(documentState()))
  const fields = (n: number) =>
    Object.fromEntries(Array.from({ length: 8 }, (_, nth) => [`field_${n}_${nth}`, 'x'.repeat(1_000)]))
  const most = { early: 0, late: 0 }
  for (let n = 1; n <= 60; n += 1) {
    const { bytes } = await process.submit(n, fields(n))
    // By then the contact keeps as much as it may.
    if (n > 10 && n <= 30) most.early = Math.max(most.early, bytes)
    if (n > 40) most.late = Math.max(most.late, bytes)
  }
  t.true(most.late <= 1.1 * most.early, `${most.late} bytes, and ${most.early} before`)
  t.true(most.late <= 1_000_000, `${most.late} bytes`)
})

test('with one more lead than may be open the oldest engagement ends', async (t) => {
  const store = memoryEventStore(memoryLog())
  const { submit } = open('shared', store, memoryDocuments(documentState()))
  for (let n = 1; n <= 102; n += 1) await submit(n)
  const endOf = async (n: number) =>
    rightOf(await store.read(`engagement-${engagementId(n)}`)).events.find(({ type }) => type === 'EngagementEnded')
      ?.data
  t.like(await endOf(1), { engagement_id: engagementId(1), reason: 'superseded' })
  t.like(await endOf(2), { engagement_id: engagementId(2), reason: 'superseded' })
  t.is(await endOf(3), undefined)
})

test('a snapshot of another log, version or shape is none, and neither is one that can not be read', async (t) => {
  const state = documentState()
  const documents = memoryDocuments(state)
  const first = memoryEventStore(memoryLog())
  const one = open('shared', first, documents)
  for (let n = 1; n <= 120; n += 1) await one.submit(n)

  const away = () => Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' } as const))
  const unreachable = { ...documents, get: away, apply: away, prepare: away }
  t.deepEqual((await open('shared', first, unreachable).load()).state, await wholeState(first))

  const changed = (
    how: (document: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>,
  ): Documents => ({
    ...documents,
    get: async (...query) => {
      const found = rightOf(await documents.get(...query))
      return E.right(new Map([...found].map(([key, one]) => [key, { ...one, document: how(one.document ?? {}) }])))
    },
  })
  const optedOut = { ...((await one.load()).state as object), optedOut: true }
  const usual = open(
    'shared',
    first,
    changed((document) => ({ ...document, state: optedOut })),
  )
  t.like((await usual.load()).state, { optedOut: true }, 'the snapshot counts otherwise')
  const wrong = [
    changed((document) => ({ ...document, state: optedOut, version: 0 })),
    changed((document) => ({ ...document, state: { ...optedOut, leads: 7 } })),
    changed((document) => ({ ...document, state: optedOut, revision: 10 })),
    changed(() => ({})),
  ]
  for (const one of wrong) t.deepEqual((await open('shared', first, one).load()).state, await wholeState(first))

  const second = memoryEventStore(memoryLog())
  const other = open('shared', second, memoryDocuments(documentState()))
  for (let n = 1; n <= 130; n += 1) await other.submit(n, { order: 'other' })
  t.deepEqual((await open('shared', second, documents).load()).state, await wholeState(second))
})

test('what a contact and its engagement remember of conversions grows with neither leads nor repeated conversion reports', async (t) => {
  const store = memoryEventStore(memoryLog())
  const process = open('cached', store, memoryDocuments(documentState()))
  const handler = cachedHandler(store, clock)
  const { react } = reactor({ commandHandler: handler, logger: recordingLogger() })
  for (let n = 1; n <= 30; n += 1) {
    await process.submit(n)
    for (const conversion of [conversionId(1), conversionId(2)]) {
      const record_id = recordIdOf(conversion, contactId())
      const facts = { ...conversionFacts, record_id, conversion_id: conversion, ends: [] }
      const done = await handler.execute(conversionRecord, record_id, { type: 'RecordConversion', facts }, envelope)
      await react(rightOf(done).events)
      // The follower carries the same reactions out once more.
      await react(rightOf(await store.read(`conversion_contact-${record_id}`)).events)
    }
  }
  const { state } = rightOf(await handler.load(contact, contactId()))
  t.is(state.kind === 'known' ? state.records.length : undefined, 2)
  const engaged = rightOf(await handler.load(engagement, engagementId(1))).state
  t.is(engaged.kind === 'started' ? engaged.records.length : undefined, 2)
})
