import { over } from '../../domain/abortable.js'
import { decode, t } from '../../domain/codec.js'
import type { MessageId } from '../../domain/ids.js'
import { instantOf, later, millisecondsOf, type Instant } from '../../domain/instant.js'
import type { CopyErasure, Messenger, MessengerOutcome, OutgoingMessage } from '../../domain/messenger.js'
import type { Clock, MonotonicClock } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { monotonicClock } from '../node/monotonic-clock.js'
import { isMessagingService, messagePath, messagesPath, type TwilioAccount } from './account.js'
import { refusalOf } from './error-codes.js'
import { MessageSid } from './message-sid.js'
import { askTwilio, type TwilioAnswer } from './requests.js'
import { settledBy } from './settle.js'

type TwilioOptions = {
  readonly account: TwilioAccount
  /** Where Twilio reports what becomes of a message. */
  readonly statusCallbackOf: (id: MessageId) => string
  /** Milliseconds that a message may take to be sent, and as long again to be looked for. */
  readonly timeLimit?: number
}

type TwilioPorts = { readonly clock: Pick<Clock, 'now'>; readonly monotonic?: MonotonicClock }

/**
 * The `Messenger` port: sends texts with Twilio's message resource. `close` breaks off what is in flight.
 *
 * ```ts
 * const account = twilioAccountFrom(SMS_URL) // left: a sentence for the operator
 * const statusCallbackOf = (id) => `${publicUrl}/reports/${id}`
 * const { send, settle, close } = twilioMessenger({ account: account.right, statusCallbackOf }, { clock })
 * const { isSigned, reportFrom, textFrom } = twilioTextProvider(account.right, publicUrl)
 * // At that URL, with the form of the request and what looks up its headers:
 * if (isSigned(`/reports/${id}`, form, header)) return reportFrom(form)
 * // At the URL for what contacts write, which Twilio is told by hand:
 * if (isSigned('/texts', form, header)) return textFrom(form)
 * ```
 */
export const twilioMessenger = (
  { account, statusCallbackOf, timeLimit = 10_000 }: TwilioOptions,
  { clock, monotonic = monotonicClock }: TwilioPorts,
): Messenger & { readonly close: () => void } => {
  const inFlight = new Set<AbortController>()
  const limited = async <A>(work: (signal: AbortSignal) => Promise<A>): Promise<A> => {
    const [limit, waiting] = [new AbortController(), new AbortController()]
    inFlight.add(limit)
    void monotonic.sleep(timeLimit, waiting.signal).then(() => limit.abort(over))
    try {
      return await work(limit.signal)
    } finally {
      inFlight.delete(limit)
      waiting.abort(over)
    }
  }

  return {
    send: async (message) => {
      // It counts from when Twilio takes it, which may be that late.
      const validity = validityUntil(message.validUntil, later(clock.now(), timeLimit))
      if (validity < 1) {
        return { kind: 'failed', reason: 'its time is over', retryAt: undefined }
      }
      const form = formOf(message.from ?? account.sender, message, statusCallbackOf(message.id), validity)
      const answer = await limited((signal) => askTwilio(account, { path: messagesPath(account), form }, signal))
      return outcomeOf(answer, clock.now())
    },
    settle: (message, since, known) => limited((signal) => settledBy(account, message, { since, known }, signal)),
    eraseCopy: async (providerId) => {
      if (!MessageSid.is(providerId)) return { kind: 'kept', reason: 'it is no message of this provider' }
      const request = { path: messagePath(account, providerId), method: 'DELETE' } as const
      return erasureOf(await limited((signal) => askTwilio(account, request, signal)))
    },
    close: () => {
      for (const limit of inFlight) limit.abort(over)
    },
  }
}

/** A message that still waits there can't be erased yet: 409. */
const erasureOf = (answer: TwilioAnswer): CopyErasure => {
  if (answer.kind !== 'answered') return { kind: 'kept', reason: 'no answer' }
  const isGone = answer.status === 204 || answer.status === 404
  return isGone ? { kind: 'erased' } : { kind: 'kept', reason: `HTTP ${answer.status}` }
}

/** Seconds after which Twilio fails a message that still waits. It takes more by now, but this much it always took. */
const longestValidity = 14_400

/** In seconds, rounded down, so that the message is never valid for longer. */
const validityUntil = (end: Instant | undefined, now: Instant): number =>
  end === undefined
    ? longestValidity
    : Math.min(longestValidity, Math.floor((millisecondsOf(end) - millisecondsOf(now)) / 1_000))

const formOf = (
  sender: string,
  { to, text }: OutgoingMessage,
  statusCallback: string,
  validity: number,
): URLSearchParams =>
  new URLSearchParams({
    To: to,
    [isMessagingService(sender) ? 'MessagingServiceSid' : 'From']: sender,
    Body: text,
    StatusCallback: statusCallback,
    ValidityPeriod: String(validity),
  })

const Taken = t.type({ sid: t.string })
const Refused = t.type({ code: t.number })

const outcomeOf = (answer: TwilioAnswer, now: Instant): MessengerOutcome => {
  switch (answer.kind) {
    case 'not-sent':
      return { kind: 'failed', reason: 'no connection', retryAt: undefined }
    case 'unanswered':
      return { kind: 'unknown', reason: 'no answer' }
    case 'answered': {
      const { status, body, retryAfter } = answer
      if (status >= 200 && status < 300) {
        const taken = decode(Taken, body)
        return E.isRight(taken)
          ? { kind: 'accepted', providerId: taken.right.sid }
          : { kind: 'unknown', reason: 'no valid answer' }
      }
      const refused = decode(Refused, body)
      return refusalOf(status, E.isRight(refused) ? refused.right.code : undefined, retryAtOf(retryAfter, now))
    }
  }
}

/** Milliseconds that a `Retry-After` is heeded at most. */
const longestPause = 3_600_000

/** What a `Retry-After` header asks for, in seconds or as a date (RFC 9110, 10.2.3). */
const retryAtOf = (retryAfter: string | null, now: Instant): Instant | undefined => {
  if (retryAfter === null) return undefined
  const start = millisecondsOf(now)
  const at = /^\d+$/.test(retryAfter) ? start + Number(retryAfter) * 1_000 : Date.parse(retryAfter)
  return at > start ? instantOf(Math.min(at, start + longestPause)) : undefined
}
