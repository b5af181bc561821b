import { AsyncLocalStorage } from 'node:async_hooks'
import { lookup } from 'node:dns/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { isIP, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import type { Duplex, Readable } from 'node:stream'
import fetch, { FetchError, type Response } from 'node-fetch'
import type { WebhookRequest, WebhookResponse, WebhookSender } from '../projections/delivery/sender.js'
import { ForbiddenAddress, hostOf, isPublicAddress, publicLookup } from './public-address.js'

/** Contract 6.6.1: 3 s to connect, name look-up and TLS included, then 3 s more for the whole response. */
const connectTimeout = 3_000
const responseTimeout = 3_000

/** What is read of a response at most; the connection of a longer one is closed. */
const maximalResponse = 16_384

/** Posts with node-fetch over connections that are kept and used again. */
export const webhookSender = ({
  allowPrivate,
}: {
  readonly allowPrivate: boolean
}): WebhookSender & {
  readonly close: () => void
} => {
  const plain = timed(new http.Agent({ keepAlive: true, ...guard(allowPrivate) }))
  const secure = timed(new https.Agent({ keepAlive: true, ...guard(allowPrivate) }))

  const send = async (request: WebhookRequest): Promise<WebhookResponse> => {
    const started = performance.now()
    const attempt = new Attempt()
    const ended = (delivered: boolean, status: number | null, reason: string): WebhookResponse => ({
      delivered,
      status,
      reason,
      durationMs: Math.round(performance.now() - started),
    })
    try {
      const url = new URL(request.url)
      if (!allowPrivate && isIP(hostOf(url)) !== 0 && !isPublicAddress(hostOf(url))) throw new ForbiddenAddress()
      const response = await attempts.run(attempt, () => {
        const answer = fetch(url, {
          method: 'POST',
          body: request.body,
          headers: headersOf(request),
          redirect: 'manual',
          compress: false,
          agent: url.protocol === 'https:' ? secure : plain,
          signal: attempt.signal,
        })
        // A connection that is used again needs no time to be made.
        if (!attempt.isConnecting) attempt.connected()
        return answer
      })
      // The status has come: what becomes of the body changes nothing (contract 6.6.2).
      await drained(response).catch(() => undefined)
      return ended(response.ok, response.status, response.ok ? 'delivered' : `status ${response.status}`)
    } catch (error) {
      return ended(false, null, attempt.timedOut ?? reasonOf(error))
    } finally {
      attempt.end()
    }
  }

  return {
    send,
    close: () => {
      plain.destroy()
      secure.destroy()
    },
  }
}

/** Why a URL can't be a webhook's; undefined when it can. A name that does not resolve yet is left to the first attempt. */
export const webhookUrlProblem = async (text: string, allowPrivate: boolean): Promise<string | undefined> => {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) return 'must be an http or https URL'
  if (url.username !== '' || url.password !== '') return 'must not hold credentials'
  if (allowPrivate) return undefined
  const host = hostOf(url)
  const addresses = isIP(host) === 0 ? await lookup(host, { all: true }).catch(() => []) : [{ address: host }]
  return addresses.every(({ address }) => isPublicAddress(address)) ? undefined : 'must not lead to a private address'
}

/** The two clocks of one attempt. */
class Attempt {
  isConnecting = false
  timedOut: string | undefined
  readonly #controller = new AbortController()
  #timer: NodeJS.Timeout | undefined

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  connecting(): void {
    this.isConnecting = true
    this.#within(connectTimeout, 'no connection within 3 s')
  }

  connected(): void {
    this.#within(responseTimeout, 'no response within 3 s')
  }

  end(): void {
    clearTimeout(this.#timer)
  }

  #within(milliseconds: number, reason: string): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.timedOut = reason
      this.#controller.abort()
    }, milliseconds)
  }
}

const attempts = new AsyncLocalStorage<Attempt>()

type Connecting = {
  createConnection: (options: object, made?: (error: Error | null, socket: Duplex) => void) => Socket
}

/** An agent whose new connections tell the attempt that made them when they stand. */
const timed = <A extends http.Agent>(agent: A): A => {
  const connecting = agent as A & Connecting
  const create = connecting.createConnection.bind(agent)
  connecting.createConnection = (options, made) => {
    const attempt = attempts.getStore()
    attempt?.connecting()
    const socket = create(options, made)
    socket.once(agent instanceof https.Agent ? 'secureConnect' : 'connect', () => {
      attempt?.connected()
    })
    return socket
  }
  return agent
}

const guard = (allowPrivate: boolean): { readonly lookup?: typeof publicLookup } =>
  allowPrivate ? {} : { lookup: publicLookup }

const headersOf = ({ token, id, timestamp, signature }: WebhookRequest): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
  'user-agent': 'Leadloop',
  'webhook-id': id,
  'webhook-timestamp': String(timestamp),
  ...(signature === '' ? {} : { 'webhook-signature': signature }),
})

/** Reads the body to its end, so that the connection can be used again, or cuts it off. */
const drained = async (response: Response): Promise<void> => {
  let length = 0
  for await (const chunk of response.body as Readable) {
    length += (chunk as Buffer).length
    if (length > maximalResponse) return
  }
}

const reasonOf = (error: unknown): string => {
  if (error instanceof FetchError && error.code !== undefined) return `no response (${error.code})`
  if (error instanceof ForbiddenAddress || (error instanceof Error && error.message.includes('is not public'))) {
    return 'the address is not public'
  }
  return 'no response'
}
