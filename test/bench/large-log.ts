import Database from 'better-sqlite3'
import { join } from 'node:path'
import { schema } from '../../adapters/sqlite/schema.js'
import type { Category } from '../../domain/events.js'
import { readModels } from '../../projections/read-models/registry.js'
import { checkpointIn } from '../../projections/subscriptions/checkpoint.js'
import { rebuild } from '../../projections/subscriptions/rebuild.js'
import { addWebhook, makeDue, seed, type Seeded } from './seed.js'
import { forEach, openTools, orFail } from './tools.js'

/** Leads that went round the loop, seven events each, and deliveries that are due, one event each. */
export type Extent = { readonly leads: number; readonly due: number }

/** Where the deliveries that are due go, and the `started` of leads to come. */
type Receivers = { readonly silent: string; readonly healthy: string }

/** What is written once by the rules themselves, and then copied under other ids. */
const written: Extent = { leads: 5_000, due: 10_000 }

/**
 * A log of any size with its read models. A part of it is written as the service writes it, the rest are copies of that
 * part, each under ids of its own, straight into the table. The read models are built from that log as `npm run
 * rebuild` builds them.
 */
export const seedLarge = async (extent: Extent, receivers: Receivers): Promise<Seeded> => {
  const copies = Math.max(1, Math.round(extent.leads / written.leads))
  const store = await seed(Math.round(extent.leads / copies))
  const tools = await openTools(store.directory)
  const silent = await addWebhook(tools, store.accountId, receivers.silent, 'dormant')
  await addWebhook(tools, store.accountId, receivers.healthy, 'started')
  await forEach(Math.round(extent.due / copies), async () => {
    const who = { contact_id: `nct_${tools.ids.ulid()}`, engagement_id: `neg_${tools.ids.ulid()}` } as const
    await makeDue(tools, store.accountId, silent, who)
  })
  await tools.close()
  if (copies > 1) multiply(store.directory, copies)
  await buildReadModels(store.directory)
  return { ...store, events: eventsIn(store.directory), leads: extent.leads }
}

/** Streams of leads and of what follows from them: everything else is there once. */
const copied: ReadonlyArray<Category> = ['lead', 'contact', 'engagement', 'delivery']

type Row = Readonly<Record<(typeof columns)[number], string>>

/** Those that name streams and events, in the order of the table. */
const columns = ['stream', 'id', 'correlation_id', 'causation_id', 'data'] as const

/** Four letters within an id: of two ids that are told apart by them alone there are none. */
const places = /(?<=\b(?:led|nct|neg|dlv)_[0-9A-Z]{10})[0-9A-Z]{4}|(?<=\b[0-9a-f]{8}-)[0-9a-f]{4}(?=-[0-9a-f]{4}-)/

const multiply = (directory: string, copies: number): void => {
  const database = new Database(join(directory, 'leadloop.db'))
  // What is not complete is thrown away.
  for (const pragma of ['journal_mode = DELETE', 'journal_mode = OFF', 'synchronous = OFF', 'cache_size = -500000'])
    database.pragma(pragma)
  const isCopied = `category IN (${copied.map((one) => `'${one}'`).join(', ')})`
  const rows = database.prepare<[], Row>(`SELECT * FROM events WHERE ${isCopied} ORDER BY position`).all()
  database.exec(`DELETE FROM events WHERE ${isCopied}; DROP INDEX events_by_stream; DROP INDEX events_by_category`)
  const texts = rows.map((row) => columns.map((column) => row[column].split(places)))
  const insert = database.prepare(
    `INSERT INTO events (stream, id, correlation_id, causation_id, data, revision, category, type, time, schema_version, actor)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
  )
  const others = rows.map((row) => {
    const { revision, category, type, time, schema_version, actor } = row as unknown as Readonly<
      Record<string, unknown>
    >
    return [revision, category, type, time, schema_version, actor]
  })
  const addCopy = database.transaction((serial: number) => {
    const letters = String(serial).padStart(4, '0')
    texts.forEach((row, nth) => insert.run(...row.map((text) => text.join(letters)), ...(others[nth] ?? [])))
  })
  for (let serial = 0; serial < copies; serial += 1) addCopy(serial)
  database.exec(schema)
  database.close()
}

/** Process managers have done all that the log asks for: what follows from the leads stands in it. */
const buildReadModels = async (directory: string): Promise<void> => {
  const tools = await openTools(directory)
  await rebuild(readModels, { store: tools.store, onDocuments: (work) => work(tools.documents) }, () => undefined)
  const head = orFail(await tools.store.head())
  for (const { name, version, indexes } of readModels)
    orFail(await tools.documents.promote({ name, version, indexes, generation: 'live' }))
  for (const name of ['delivery_projector', 'notice_projector']) {
    const checkpoint = checkpointIn(tools.documents, name, 1n)
    await checkpoint.load()
    await checkpoint.flush(head)
  }
  await tools.close()
}

/** Counted: the positions of what was copied are free. */
const eventsIn = (directory: string): number => {
  const database = new Database(join(directory, 'leadloop.db'), { readonly: true })
  const count = database.prepare<[], number>('SELECT count(*) FROM events').pluck().get() ?? 0
  database.close()
  return count
}
