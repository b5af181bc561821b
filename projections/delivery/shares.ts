import type { WebhookId } from '../../domain/ids.js'

/**
 * The names under which delivery workers share out the webhooks. All that goes to one webhook lies in one share, so that the
 * cap on its open requests and the order of its attempts hold over all processes.
 */
export const shares: ReadonlyArray<string> = Array.from({ length: 64 }, (_, n) => `webhooks_${n}`)

/** The last letters of an id are random. */
export const shareOf = (webhookId: WebhookId): string => {
  const number = webhookId.charCodeAt(webhookId.length - 1) * 32 + webhookId.charCodeAt(webhookId.length - 2)
  return `webhooks_${number % shares.length}`
}
