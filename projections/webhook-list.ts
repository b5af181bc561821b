import type { ActivityLabel } from '../domain/activity.js'
import type { AccountId, PlaybookId, WebhookId } from '../domain/ids.js'
import type { Instant } from '../domain/instant.js'
import type { PayloadFormat, WebhookSettings } from '../domain/webhook.js'
import type { Projection } from './projection.js'

/** The webhooks of an account, oldest first. The token is not among what is shown. */
export type WebhookDocument = {
  readonly account_id: AccountId
  readonly id: WebhookId
  readonly url: string
  readonly events: ReadonlyArray<ActivityLabel>
  readonly format: PayloadFormat
  readonly playbook_id: PlaybookId | null
  readonly state: 'on' | 'off'
  readonly turned_off: { readonly at: Instant; readonly reason: string } | null
  readonly created_at: Instant
}

export const webhookList: Projection<WebhookDocument> = {
  name: 'webhook_list',
  version: 1,
  categories: ['webhook'],
  indexes: { by_account: ['account_id', 'created_at'] },
  begins: new Set(['WebhookAdded']),
  keyOf: (event) => (event.stream.startsWith('webhook-') ? event.stream.slice('webhook-'.length) : undefined),
  evolve: (document, event) => {
    if (event.type === 'WebhookAdded') {
      const { account_id, webhook_id, settings } = event.data
      const created = { state: 'on', turned_off: null, created_at: event.time } as const
      return { account_id, id: webhook_id, ...shown(settings), ...created }
    }
    if (document === undefined) return undefined
    switch (event.type) {
      case 'WebhookChanged':
        return { ...document, ...shown(event.data.settings) }
      case 'WebhookTurnedOff':
        return { ...document, state: 'off', turned_off: { at: event.time, reason: event.data.reason } }
      case 'WebhookRemoved':
        return undefined
      default:
        return document
    }
  },
}

const shown = ({ url, events, format, playbook_id }: WebhookSettings) => ({ url, events, format, playbook_id })
