import type { DeliveryId, WebhookId } from '../../../domain/ids.js'
import { wakeUp, type WakeUp } from '../../../domain/wake-up.js'
import type { ParkedUnderLease } from '../../parking/parked-work.js'
import type { Lease } from '../../subscriptions/leases.js'
import { initialLimit, type ConcurrencyLimit } from './concurrency.js'

/**
 * Kinds of attempts, in the order in which a queue begins them, so that new activity does not wait for old: first
 * attempts, resends that somebody asked for, retries, and what is caught up with after the webhook was turned on. While
 * a retry is due, every second attempt is one: else a busy webhook whose receiver is silent would never be turned off.
 */
export type AttemptKind = 'first' | 'resend' | 'retry' | 'caught-up'

/** Kinds of which there are few at most times: the read model is asked for them only where there may be some. */
export type ExpectedKind = Exclude<AttemptKind, 'first'>

/**
 * The queue of one webhook. One whose receiver does not answer delays no other. Set aside are deliveries, or all of the
 * queue under the id of the webhook.
 */
export type WebhookQueue = ParkedUnderLease & {
  readonly webhookId: WebhookId
  /** Under which this process, and no other, posts to the webhook. */
  readonly lease: Lease
  /** Attempts that are in flight, by their deliveries. */
  readonly inFlight: Map<DeliveryId, Promise<void>>
  /** Those of them whose request is over: how it ended is being recorded. */
  readonly answered: Set<DeliveryId>
  /**
   * Deliveries that must not be begun although the read model may show them as due: they are read ahead, in flight, or
   * their last attempt does not show in the read model yet.
   */
  readonly reserved: Set<DeliveryId>
  /** First attempts that were read from the read model together and wait to be begun, oldest first. */
  readonly readAhead: Array<DeliveryId>
  /** The kinds, beside first attempts, of which the read model may show some now. */
  readonly expected: Set<ExpectedKind>
  /** The last attempt was no retry, so that the next one is, where one is due. */
  isRetryNext: boolean
  limit: ConcurrencyLimit
  isFilling: boolean
  /** Something changed while the queue was being filled, so it is filled once more. */
  needsRefill: boolean
  /** Ends the wait for the next retry. */
  timer: AbortController | undefined
  /** Woken when the read model shows how the attempt of a resend ended. The bulk resend waits for it. */
  readonly resendEnded: WakeUp
}

/** Deliveries that one queue reserves: while the read model stands still, no more are begun than it can wait for. */
const mostReserved = 1_000

export const isFull = ({ reserved }: WebhookQueue): boolean => reserved.size >= mostReserved

/** Whether nothing of it has still to end, or is known of it that a new one would not be told. */
export const isAtRest = ({ isFilling, reserved, inFlight, setAside, retried }: WebhookQueue): boolean =>
  !isFilling && [reserved, inFlight, setAside, retried].every(({ size }) => size === 0)

/** A queue of which nothing is known yet: there may be due deliveries of each kind. */
export const webhookQueue = (webhookId: WebhookId, lease: Lease): WebhookQueue => ({
  webhookId,
  lease,
  inFlight: new Map(),
  answered: new Set(),
  reserved: new Set(),
  setAside: new Map(),
  retried: new Map(),
  readAhead: [],
  expected: new Set(['resend', 'retry', 'caught-up']),
  isRetryNext: false,
  limit: initialLimit,
  isFilling: false,
  needsRefill: false,
  timer: undefined,
  resendEnded: wakeUp(),
})
