import type { WebhookResponse } from '../sender.js'

/** How hard a webhook may be posted to. */
export type Pace = {
  /** Requests that may be open to it now. */
  readonly allowed: number
  /** It answers late or not at all: all such share a part of what may be open, so that they keep no other waiting. */
  readonly isSlow: boolean
}

/** Requests that are open to one webhook at most. */
export const openPerWebhook = 8

/** In milliseconds: an attempt that takes longer is slow. */
const slow = 1_000

export const firstPace: Pace = { allowed: openPerWebhook, isSlow: false }

/** Each failure halves what is allowed, each success adds one: an endpoint that recovers is not flooded. */
export const paceAfter = ({ allowed }: Pace, { delivered, durationMs }: WebhookResponse): Pace => ({
  allowed: delivered ? Math.min(allowed + 1, openPerWebhook) : Math.max(Math.floor(allowed / 2), 1),
  isSlow: durationMs > slow,
})
