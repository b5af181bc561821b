import type { Activity } from '../../../domain/activity.js'
import { idIn } from '../../../domain/decider.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { AccountId, WebhookId } from '../../../domain/ids.js'
import type { EventStore } from '../../../domain/ports.js'
import { webhook, type KnownWebhook, type WebhookEvent, type WebhookState } from '../../../domain/webhook.js'
import { decodableHistory } from '../../parking/decodable-history.js'
import type { ProjectedEvent } from '../../projection.js'

/** The webhooks as they were where the log was followed to. */
export const followedWebhooks = (store: EventStore) => {
  const webhooks = new Map<AccountId, Map<WebhookId, WebhookState>>()
  const accounts = new Map<WebhookId, AccountId>()

  const apply = (event: ProjectedEvent & WebhookEvent): void => {
    const id = idIn(webhook, event.stream) as WebhookId
    if (event.type === 'WebhookAdded') accounts.set(id, event.data.account_id)
    const account = accounts.get(id)
    if (account === undefined) return
    const known = webhooks.get(account) ?? new Map<WebhookId, WebhookState>()
    webhooks.set(account, known.set(id, webhook.evolve(known.get(id) ?? webhook.initial, event)))
  }
  const subscribed = (activity: Activity): ReadonlyArray<KnownWebhook> =>
    [...(webhooks.get(activity.account_id)?.values() ?? [])].filter(
      (one): one is KnownWebhook => (one.kind === 'on' || one.kind === 'off') && isSubscribed(one, activity),
    )
  const load = async (upTo: Position, signal: AbortSignal): Promise<void> => {
    webhooks.clear()
    accounts.clear()
    for await (const { events } of decodableHistory(store, beginning, ['webhook'], signal)) {
      for (const event of events) if (event.position <= upTo && isWebhookEvent(event)) apply(event)
    }
  }
  return { apply, subscribed, load }
}

export const isWebhookEvent = (event: ProjectedEvent): event is ProjectedEvent & WebhookEvent =>
  idIn(webhook, event.stream) !== undefined

/** Without any label a webhook is subscribed to all of them (contract 6.1). */
const isSubscribed = ({ settings }: KnownWebhook, activity: Activity): boolean =>
  (settings.events.length === 0 || settings.events.includes(activity.label)) &&
  (settings.playbook_id === null || settings.playbook_id === activity.playbook_id)
