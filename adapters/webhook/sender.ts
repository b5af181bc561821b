import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import fetch, { type Response } from 'node-fetch'
import type { WebhookRequest, WebhookResponse, WebhookSender } from '../../projections/delivery/sender.js'
import { isPublicAddress } from './addresses/public-address.js'
import { Attempt } from './attempt.js'
import { connections, type Connections } from './connections.js'
import { excerptOf } from './excerpt.js'
import { ForbiddenAddress } from './addresses/forbidden-address.js'
import { reasonOf } from './reason.js'
import { systemResolve, type Resolve } from './addresses/resolve.js'

export type SenderOptions = {
  readonly allowPrivate: boolean
  readonly resolve?: Resolve
  readonly authorities?: ReadonlyArray<string>
}

/** Bytes of a body that are kept for its excerpt: tokens are cut out of them, so more than are shown. */
const keptOfBody = 8_192

/** Posts with node-fetch over connections that are kept and used again. */
export const webhookSender = ({
  allowPrivate,
  resolve = systemResolve(),
  authorities,
}: SenderOptions): WebhookSender & {
  readonly close: () => void
} => {
  const open = connections({ allowPrivate, resolve, authorities })

  const send = async (request: WebhookRequest): Promise<WebhookResponse> => {
    const attempt = new Attempt()
    const ended = (status: number | null, reason: string, excerpt: string | null): WebhookResponse => {
      const times = attempt.times
      return { delivered: reason === delivered, status, reason, durationMs: times.total, times, excerpt }
    }
    try {
      const url = urlOf(request)
      if (url === undefined) return ended(null, 'not an http or https URL', null)
      // No name is looked up for an address, so this is the one that is connected to.
      const host = url.hostname.replace(/^\[|\]$/g, '')
      if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) throw new ForbiddenAddress()
      const { ok, status, body } = await answer(open, attempt, url, request)
      attempt.isAnswered = true
      const excerpt = excerptOf(await beginningOf(body as Readable), request.token)
      return ended(status, ok ? delivered : `status ${status}`, excerpt)
    } catch (error) {
      return ended(null, attempt.endedBy ?? reasonOf(error, attempt.isSecuring), null)
    } finally {
      attempt.end()
    }
  }

  return { send, close: open.close }
}

const delivered = 'delivered'

/** Without credentials, which have no place in a webhook's URL and are not to be sent. */
const urlOf = (request: WebhookRequest): URL | undefined => {
  const url = URL.canParse(request.url) ? new URL(request.url) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) return undefined
  url.username = ''
  url.password = ''
  return url
}

/** Resolves when the status has come. */
const answer = async (
  { during }: Connections,
  attempt: Attempt,
  url: URL,
  request: WebhookRequest,
): Promise<Response> => {
  for (;;) {
    const body = attempt.begin(request.body)
    const asked = during(attempt, ({ plain, secure }) =>
      fetch(url, {
        method: 'POST',
        body,
        headers: headersOf(request),
        redirect: 'manual',
        compress: false,
        agent: url.protocol === 'https:' ? secure : plain,
        signal: attempt.signal,
      }),
    )
    const response = await asked.catch((error: unknown) => {
      if (!attempt.isStale) throw error
    })
    if (response !== undefined && !attempt.isStale) return response
  }
}

const headersOf = ({ token, body, id, timestamp, signature }: WebhookRequest): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  'content-length': String(Buffer.byteLength(body)),
  'accept-encoding': 'identity',
  'user-agent': 'Leadloop',
  'webhook-id': id,
  'webhook-timestamp': String(timestamp),
  ...(signature === '' ? {} : { 'webhook-signature': signature }),
})

/** Reads a body to its end, so that the connection can be used again, and keeps how it begins. */
const beginningOf = async (body: Readable): Promise<Uint8Array> => {
  const kept = Buffer.allocUnsafe(keptOfBody)
  let length = 0
  try {
    for await (const piece of body) length += (piece as Buffer).copy(kept, length)
  } catch {
    // The status has come: what becomes of the body changes nothing (contract 6.6.2).
  }
  return kept.subarray(0, length)
}
