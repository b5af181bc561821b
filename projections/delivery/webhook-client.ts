/** One request to a receiver (contract 5 and 6.6). */
export type WebhookRequest = {
  readonly url: string
  readonly token: string
  readonly body: string
  /** The same on every attempt of one delivery. */
  readonly id: string
  /** Unix time of this attempt in seconds. */
  readonly timestamp: number
  /** The signatures of Standard Webhooks, with a space between them; empty where the webhook has no signing secret. */
  readonly signature: string
}

/**
 * `status` is null where no response came. `reason` says in a few words how it ended, and holds nothing of the body.
 */
export type WebhookResponse = {
  readonly delivered: boolean
  readonly status: number | null
  readonly reason: string
  readonly durationMs: number
  readonly times?: WebhookTimes
  /**
   * How the response's body begins, printable and without the token; null where no response came. A receiver may repeat
   * the personal values that were posted, so it is stored only beside the posted body, and never logged.
   */
  readonly excerpt?: string | null
}

/**
 * When each step was done, in whole milliseconds after the attempt began; null where it was not needed or not reached.
 */
export type WebhookTimes = {
  readonly dns: number | null
  readonly connect: number | null
  readonly tls: number | null
  readonly firstByte: number | null
  readonly total: number
}

/** Posts to a receiver within the limits of contract 6.6, and breaks off when `signal` aborts. Never rejects. */
export type WebhookClient = {
  readonly send: (request: WebhookRequest, signal: AbortSignal) => Promise<WebhookResponse>
}

/** The answer where nothing can be sent, because the service has another key than the one that sealed the token. */
export const unsealable: WebhookResponse = {
  delivered: false,
  status: null,
  reason: 'the token could not be unsealed',
  durationMs: 0,
}
