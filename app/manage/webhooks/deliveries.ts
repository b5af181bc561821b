import { decode, optional, t } from '../../../domain/codec.js'
import { streamOf } from '../../../domain/decider.js'
import { delivery } from '../../../domain/delivery.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { Recorded } from '../../../domain/event.js'
import { DeliveryId, LeadId, type WebhookId } from '../../../domain/ids.js'
import { InstantFromText } from '../../../domain/instant.js'
import { E, type Either } from '../../../domain/prelude.js'
import { deliveries, leadOf, stateOf, type DeliveryDocument } from '../../../projections/read-models/deliveries.js'
import type { Endpoint, Request } from '../../http/endpoint.js'
import { invalid, type Problem } from '../../http/problem.js'
import type { Operator } from '../operator.js'
import { ownWebhook } from './own-webhook.js'
import { pageOf } from '../paging.js'
import type { ManagePorts } from '../ports.js'

/** `undelivered`: whatever has not succeeded. */
const State = t.keyof(
  { due: null, held: null, succeeded: null, failed: null, skipped: null, abandoned: null, undelivered: null },
  'due, held, succeeded, failed, skipped, abandoned or undelivered',
)

const Filter = t.type({
  state: optional(State),
  lead_id: optional(LeadId),
  from: optional(InstantFromText),
  to: optional(InstantFromText),
})
type Filter = t.TypeOf<typeof Filter>

const path = '/accounts/:account_id/webhooks/:webhook_id/deliveries'

/** The log of what was posted to a webhook and what was not, and the wish to have one posted once more. */
export const deliveryEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'GET',
    path,
    handle: async (request) => {
      const { queries, commandHandler } = ports
      const owned = await ownWebhook(commandHandler, request)
      if (E.isLeft(owned)) return owned
      const [state, lead_id, from, to] = ['state', 'lead_id', 'from', 'to'].map(request.query)
      const filter = decode(Filter, { state, lead_id, from, to })
      if (E.isLeft(filter)) return E.left(invalid(filter.left))
      const { index, equals, ...bounds } = partOf(owned.right.webhookId, filter.right)
      const page = await pageOf(queries, deliveries, { index, equals, ...bounds, descending: true }, request)
      if (E.isLeft(page)) return page
      const { documents, next_cursor } = page.right
      const isAsked = (one: DeliveryDocument): boolean =>
        filter.right.lead_id === undefined || isIn(one, filter.right.state)
      const body = { deliveries: documents.filter(isAsked).map(shown), next_cursor }
      // Counting all that were ever delivered would walk through all of them.
      if (filter.right.state === undefined || filter.right.lead_id !== undefined) return E.right({ status: 200, body })
      const count = await queries.count(deliveries, { index, equals: [equals], ...bounds })
      return E.isLeft(count) ? count : E.right({ status: 200, body: { ...body, count: count.right } })
    },
  },
  {
    method: 'GET',
    path: `${path}/:delivery_id`,
    handle: async (request) => {
      const found = await whole(ports, request)
      if (E.isLeft(found)) return found
      const { document, events } = found.right
      const due = events.find(({ type }) => type === 'DeliveryDue')
      const body = due?.type === 'DeliveryDue' ? due.data.body : null
      return E.right({ status: 200, body: { delivery: { ...shown(document), body, log: events.map(entryOf) } } })
    },
  },
  {
    method: 'POST',
    path: `${path}/:delivery_id/resend`,
    handle: async (request, { actor }) => {
      const found = await whole(ports, request)
      if (E.isLeft(found)) return found
      const { id } = found.right.document
      const command = { type: 'RequestResend', resendId: null, dueAt: ports.clock.now() } as const
      const asked = await ports.commands.execute(delivery, id, command, actor)
      if (E.isLeft(asked)) return asked
      return E.right({ status: 202, body: { delivery: { id, state: asked.right.state.kind } } })
    },
  },
]

const partOf = (webhookId: WebhookId, { state, lead_id, from, to }: Filter) => {
  const bounds = { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { upTo: to }) }
  if (lead_id !== undefined) return { index: 'by_lead', equals: leadOf(webhookId, lead_id), ...bounds }
  if (state === undefined) return { index: 'by_webhook', equals: webhookId, ...bounds }
  if (state === 'undelivered') return { index: 'undelivered', equals: webhookId, ...bounds }
  return { index: 'by_state', equals: stateOf(webhookId, state), ...bounds }
}

const isIn = (document: DeliveryDocument, state: Filter['state']): boolean =>
  state === undefined || (state === 'undelivered' ? document.state !== 'succeeded' : document.state === state)

type Whole = { readonly document: DeliveryDocument; readonly events: ReadonlyArray<Recorded<DomainEvent>> }

/** The delivery that a request names, as its stream has it. */
const whole = async ({ commandHandler, store }: ManagePorts, request: Request): Promise<Either<Problem, Whole>> => {
  const owned = await ownWebhook(commandHandler, request)
  if (E.isLeft(owned)) return owned
  const id = request.params['delivery_id']
  if (!DeliveryId.is(id)) return E.left({ kind: 'delivery-not-found' })
  const read = await store.read(streamOf(delivery, id))
  if (E.isLeft(read)) return read
  const { events } = read.right
  const document = events.reduce<DeliveryDocument | undefined>(deliveries.evolve, undefined)
  return document?.webhook_id === owned.right.webhookId
    ? E.right({ document, events })
    : E.left({ kind: 'delivery-not-found' })
}

const entryOf = ({ type, time, actor, data }: Recorded<DomainEvent>) => {
  const { body: _body, ...facts } = data as Readonly<Record<string, unknown>>
  return { at: time, type, by: actor, ...facts }
}

const shown = ({
  account_id: _account,
  webhook_state: _state,
  webhook_lead: _lead,
  undelivered: _undelivered,
  lane: _lane,
  state_since: _since,
  backlog: _backlog,
  backlog_order: _order,
  backlog_version: _version,
  resend,
  resend_at: _at,
  ...document
}: DeliveryDocument) => ({ ...document, resend_requested: resend !== undefined })
