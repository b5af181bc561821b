import type { DeliveryId, WebhookId } from '../../../domain/ids.js'
import type { Lease } from '../../subscriptions/leases.js'
import { firstPace, type Pace } from './concurrency.js'

/** Kinds of attempts, in the order in which they go (design, section 5). */
export const attemptKinds = ['first', 'resend', 'retry', 'caught-up'] as const
export type AttemptKind = (typeof attemptKinds)[number]

/** One webhook's way out: a lane that stands still keeps no other waiting. */
export type Lane = {
  readonly webhookId: WebhookId
  /** Under which this process, and no other, posts to the webhook. */
  readonly lease: Lease
  /** Deliveries whose request is open. */
  readonly open: Map<DeliveryId, Promise<void>>
  /** Deliveries that the read model still shows as due, although they wait here, are open, or were just tried. */
  readonly taken: Set<DeliveryId>
  /** First attempts that were read ahead, oldest first. */
  readonly ahead: Array<DeliveryId>
  /** Kinds that come so seldom that they are looked for only when there may be some. */
  readonly rare: Set<'resend' | 'caught-up'>
  /** What is under way besides: a backlog that is settled, a resend of many. */
  readonly chores: Set<Promise<void>>
  pace: Pace
  filling: boolean
  /** Something changed while the lane was being filled. */
  again: boolean
  alarm: AbortController | undefined
}

export const laneTo = (webhookId: WebhookId, lease: Lease): Lane => ({
  webhookId,
  lease,
  open: new Map(),
  taken: new Set(),
  ahead: [],
  rare: new Set(['resend', 'caught-up']),
  chores: new Set(),
  pace: firstPace,
  filling: false,
  again: false,
  alarm: undefined,
})
