import { WebhookId } from '../../../domain/ids.js'
import { flow } from '../../../domain/prelude.js'
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
  withWebhookThat<Context, KnownWebhook>(ports, (state) =>
    state.kind === 'on' || state.kind === 'off' ? state : undefined,
  )

/** As `withWebhook`, but that the webhook may have been removed since. */
export const withWebhookOrRemoved = <Context extends HasRequest>(ports: Ports) =>
  withWebhookThat<Context, AddedWebhook>(ports, (state) => (state.kind === 'unknown' ? undefined : state))

type AddedWebhook = Exclude<WebhookState, { readonly kind: 'unknown' }>

const withWebhookThat = <Context extends HasRequest, Webhook extends AddedWebhook>(
  { commandHandler }: Ports,
  accepted: (state: WebhookState) => Webhook | undefined,
) =>
  flow(
    withAccount<Context>({ commandHandler }),
    pathId('webhook_id', WebhookId, webhookNotFound),
    bind('webhook', ({ account: { accountId }, webhook_id }) => {
      const own = (state: WebhookState) => {
        const found = accepted(state)
        return found?.accountId === accountId ? found : undefined
      }
      return ownState(commandHandler, webhook, webhook_id, own, webhookNotFound)
    }),
  )
