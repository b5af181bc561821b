import fetch, { FetchError } from 'node-fetch'
import { withinLimit } from '../../domain/abortable.js'
import { decode, t } from '../../domain/codec.js'
import type { MonotonicClock } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import type { Consent, ConsentAnswer, ConsentVerifier } from '../../projections/follow-up/consent-verifier.js'
import { errorCodeOf } from '../node/error-code.js'
import { monotonicClock } from '../node/monotonic-clock.js'
import { refusalReason } from './refusal-reason.js'

/** Milliseconds that a service may take, from the look-up of its name to the end of its answer. */
const longestCheck = 5_000

/** Bytes of an answer that are read at most. */
const largestAnswer = 16_384

/** The answer of a service. */
const Answer = t.intersection(
  [t.type({ verified: t.boolean }), t.partial({ reason: t.union([t.string, t.null]) })],
  'an answer',
)

/**
 * The `ConsentVerifier` port: asks the service at this address. Without one no lead that comes waits for it; what waits
 * already must not pass because a process lacks the setting.
 */
export const consentVerifier = (
  address: string | undefined,
  monotonic: MonotonicClock = monotonicClock,
): ConsentVerifier =>
  address === undefined ? { verify: () => Promise.resolve(failed('no service is set')) } : service(address, monotonic)

/**
 * Asks over HTTP. The URL is the operator's: it may lead to a private address, and carry a user and a password. A
 * redirect is not followed, since it could take what is known of a person anywhere.
 */
const service = (address: string, monotonic: MonotonicClock): ConsentVerifier => {
  const { url, headers } = requestTo(address)
  const ask = async ({ token, url: proof, phone, email, submittedAt }: Consent, signal: AbortSignal) => {
    const body = JSON.stringify({ token, url: proof, phone, email, submitted_at: submittedAt })
    const limits = { redirect: 'manual', compress: false, size: largestAnswer, signal } as const
    const response = await fetch(url, { method: 'POST', headers, body, ...limits })
    return response.status === 200 ? answerIn(await response.json()) : failed(`status ${response.status}`)
  }
  return {
    verify: async (consent) => {
      const answer = await withinLimit(monotonic, longestCheck, (signal) =>
        ask(consent, signal).catch((error: unknown) => failed(reasonOf(error))),
      )
      return answer ?? failed('no answer within 5 s')
    },
  }
}

const requestTo = (address: string) => {
  const url = new URL(address)
  const credentials = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`
  url.username = ''
  url.password = ''
  const headers = { 'content-type': 'application/json', accept: 'application/json', 'user-agent': 'Leadloop' }
  const authorization = `Basic ${Buffer.from(credentials).toString('base64')}`
  return { url: url.href, headers: credentials === ':' ? headers : { ...headers, authorization } }
}

const unreadable = 'no answer that can be read'

const failed = (reason: string): ConsentAnswer => ({ kind: 'failed', reason })

const answerIn = (body: unknown): ConsentAnswer => {
  const answer = decode(Answer, body)
  if (E.isLeft(answer)) return failed(unreadable)
  const { verified, reason } = answer.right
  return verified ? { kind: 'verified' } : { kind: 'refused', reason: refusalReason(reason ?? '') }
}

/** Of an error only its code is told. */
const reasonOf = (error: unknown): string => {
  if (error instanceof SyntaxError || (error instanceof FetchError && error.type === 'max-size')) return unreadable
  const code = errorCodeOf(error)
  return code === undefined ? 'no answer' : `no answer (${code})`
}
