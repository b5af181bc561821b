import { newAggregate } from '../../../domain/aggregate.js'
import { stateOf } from '../../commands/states/current-states.js'
import { decode, t } from '../../../domain/codec.js'
import { ResendId } from '../../../domain/ids.js'
import { InstantFromText } from '../../../domain/instant.js'
import { E, type Either } from '../../../domain/prelude.js'
import { resend, type KnownResend } from '../../../domain/resend.js'
import { resends, type ResendDocument } from '../../../projections/read-models/resends.js'
import type { Endpoint, Request } from '../../http/endpoint.js'
import { invalid, type Problem } from '../../http/problem.js'
import type { Operator } from '../operator.js'
import { ownWebhook } from './own-webhook.js'
import { pageOf } from '../paging.js'
import type { ManagePorts } from '../ports.js'

/** When the deliveries became due. */
const StartRequest = t.type({ from: InstantFromText, to: InstantFromText })

const path = '/accounts/:account_id/webhooks/:webhook_id/resends'

/** Resends of all deliveries of a period that failed: their progress, and their end. */
export const resendEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path,
    handle: async (request, { actor }) => {
      const { commandHandler, commands, ids } = ports
      const owned = await ownWebhook(commandHandler, request)
      if (E.isLeft(owned)) return owned
      const body = decode(StartRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { from, to } = body.right
      if (from > to) return E.left({ kind: 'invalid', messages: ['to must not lie before from'] })
      const { webhookId, accountId } = owned.right
      const resendId: ResendId = `rsd_${ids.ulid()}`
      const command = { type: 'StartResend', resendId, accountId, webhookId, from, to } as const
      const started = await commands.execute(resend, resendId, command, actor, newAggregate(resend))
      if (E.isLeft(started)) return started
      return E.right({
        status: 202,
        body: { resend: { id: resendId, webhook_id: webhookId, from, to, state: 'running' } },
      })
    },
  },
  {
    method: 'GET',
    path,
    handle: async (request) => {
      const owned = await ownWebhook(ports.commandHandler, request)
      if (E.isLeft(owned)) return owned
      const part = { index: 'by_webhook', equals: owned.right.webhookId, descending: true }
      const page = await pageOf(ports.queries, resends, part, request)
      if (E.isLeft(page)) return page
      const { documents, next_cursor } = page.right
      return E.right({ status: 200, body: { resends: documents.map(shown), next_cursor } })
    },
  },
  {
    method: 'GET',
    path: `${path}/:resend_id`,
    handle: async (request) => {
      const owned = await ownResend(ports, request)
      if (E.isLeft(owned)) return owned
      const { resendId } = owned.right
      const found = await ports.queries.byKey(resends, resendId)
      if (E.isLeft(found)) return found
      // The read model may lag behind what was started in this moment.
      if (found.right === undefined) return E.left({ kind: 'unavailable', reason: 'the resend is not shown yet' })
      return E.right({ status: 200, body: { resend: shown(found.right) } })
    },
  },
  {
    method: 'POST',
    path: `${path}/:resend_id/cancel`,
    handle: async (request, { actor }) => {
      const owned = await ownResend(ports, request)
      if (E.isLeft(owned)) return owned
      const { resendId, webhookId } = owned.right
      const cancelled = await ports.commands.execute(resend, resendId, { type: 'CancelResend', webhookId }, actor)
      if (E.isLeft(cancelled)) return cancelled
      return E.right({ status: 200, body: { resend: { id: resendId, state: cancelled.right.state.kind } } })
    },
  },
]

const ownResend = async ({ commandHandler }: ManagePorts, request: Request): Promise<Either<Problem, KnownResend>> => {
  const owned = await ownWebhook(commandHandler, request)
  if (E.isLeft(owned)) return owned
  const id = request.params['resend_id']
  const found = ResendId.is(id) ? await stateOf(commandHandler, resend, id) : E.right(resend.initial)
  if (E.isLeft(found)) return found
  const state = found.right
  const isOwn = state.kind !== 'unknown' && state.webhookId === owned.right.webhookId
  return isOwn ? E.right(state) : E.left({ kind: 'resend-not-found' })
}

const shown = ({ account_id: _account, ...document }: ResendDocument) => document
