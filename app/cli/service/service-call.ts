import fetch, { FetchError } from 'node-fetch'
import { withinLimit } from '../../../domain/abortable.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { toldReason } from '../run.js'

export type Called = { readonly status: number; readonly body: unknown }

/** Calls the management API. Left: one sentence that says why there is no answer. */
export type Call = (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<Either<string, Called>>

/** In milliseconds: longer than a request waits for what follows from it, and for stores that hang. */
const longestCall = 60_000

/** Calls the service at `site`, `http://host:port`, with the operator's key. */
export const callOf =
  (site: string, key: string, monotonic: MonotonicClock): Call =>
  (method, path, body) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const mayGoOn = method === 'POST' ? ' It may still do what it was asked for.' : ''
    return answerOf({ site, limit: longestCall, monotonic, mayGoOn }, async (signal) => {
      const response = await fetch(`${site}/manage/v1${path}`, { method, headers, ...sent, signal })
      return { status: response.status, body: await response.json() }
    })
  }

type Asked = {
  readonly site: string
  /** In milliseconds. */
  readonly limit: number
  readonly monotonic: MonotonicClock
  /** What is told of a request beside why nothing answered it, where it may have come to something that listens. */
  readonly mayGoOn?: string
}

/** What `ask` gives. Left: one sentence, also where it gives nothing within the limit. */
export const answerOf = async <A>(
  { site, limit, monotonic, mayGoOn = '' }: Asked,
  ask: (signal: AbortSignal) => Promise<A>,
): Promise<Either<string, A>> => {
  try {
    const answer = await withinLimit(monotonic, limit, ask)
    return answer === undefined
      ? E.left(`What listens at ${site} gave no answer within ${limit / 1000} seconds.${mayGoOn}`)
      : E.right(answer)
  } catch (error) {
    return E.left(`${toldReason(error)}.${isRefused(error) ? '' : mayGoOn}`)
  }
}

/** Nothing listens there. */
export const isRefused = (error: unknown): boolean => error instanceof FetchError && error.code === 'ECONNREFUSED'
