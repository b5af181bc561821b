import { newAggregate } from '../../../domain/aggregate.js'
import { WebhookId, type AccountId } from '../../../domain/ids.js'
import { E, flow, TE } from '../../../domain/prelude.js'
import { mostWebhooks, webhook, type WebhookState } from '../../../domain/webhook.js'
import { webhookList, type WebhookDocument } from '../../../projections/read-models/lists/webhook-list.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind, check, execute, pathId, withBody } from '../../http/steps.js'
import { documentsOfAccount, withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'
import { newSigningSecret } from './signing-secrets.js'
import { webhookNotFound } from './webhook-in-path.js'
import { AddRequest, changedSettings, ChangeRequest, newSettings, settingsProblem } from './webhook-settings.js'

const path = '/accounts/:account_id/webhooks'

/** Webhooks (contract 6.1); the token is never shown again, nor is the signing secret. */
export const webhookEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path,
    handle: flow(
      withAccount(ports),
      withBody(AddRequest),
      check(({ account }) => countProblem(ports, account.accountId)),
      check(({ account, body }) => settingsProblem(ports, account.accountId, body)),
      TE.let('secret', () => newSigningSecret(ports)),
      execute(({ account: { accountId }, body, secret: { signing }, caller }) => {
        const webhookId: WebhookId = `whk_${ports.ids.ulid()}`
        const settings = newSettings(body, ports.vault)
        const command = { type: 'AddWebhook', webhookId, accountId, settings, signing } as const
        return ports.clientCommands.execute(webhook, webhookId, command, caller.actor, newAggregate(webhook))
      }),
      answer(201, ({ secret: { shown }, result: { state } }) => ({
        webhook: { ...shownWebhook(state), signing_secret: shown },
      })),
    ),
  },
  {
    method: 'GET',
    path,
    handle: flow(
      withAccount(ports),
      bind('webhooks', ({ account }) => documentsOfAccount(ports, webhookList, account)),
      answer(200, ({ webhooks }) => ({ webhooks: webhooks.map(listed) })),
    ),
  },
  {
    method: 'PATCH',
    path: `${path}/:webhook_id`,
    handle: flow(
      withAccount(ports),
      pathId('webhook_id', WebhookId, webhookNotFound),
      withBody(ChangeRequest),
      check(({ account, body }) => settingsProblem(ports, account.accountId, { url: body.url })),
      execute(({ account: { accountId }, webhook_id, body, caller }) => {
        const command = { type: 'ChangeWebhook', accountId, settings: changedSettings(body, ports.vault) } as const
        return ports.clientCommands.execute(webhook, webhook_id, command, caller.actor)
      }),
      answer(200, ({ result: { state } }) => ({ webhook: shownWebhook(state) })),
    ),
  },
  {
    method: 'DELETE',
    path: `${path}/:webhook_id`,
    handle: flow(
      withAccount(ports),
      pathId('webhook_id', WebhookId, webhookNotFound),
      execute(({ account: { accountId }, webhook_id, caller }) =>
        ports.clientCommands.execute(webhook, webhook_id, { type: 'RemoveWebhook', accountId }, caller.actor),
      ),
      answer(200, ({ webhook_id }) => ({ webhook: { id: webhook_id } })),
    ),
  },
]

export const shownWebhook = (state: WebhookState) => {
  if (state.kind === 'unknown' || state.kind === 'removed') return {}
  const { webhookId: id, settings, kind, version } = state
  const { url, events, format, playbook_id } = settings
  return { id, url, events, format, playbook_id, state: kind, version }
}

/**
 * A protection and no rule of the domain: webhooks are streams of their own, so those that are added at the same time
 * can exceed it. Where the read model can't be read nothing is refused.
 */
const countProblem = async ({ queries }: ManagePorts, accountId: AccountId): Promise<Problem | undefined> => {
  const count = await queries.count(webhookList, { index: 'by_account', equals: [accountId] })
  return E.isRight(count) && count.right >= mostWebhooks ? { kind: 'too-many-webhooks' } : undefined
}

const listed = ({ account_id: _account, ...document }: WebhookDocument) => document
