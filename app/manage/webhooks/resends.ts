import { newAggregate } from '../../../domain/aggregate.js'
import { objectWith, type t } from '../../../domain/codec.js'
import { ResendId } from '../../../domain/ids.js'
import { InstantFromText } from '../../../domain/instant.js'
import { flow, TE, type TaskEither } from '../../../domain/prelude.js'
import { resend, type KnownResend, type ResendState } from '../../../domain/resend.js'
import type { KnownWebhook } from '../../../domain/webhook.js'
import { resends, type ResendDocument } from '../../../projections/read-models/resends.js'
import { ownState } from '../../commands/states/own-state.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind, bindOr, check, execute, pathId, withBody, withoutFields } from '../../http/steps.js'
import type { Operator } from '../operator.js'
import { withPage } from '../page.js'
import type { ManagePorts } from '../ports.js'
import { withWebhook } from './webhook-in-path.js'

/** When the deliveries became due. */
const StartRequest = objectWith({ from: InstantFromText, to: InstantFromText })
type StartRequest = t.TypeOf<typeof StartRequest>

const path = '/accounts/:account_id/webhooks/:webhook_id/resends'

const notFound: Problem = { kind: 'resend-not-found' }

/** The read model has not caught up yet with what was started a moment ago. */
const notProjectedYet: Problem = { kind: 'unavailable', reason: 'the resend is not projected yet' }

/** Resends of all deliveries of a period that failed: their progress, and their end. */
export const resendEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path,
    handle: flow(
      withWebhook(ports),
      withBody(StartRequest),
      check(({ body }) => periodProblem(body)),
      TE.let('resendId', (): ResendId => `rsd_${ports.ids.ulid()}`),
      execute(({ webhook: { webhookId, accountId }, body: { from, to }, resendId, caller }) => {
        const command = { type: 'StartResend', resendId, accountId, webhookId, from, to } as const
        return ports.clientCommands.execute(resend, resendId, command, caller.actor, newAggregate(resend))
      }),
      answer(202, ({ resendId, webhook, body: { from, to } }) => ({
        resend: { id: resendId, webhook_id: webhook.webhookId, from, to, state: 'running' },
      })),
    ),
  },
  {
    method: 'GET',
    path,
    handle: flow(
      withWebhook(ports),
      withPage(ports.queries, resends, ({ webhook }) => ({
        index: 'by_webhook',
        equals: [webhook.webhookId],
        descending: true,
      })),
      answer(200, ({ page }) => ({ resends: page.documents.map(shown), next_cursor: page.next_cursor })),
    ),
  },
  {
    method: 'GET',
    path: `${path}/:resend_id`,
    handle: flow(
      withWebhook(ports),
      pathId('resend_id', ResendId, notFound),
      bind('resend', ({ webhook, resend_id }) => resendOf(ports, webhook, resend_id)),
      bindOr('document', ({ resend: { resendId } }) => ports.queries.byKey(resends, resendId), notProjectedYet),
      answer(200, ({ document }) => ({ resend: shown(document) })),
    ),
  },
  {
    method: 'POST',
    path: `${path}/:resend_id/cancel`,
    handle: flow(
      withWebhook(ports),
      pathId('resend_id', ResendId, notFound),
      withoutFields(),
      bind('resend', ({ webhook, resend_id }) => resendOf(ports, webhook, resend_id)),
      execute(({ resend: { resendId, webhookId }, caller }) =>
        ports.clientCommands.execute(resend, resendId, { type: 'CancelResend', webhookId }, caller.actor),
      ),
      answer(200, ({ resend: { resendId }, result }) => ({ resend: { id: resendId, state: result.state.kind } })),
    ),
  },
]

const periodProblem = ({ from, to }: StartRequest): Problem | undefined =>
  from > to ? { kind: 'invalid', messages: ['to must not lie before from'] } : undefined

/** A resend to this webhook. */
const resendOf = (
  { commandHandler }: ManagePorts,
  { webhookId }: KnownWebhook,
  id: ResendId,
): TaskEither<Problem, KnownResend> => {
  const own = (state: ResendState) => (state.kind !== 'unknown' && state.webhookId === webhookId ? state : undefined)
  return ownState(commandHandler, resend, id, own, notFound)
}

const shown = ({ account_id: _account, ...document }: ResendDocument) => document
