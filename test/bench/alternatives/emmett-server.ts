import { CommandHandler, projections, type Event } from '@event-driven-io/emmett'
import { getPostgreSQLEventStore, pongoSingleStreamProjection } from '@event-driven-io/emmett-postgresql'
import { randomUUID } from 'node:crypto'
import { serveLeads, type Lead } from './lead-server.js'

/** A lead is a command of emmett: its event and the document that shows it are in PostgreSQL before the answer. */
type LeadSubmitted = Event<'LeadSubmitted', Lead & { readonly id: string }>

type Shown = LeadSubmitted['data'] & { _id?: string }

const leads = pongoSingleStreamProjection<Shown, LeadSubmitted>({
  collectionName: 'leads',
  canHandle: ['LeadSubmitted'],
  getDocumentId: ({ data }) => data.id,
  evolve: (_before: Shown | null, { data }: LeadSubmitted): Shown => data,
})
const store = getPostgreSQLEventStore(process.env['POSTGRESQL_URL'] ?? '', { projections: projections.inline([leads]) })
await store.schema.migrate()

const handle = CommandHandler<boolean, LeadSubmitted>({ evolve: () => true, initialState: () => false })

await serveLeads((lead) => {
  const id = `lead-${randomUUID()}`
  return handle(store, id, (isSubmitted) => (isSubmitted ? [] : [{ type: 'LeadSubmitted', data: { ...lead, id } }]))
})
