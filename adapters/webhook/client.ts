import { isIP } from 'node:net'
import type { Readable } from 'node:stream'
import fetch, { type Response } from 'node-fetch'
import type { MonotonicClock } from '../../domain/ports.js'
import { hostOf, webAddressFromText } from '../../domain/web-address.js'
import { monotonicClock } from '../node/monotonic-clock.js'
import type { WebhookRequest, WebhookResponse, WebhookClient } from '../../projections/delivery/webhook-client.js'
import { isPublicAddress } from './addresses/public-address.js'
import { Exchange } from './exchange.js'
import { connections, type Connections } from './connections.js'
import { deadlines } from './deadlines.js'
import { excerptOf } from './excerpt.js'
import { ForbiddenAddress } from './addresses/forbidden-address.js'
import { noStatusReason } from './reason.js'
import { systemResolve, type Resolve } from './addresses/resolve.js'

export type WebhookClientOptions = {
  readonly allowPrivate: boolean
  readonly resolve?: Resolve
  readonly authorities?: ReadonlyArray<string>
  readonly monotonic?: MonotonicClock
}

/** Bytes of a body that its excerpt is made of: more than are shown, because tokens are cut out of them. */
const excerptSource = 8_192

/** The `WebhookClient` port: posts with node-fetch over pooled connections. */
export const webhookClient = ({
  allowPrivate,
  resolve = systemResolve(),
  authorities,
  monotonic = monotonicClock,
}: WebhookClientOptions): WebhookClient & {
  readonly close: () => void
} => {
  const pool = connections({ allowPrivate, resolve, authorities })
  const limits = deadlines(monotonic)

  const send: WebhookClient['send'] = async (request, signal) => {
    const exchange = new Exchange(monotonic, limits)
    const breakOff = (): void => exchange.breakOff()
    signal.addEventListener('abort', breakOff)
    const ended = (status: number | null, reason: string, excerpt: string | null): WebhookResponse => {
      const times = exchange.times
      return { delivered: reason === delivered, status, reason, durationMs: times.total, times, excerpt }
    }
    try {
      const url = urlOf(request)
      if (url === undefined) return ended(null, 'not an http or https URL', null)
      // An address needs no look-up, which would check it.
      const host = hostOf(url)
      if (!allowPrivate && isIP(host) !== 0 && !isPublicAddress(host)) throw new ForbiddenAddress()
      const { ok, status, body } = await answer(pool, exchange, url, request)
      exchange.isAnswered = true
      const excerpt = excerptOf(await beginningOf(body as Readable), request.token)
      return ended(status, ok ? delivered : `status ${status}`, excerpt)
    } catch (error) {
      return ended(null, exchange.abortReason ?? noStatusReason(error, exchange.isSecuring), null)
    } finally {
      signal.removeEventListener('abort', breakOff)
      exchange.finish()
    }
  }

  return {
    send,
    close: () => {
      pool.close()
      limits.close()
    },
  }
}

const delivered = 'delivered'

/** Without credentials: those of a URL are never sent. */
const urlOf = (request: WebhookRequest): URL | undefined => {
  const url = webAddressFromText(request.url)
  if (url === undefined) return undefined
  url.username = ''
  url.password = ''
  return url
}

/** The response, as soon as its status has come. */
const answer = async (
  { requestFor }: Connections,
  exchange: Exchange,
  url: URL,
  request: WebhookRequest,
): Promise<Response> => {
  for (;;) {
    const body = exchange.beginRequest(request.body)
    const asked = requestFor(exchange, ({ plain, secure }) =>
      fetch(url, {
        method: 'POST',
        body,
        headers: headersOf(request),
        redirect: 'manual',
        compress: false,
        agent: url.protocol === 'https:' ? secure : plain,
        signal: exchange.signal,
      }),
    )
    const response = await asked.catch((error: unknown) => {
      if (!exchange.isConnectionStale) throw error
    })
    if (response !== undefined && !exchange.isConnectionStale) return response
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

/** The beginning of a body, which is read to its end, so that the connection can be reused. */
const beginningOf = async (body: Readable): Promise<Uint8Array> => {
  const pieces: Array<Buffer> = []
  let room = excerptSource
  try {
    for await (const piece of body) {
      if (room > 0) pieces.push((piece as Buffer).subarray(0, room))
      room -= (piece as Buffer).length
    }
  } catch {
    // The status has come: what becomes of the body changes nothing (contract 6.6.2).
  }
  return Buffer.concat(pieces)
}
