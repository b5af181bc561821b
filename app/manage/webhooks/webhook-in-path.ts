import { WebhookId, type AccountId } from '../../../domain/ids.js'
import { flow, type TaskEither } from '../../../domain/prelude.js'
import { webhook, type KnownWebhook, type WebhookState } from '../../../domain/webhook.js'
import { ownState } from '../../commands/states/own-state.js'
import type { HasRequest } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { bind, pathId } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { ManagePorts } from '../ports.js'

type Ports = Pick<ManagePorts, 'commandHandler'>

export const webhookNotFound: Problem = { kind: 'webhook-not-found' }

/** Adds the `account` and its `webhook` that the path names. */
export const withWebhook = <Context extends HasRequest>(ports: Ports) =>
  flow(
    withAccount<Context>(ports),
    pathId('webhook_id', WebhookId, webhookNotFound),
    bind('webhook', ({ account, webhook_id }) => webhookOf(ports, account.accountId, webhook_id)),
  )

const webhookOf = (
  { commandHandler }: Ports,
  accountId: AccountId,
  id: WebhookId,
): TaskEither<Problem, KnownWebhook> => {
  const own = (state: WebhookState) =>
    (state.kind === 'on' || state.kind === 'off') && state.accountId === accountId ? state : undefined
  return ownState(commandHandler, webhook, id, own, webhookNotFound)
}
