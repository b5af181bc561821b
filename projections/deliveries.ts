import type { ActivityLabel } from '../domain/activity.js'
import type { AttemptOutcome } from '../domain/delivery.js'
import type { AccountId, ContactId, DeliveryId, EngagementId, WebhookId } from '../domain/ids.js'
import type { Instant } from '../domain/instant.js'
import type { Projection } from './projection.js'

/** A delivery without its body, which stands in the delivery's stream alone. */
export type DeliveryDocument = {
  readonly account_id: AccountId
  readonly id: DeliveryId
  readonly webhook_id: WebhookId
  readonly contact_id: ContactId
  readonly engagement_id: EngagementId
  readonly label: ActivityLabel
  readonly state: 'due' | 'held' | 'succeeded' | 'abandoned'
  readonly created_at: Instant
  readonly attempts: number
  readonly last_outcome: AttemptOutcome | null
  /** Present only while the delivery is due: its webhook and whether the next attempt is the first. */
  readonly lane?: string
  /** Present only while the delivery is due. */
  readonly next_attempt_at?: Instant
  /** Present only while the delivery is held: its webhook. */
  readonly held_for?: WebhookId
}

/** First attempts go before retries, so each webhook has a lane for either (design, section 5). */
export const laneOf = (webhook: WebhookId, attempt: 'first' | 'retry'): string => `${webhook}/${attempt}`

export const deliveries: Projection<DeliveryDocument> = {
  name: 'deliveries',
  version: 2,
  categories: ['delivery'],
  indexes: {
    due: ['lane', 'next_attempt_at'],
    held: ['held_for', 'created_at'],
    by_webhook: ['webhook_id', 'created_at'],
  },
  begins: new Set(['DeliveryDue']),
  keyOf: (event) => (event.stream.startsWith('delivery-') ? event.stream.slice('delivery-'.length) : undefined),
  evolve: (document, event) => {
    if (event.type === 'DeliveryDue') {
      const { account_id, delivery_id, webhook_id, contact_id, engagement_id, label, due_at } = event.data
      return {
        account_id,
        id: delivery_id,
        webhook_id,
        contact_id,
        engagement_id,
        label,
        state: 'due',
        created_at: event.time,
        attempts: 0,
        last_outcome: null,
        lane: laneOf(webhook_id, 'first'),
        next_attempt_at: due_at,
      }
    }
    if (document === undefined) return undefined
    switch (event.type) {
      case 'DeliveryAttemptFailed': {
        const { outcome, next_attempt_at } = event.data
        const tried = { ...document, attempts: outcome.attempt, last_outcome: outcome }
        // The attempt may have been under way when the delivery was held.
        return document.state === 'held'
          ? tried
          : { ...tried, lane: laneOf(document.webhook_id, 'retry'), next_attempt_at }
      }
      case 'DeliverySucceeded': {
        const { outcome } = event.data
        return { ...settled(document), state: 'succeeded', attempts: outcome.attempt, last_outcome: outcome }
      }
      case 'DeliveryAbandoned': {
        const { outcome } = event.data
        const tried = outcome === null ? {} : { attempts: outcome.attempt, last_outcome: outcome }
        return { ...settled(document), state: 'abandoned', ...tried }
      }
      case 'DeliveryHeld':
        return { ...settled(document), state: 'held', held_for: document.webhook_id }
      default:
        return document
    }
  },
}

const settled = ({
  lane: _lane,
  next_attempt_at: _next,
  held_for: _held,
  ...document
}: DeliveryDocument): DeliveryDocument => document
