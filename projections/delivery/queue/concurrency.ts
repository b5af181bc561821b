import type { WebhookResponse } from '../webhook-client.js'

export type ConcurrencyLimit = {
  /** Requests that may be open to the webhook now. */
  readonly requests: number
  /** It answers late or not at all. All slow webhooks share a part of the slots, so that they keep no other waiting. */
  readonly isSlow: boolean
}

/** Requests that are open to one webhook at most. */
export const mostRequests = 8

/** In milliseconds: a webhook whose last attempt took longer is slow. */
const slowFrom = 1_000

export const initialLimit: ConcurrencyLimit = { requests: mostRequests, isSlow: false }

/** A failure halves what may be open, a success adds one to it: an endpoint that recovers is not flooded. */
export const limitAfter = (
  { requests }: ConcurrencyLimit,
  { delivered, durationMs }: WebhookResponse,
): ConcurrencyLimit => ({
  requests: delivered ? Math.min(requests + 1, mostRequests) : Math.max(Math.floor(requests / 2), 1),
  isSlow: durationMs > slowFrom,
})
