import type { ActivityLabel } from '../../../domain/activity.js'
import type { AccountId, DeliveryId, PlaybookId, WebhookId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import { idIn } from '../../../domain/stream-name.js'
import { webhook, type PayloadFormat, type WebhookSettings } from '../../../domain/webhook.js'
import type { Projection } from '../../projection.js'

/**
 * The webhooks of an account, oldest first. The token is not among what is shown. The fan-out of deliveries begins with
 * these documents and folds them further.
 */
export type WebhookDocument = {
  readonly account_id: AccountId
  readonly id: WebhookId
  readonly url: string
  readonly events: ReadonlyArray<ActivityLabel>
  readonly format: PayloadFormat
  readonly playbook_id: PlaybookId | null
  readonly state: 'on' | 'off'
  readonly turned_off: {
    readonly at: Instant
    readonly reason: string
    /** When the first attempt was due of the delivery that turned it off. */
    readonly failing_since: Instant | null
    readonly delivery_id: DeliveryId
  } | null
  /** How it was turned on last, by whom, and whether what was held was caught up with or skipped. */
  readonly turned_on: { readonly at: Instant; readonly by: string; readonly catch_up: boolean } | null
  /** The newest version, which attempts name: it counts the events of the webhook's stream. */
  readonly version: number
  readonly created_at: Instant
}

export const webhookList: Projection<WebhookDocument> = {
  name: 'webhook_list',
  version: 2,
  categories: ['webhook'],
  indexes: { by_account: ['account_id', 'created_at'], by_state: ['state', 'created_at'] },
  createdBy: new Set(['WebhookAdded']),
  keyOf: (event) => idIn(webhook, event.stream),
  evolve: (document, event) => {
    if (event.type === 'WebhookAdded') {
      const { account_id, webhook_id, settings } = event.data
      const created = { state: 'on', turned_off: null, turned_on: null, version: 1, created_at: event.time } as const
      return { account_id, id: webhook_id, ...shown(settings), ...created }
    }
    if (document === undefined) return undefined
    const changed = { ...document, version: document.version + 1 }
    switch (event.type) {
      case 'WebhookChanged':
        return { ...changed, ...shown(event.data.settings) }
      case 'WebhookSigningSecretIssued':
        return changed
      case 'WebhookTurnedOff': {
        const { reason, failing_since = null, delivery_id } = event.data
        return { ...changed, state: 'off', turned_off: { at: event.time, reason, failing_since, delivery_id } }
      }
      case 'WebhookTurnedOn': {
        const { by, catch_up } = event.data
        return { ...changed, state: 'on', turned_off: null, turned_on: { at: event.time, by, catch_up } }
      }
      case 'WebhookRemoved':
        return undefined
      default:
        return document
    }
  },
}

const shown = ({ url, events, format, playbook_id }: WebhookSettings) => ({ url, events, format, playbook_id })
