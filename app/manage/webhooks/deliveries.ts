import { decode, optional, t } from '../../../domain/codec.js'
import { delivery, DeliveryKind } from '../../../domain/delivery.js'
import type { RecordedEvent } from '../../../domain/events.js'
import { DeliveryId, LeadId, type WebhookId } from '../../../domain/ids.js'
import { InstantFromText } from '../../../domain/instant.js'
import { E, flow, TE, type Either, type TaskEither } from '../../../domain/prelude.js'
import { streamOf } from '../../../domain/stream-name.js'
import type { KnownWebhook } from '../../../domain/webhook.js'
import { mostCounted } from '../../../projections/ports.js'
import { deliveries, type DeliveryDocument } from '../../../projections/read-models/deliveries.js'
import type { Endpoint, Request } from '../../http/endpoint.js'
import { invalid, type Problem } from '../../http/problem.js'
import { answer, bind, execute, pathId, withoutFields } from '../../http/steps.js'
import type { Operator } from '../operator.js'
import { withPage } from '../page.js'
import type { ManagePorts } from '../ports.js'
import { withWebhook, withWebhookOrRemoved } from './webhook-in-path.js'

/** `undelivered`: whatever has not succeeded. */
const State = t.keyof(
  { ...DeliveryKind.keys, undelivered: null },
  `${Object.keys(DeliveryKind.keys).join(', ')} or undelivered`,
)

const Filter = t.type({
  state: optional(State),
  lead_id: optional(LeadId),
  from: optional(InstantFromText),
  to: optional(InstantFromText),
})
type Filter = t.TypeOf<typeof Filter>

const path = '/accounts/:account_id/webhooks/:webhook_id/deliveries'

const notFound: Problem = { kind: 'delivery-not-found' }

/** The log of what was posted to a webhook and what was not, and the wish to have one posted once more. */
export const deliveryEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path,
    handle: flow(
      withWebhookOrRemoved(ports),
      bind('filter', ({ request }) => filterIn(request)),
      TE.let('part', ({ webhook, filter }) => partOf(webhook.webhookId, filter)),
      withPage(ports.queries, deliveries, ({ part, filter: { state, lead_id } }) => ({
        ...part,
        descending: true,
        chosenBy: lead_id === undefined ? undefined : state,
      })),
      bind('count', ({ filter, part }) => countOf(ports, filter, part)),
      answer(200, ({ filter, page, count }) => ({
        deliveries: page.documents.filter((one) => isAsked(one, filter)).map(shown),
        next_cursor: page.next_cursor,
        count,
        count_or_more: count === mostCounted ? true : undefined,
      })),
    ),
  },
  {
    method: 'GET',
    path: `${path}/:delivery_id`,
    handle: flow(
      withWebhookOrRemoved(ports),
      pathId('delivery_id', DeliveryId, notFound),
      bind('delivery', ({ webhook, delivery_id }) => deliveryOf(ports, webhook, delivery_id)),
      answer(200, ({ delivery: { document, events } }) => ({
        delivery: { ...shown(document), body: bodyIn(events), log: events.map(entryOf) },
      })),
    ),
  },
  {
    method: 'POST',
    path: `${path}/:delivery_id/resend`,
    handle: flow(
      withWebhook(ports),
      pathId('delivery_id', DeliveryId, notFound),
      withoutFields(),
      bind('delivery', ({ webhook, delivery_id }) => deliveryOf(ports, webhook, delivery_id)),
      execute(({ delivery: { document }, caller }) => {
        const command = { type: 'RequestResend', resendId: null, dueAt: ports.clock.now() } as const
        return ports.clientCommands.execute(delivery, document.id, command, caller.actor)
      }),
      answer(202, ({ delivery: { document }, result }) => ({
        delivery: { id: document.id, state: result.state.kind },
      })),
    ),
  },
]

const filterIn = ({ query }: Request): Either<Problem, Filter> => {
  const [state, lead_id, from, to] = ['state', 'lead_id', 'from', 'to'].map(query)
  const filter = decode(Filter, { state, lead_id, from, to })
  return E.isLeft(filter) ? E.left(invalid(filter.left)) : filter
}

const partOf = (webhookId: WebhookId, { state, lead_id, from, to }: Filter) => {
  const bounds = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { upTo: to }) }
  if (lead_id !== undefined) return { index: 'by_lead', equals: [webhookId, lead_id], ...bounds }
  if (state === undefined) return { index: 'by_webhook', equals: [webhookId], ...bounds }
  if (state === 'undelivered') return { index: 'undelivered', equals: [webhookId], ...bounds }
  return { index: 'by_state', equals: [webhookId, state], ...bounds }
}

/** Undefined without a state or with a lead: counting all deliveries would read every one of them. */
const countOf =
  (
    { queries }: ManagePorts,
    { state, lead_id }: Filter,
    { index, equals, ...bounds }: ReturnType<typeof partOf>,
  ): TaskEither<Problem, number | undefined> =>
  async () => {
    if (state === undefined || lead_id !== undefined) return E.right(undefined)
    return queries.count(deliveries, { index, equals, ...bounds })
  }

/** The index by lead holds deliveries in every state. */
const isAsked = (document: DeliveryDocument, { state, lead_id }: Filter): boolean => {
  if (lead_id === undefined || state === undefined) return true
  return state === 'undelivered' ? document.state !== 'succeeded' : document.state === state
}

/** A delivery to this webhook, as its stream has it. */
const deliveryOf =
  (
    { store }: ManagePorts,
    { webhookId }: Pick<KnownWebhook, 'webhookId'>,
    id: DeliveryId,
  ): TaskEither<Problem, { readonly document: DeliveryDocument; readonly events: ReadonlyArray<RecordedEvent> }> =>
  async () => {
    const read = await store.read(streamOf(delivery, id))
    if (E.isLeft(read)) return read
    const { events } = read.right
    const document = events.reduce<DeliveryDocument | undefined>(deliveries.evolve, undefined)
    return document?.webhook_id === webhookId ? E.right({ document, events }) : E.left(notFound)
  }

const bodyIn = (events: ReadonlyArray<RecordedEvent>): string | null => {
  const due = events.find(({ type }) => type === 'DeliveryDue')
  return due?.type === 'DeliveryDue' ? due.data.body : null
}

const entryOf = ({ type, time, actor, data }: RecordedEvent) => {
  const { body: _body, ...facts } = data as Readonly<Record<string, unknown>>
  return { at: time, type, by: actor, ...facts }
}

const shown = ({
  account_id: _account,
  undelivered: _undelivered,
  queue: _queue,
  state_since: _since,
  failing_since: _failing,
  backlog: _backlog,
  backlog_order: _order,
  backlog_version: _version,
  resend,
  resend_at: _at,
  ...document
}: DeliveryDocument) => ({ ...document, resend_requested: resend !== undefined })
