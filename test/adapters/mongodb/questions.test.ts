import test, { type ExecutionContext } from 'ava'
import Database from 'better-sqlite3'
import { MongoClient, type Db } from 'mongodb'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runInThisContext } from 'node:vm'
import { mongoDocuments } from '../../../adapters/mongodb/documents.js'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { Documents } from '../../../projections/ports.js'
import { collectionOf } from '../../../projections/projection.js'
import { readModels } from '../../../projections/read-models/registry.js'
import { rebuild } from '../../../projections/subscriptions/rebuild.js'
import { newEvent } from '../../kit/domain/new-events.js'
import {
  accountId,
  at,
  contactId,
  conversionId,
  deliveryFacts,
  deliveryId,
  details,
  engagementId,
  leadFacts,
  leadId,
  phone,
  recordId,
  sourceId,
  uuid,
  webhookId,
  webhookSettings,
} from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { rightOf } from '../../kit/right-of.js'
import { mongoUrl } from '../../kit/stores/mongo-url.js'
import { testDatabase } from '../../kit/stores/mongodb.js'
import { openIn } from '../../kit/stores/sqlite.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'

/** The five questions of the page for analysts, each as SQL and as lines of mongosh. */
const questions = ((): ReadonlyArray<{ readonly sql: string; readonly mongosh: string }> => {
  const page = readFileSync('projections/README.md', 'utf8')
  const section = /^### Five questions$([\s\S]*?)^###/m.exec(page)?.[1] ?? ''
  const blocksOf = (language: string): ReadonlyArray<string> =>
    [...section.matchAll(new RegExp(`^\`\`\`${language}\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block)
  const mongosh = blocksOf('js')
  return blocksOf('sql').map((sql, n) => ({ sql, mongosh: mongosh[n] ?? '' }))
})()

const lead = (n: number, contact: number, source: number): DomainEvent => ({
  type: 'LeadSubmitted',
  data: leadFacts({ lead_id: leadId(n), contact_id: contactId(contact), source_id: sourceId(source) }),
})
const created = (n: number): DomainEvent => ({
  type: 'ContactCreated',
  data: {
    contact_id: contactId(n),
    account_id: accountId(),
    details: details({ phone: phone(122 + n), additional_info: { 'car.model': 'Model T' } }),
    referral: { marketing_source_id: sourceId(), marketing_source_title: 'Search ads', lead_id: leadId() },
  },
})
const due = (n: number, webhook: number): DomainEvent => ({
  type: 'DeliveryDue',
  data: deliveryFacts({ delivery_id: deliveryId(n), webhook_id: webhookId(webhook) }),
})
const outcome = (attempt: number, status: number) => ({ attempt, status, reason: `HTTP ${status}`, duration_ms: 12 })
const failed: DomainEvent = {
  type: 'DeliveryAttemptFailed',
  data: { outcome: outcome(1, 503), next_attempt_at: at(60_000) },
}
const succeeded: DomainEvent = { type: 'DeliverySucceeded', data: { outcome: outcome(2, 200) } }
const recorded = (n: number, title: string, value: number): DomainEvent => ({
  type: 'ConversionRecorded',
  data: {
    record_id: recordId(n),
    account_id: accountId(),
    conversion_id: conversionId(),
    title,
    label: 'sold',
    contact_id: contactId(),
    converted_at: at(),
    value,
    engagement_id: engagementId(),
    lead_id: leadId(),
    source_id: sourceId(),
    ends: [],
  },
})
const added = (n: number): DomainEvent => ({
  type: 'WebhookAdded',
  data: { webhook_id: webhookId(n), account_id: accountId(), settings: webhookSettings() },
})
const turnedOff: DomainEvent = {
  type: 'WebhookTurnedOff',
  data: { reason: 'status 503', delivery_id: deliveryId(1), failing_since: at() },
}

const day = 86_400_000

/** Each stream with its events. The third lead came a day before the others. */
const log: ReadonlyArray<readonly [stream: string, ...events: ReadonlyArray<DomainEvent>]> = [
  ...[1, 2].map((n) => [`contact-${contactId(n)}`, created(n)] as const),
  [`lead-${leadId(1)}`, lead(1, 1, 1)],
  [`lead-${leadId(2)}`, lead(2, 1, 2)],
  [`lead-${leadId(3)}`, lead(3, 2, 1)],
  [`delivery-${deliveryId(1)}`, due(1, 1), failed],
  [`delivery-${deliveryId(2)}`, due(2, 1), failed],
  [`delivery-${deliveryId(3)}`, due(3, 1), failed, succeeded],
  [`delivery-${deliveryId(4)}`, due(4, 2)],
  [`conversion_contact-${recordId(1)}`, recorded(1, 'Sold', 125_000)],
  [`conversion_contact-${recordId(2)}`, recorded(2, 'Sold', 75_000)],
  [`conversion_contact-${recordId(3)}`, recorded(3, 'Quoted', 0)],
  [`webhook-${webhookId(1)}`, added(1), turnedOff],
  [`webhook-${webhookId(2)}`, added(2)],
  [`webhook-${webhookId(3)}`, added(3), { type: 'WebhookRemoved', data: {} }],
]

/** Builds all read models of the log as a start does. */
const fill = async (documents: Documents): Promise<void> => {
  const store = memoryEventStore(memoryLog())
  let n = 0
  for (const [stream, ...events] of log) {
    for (const [revision, event] of events.entries()) {
      n += 1
      const time = stream === `lead-${leadId(3)}` ? at(n - day) : at(n)
      const expected = revision === 0 ? 'no-stream' : revision - 1
      rightOf(await store.append(stream, expected, [{ ...newEvent(n, event), id: uuid(n), time }]))
    }
  }
  await rebuild(readModels, { store, onDocuments: (work) => work(documents) }, () => undefined)
  for (const projection of readModels) rightOf(await documents.promote(collectionOf(projection)))
}

type Rows = ReadonlyArray<Readonly<Record<string, unknown>>>

const sorted = (rows: Rows): ReadonlyArray<string> => rows.map((row) => JSON.stringify(row)).toSorted()

const bySource = [1, 2].map((n) => ({ source: sourceId(n), leads: 1 }))
const failing = [{ webhook: webhookId(1), deliveries: 2 }]
const sold = [
  { conversion: 'Sold', cents: 200_000 },
  { conversion: 'Quoted', cents: 0 },
]

/** Evaluates lines as mongosh does, which waits for every answer by itself, and prints what the last one gives. */
const printed = async (db: Db, lines: string): Promise<Rows> => {
  const collections = new Proxy({}, { get: (_, name) => db.collection(String(name)) })
  const statements = lines.replaceAll(/\bdb\./g, 'await db.').replace(/^await (?![\s\S]*^await )/m, 'return await ')
  const evaluate = runInThisContext(`(async (db, ISODate) => {${statements}})`) as (
    db: unknown,
    isoDate: (text: string) => Date,
  ) => Promise<{ readonly toArray: () => Promise<Rows> }>
  return (await evaluate(collections, (text) => new Date(text))).toArray()
}

const answers = (t: ExecutionContext, given: ReadonlyArray<Rows>, expected: ReadonlyArray<Rows>): void => {
  t.deepEqual(given.map(sorted), expected.map(sorted))
}

test('the five questions are answered by SQL, as the page shows it', async (t) => {
  const directory = temporaryDirectory(t)
  const embedded = await openIn(directory)
  await fill(sqliteDocuments(embedded))
  await embedded.close()
  const database = new Database(join(directory, 'leadloop.db'), { readonly: true })
  const given = questions.map(({ sql }) => database.prepare<[], Record<string, unknown>>(sql).all())
  database.close()
  answers(t, given, [
    [1, 2].map((n) => ({ contact: contactId(1), source: sourceId(n), submitted: at(n + 2) })),
    bySource,
    failing,
    sold,
    [{ webhook: webhookId(1), since: at(18), reason: 'status 503' }],
  ])
})

if (mongoUrl === undefined) {
  test.skip('the five questions in mongosh need a server: set MONGODB_URL', (t) => t.fail())
} else {
  const database = testDatabase(mongoUrl)
  test.after.always('the database is dropped', database.drop)

  test('the five questions are answered in mongosh, as the page shows it', async (t) => {
    const { db, close } = database.open()
    t.teardown(close)
    const client = new MongoClient(database.url)
    t.teardown(() => client.close())
    await fill(mongoDocuments(db))
    const given: Array<Rows> = []
    for (const { mongosh } of questions) given.push(await printed(client.db(), mongosh))
    const [leads = [], ...others] = given
    t.deepEqual(
      leads.map(({ _id, submitted_at }) => [_id, submitted_at]),
      [1, 2].map((n) => [leadId(n), new Date(at(n + 2))]),
    )
    answers(t, others, [
      bySource.map(({ source, leads: brought }) => ({ _id: source, leads: brought })),
      failing.map(({ webhook, deliveries }) => ({ _id: webhook, deliveries })),
      sold.map(({ conversion, cents }) => ({ _id: conversion, cents })),
      [{ _id: webhookId(1), turned_off: { at: new Date(at(18)), reason: 'status 503' } }],
    ])
  })
}
