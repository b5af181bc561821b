import type { AccountId, ResendId, WebhookId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { resend, type KnownResend } from '../../domain/resend.js'
import { idIn } from '../../domain/stream-name.js'
import type { Projection } from '../projection.js'

/**
 * A resend of many deliveries and how far it has come; `requested` less `delivered` less `failed` wait to be posted.
 */
export type ResendDocument = {
  readonly account_id: AccountId
  readonly id: ResendId
  readonly webhook_id: WebhookId
  readonly from: Instant
  readonly to: Instant
  readonly state: KnownResend['kind']
  readonly requested: number
  readonly delivered: number
  readonly failed: number
  readonly created_at: Instant
  readonly ended_at: Instant | null
}

export const resends: Projection<ResendDocument> = {
  name: 'resends',
  version: 3,
  categories: ['resend', 'delivery'],
  indexes: { by_webhook: ['webhook_id', 'created_at'], by_state: ['state', 'created_at'] },
  createdBy: new Set(['ResendStarted']),
  keyOf: (event) => {
    switch (event.type) {
      case 'ResendStarted':
      case 'ResendCancelled':
      case 'ResendCompleted':
      case 'ResendCounted':
        return idIn(resend, event.stream)
      case 'DeliveryResendRequested':
      case 'DeliveryResent':
        return event.data.resend_id ?? undefined
      default:
        return undefined
    }
  },
  evolve: (document, event) => {
    if (event.type === 'ResendStarted') {
      const { resend_id: id, ...facts } = event.data
      const begun = { state: 'running', requested: 0, delivered: 0, failed: 0, ended_at: null } as const
      return { id, ...facts, ...begun, created_at: event.time }
    }
    if (document === undefined) return undefined
    switch (event.type) {
      case 'ResendCancelled':
        return { ...document, state: 'cancelled', ended_at: event.time }
      case 'ResendCompleted':
        return { ...document, state: 'completed', ended_at: event.time }
      case 'ResendCounted':
        return { ...document, ...furthest(document, event.data) }
      case 'DeliveryResendRequested':
        return { ...document, requested: document.requested + 1 }
      case 'DeliveryResent': {
        const count = event.data.delivered ? 'delivered' : 'failed'
        return { ...document, [count]: document[count] + 1 }
      }
      default:
        return document
    }
  },
}

type Counts = Pick<ResendDocument, 'requested' | 'delivered' | 'failed'>

/**
 * Each count only grows: other deliveries may have gone on since what is recorded was counted, and before it was
 * recorded.
 */
const furthest = (shown: Counts, recorded: Counts): Counts => ({
  requested: Math.max(shown.requested, recorded.requested),
  delivered: Math.max(shown.delivered, recorded.delivered),
  failed: Math.max(shown.failed, recorded.failed),
})
