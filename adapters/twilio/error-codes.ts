import type { Instant } from '../../domain/instant.js'
import type { MessengerOutcome } from '../../domain/messenger.js'

/** Why a message did not get through, by Twilio's error code or by a status. */
type TwilioFailure = {
  readonly kind: Exclude<MessengerOutcome['kind'], 'accepted' | 'unknown'>
  readonly reason: string
}

/** Twilio's error codes, of an answer and of a status callback alike. */
const failures: ReadonlyMap<number, TwilioFailure> = new Map(
  Object.entries({
    21610: ['opted-out', 'the number has opted out'],
    21211: ['undeliverable', 'the number is not valid'],
    21614: ['undeliverable', 'the number is not a mobile number'],
    30005: ['undeliverable', 'the number is not known'],
    30006: ['undeliverable', 'the number is a landline or of a carrier that is not reached'],
    30001: ['unreached', 'the queue is full'],
    30003: ['unreached', 'the handset is not reached'],
    30008: ['unreached', 'the carrier gives no reason'],
    // We set its period: it says nothing of the phone.
    30036: ['failed', 'it did not go out while it was valid'],
    30007: ['sender-blocked', 'the carrier filters this sender'],
    30034: ['sender-blocked', 'the sender is not registered with the carriers'],
    21606: ['sender-blocked', 'the sender can not send texts'],
    20003: ['sender-blocked', 'the account SID or the token is wrong'],
    30002: ['sender-blocked', 'the account is suspended'],
    20404: ['sender-blocked', 'the account is not there'],
  } satisfies Readonly<Record<number, readonly [TwilioFailure['kind'], string]>>).map(([code, [kind, words]]) => [
    Number(code),
    { kind, reason: `${words} (Twilio ${code})` },
  ]),
)

/**
 * What an error code of a status callback says. A code that is not in the table ends the message: it never gets
 * through.
 */
export const failureOf = (code: number | undefined): TwilioFailure =>
  (code === undefined ? undefined : failures.get(code)) ?? {
    kind: 'refused',
    reason: code === undefined ? 'not delivered' : `not delivered (Twilio ${code})`,
  }

/** The outcome of an attempt that was answered with a status that is not 2xx. */
export const refusalOf = (status: number, code: number | undefined, retryAt: Instant | undefined): MessengerOutcome => {
  const { kind, reason } = (code === undefined ? undefined : failures.get(code)) ?? failureOfStatus(status, code)
  return kind === 'failed' ? { kind, reason, retryAt } : { kind, reason }
}

const failureOfStatus = (status: number, code: number | undefined): TwilioFailure => {
  const shown = code === undefined ? `status ${status}` : `status ${status}, Twilio ${code}`
  if (status === 429) return { kind: 'failed', reason: `too many requests (${shown})` }
  if (status >= 500) return { kind: 'failed', reason: `the provider fails (${shown})` }
  if (status === 401 || status === 403) return { kind: 'sender-blocked', reason: `no access (${shown})` }
  // Redirects are not followed: the token would go with them.
  if (status < 400) return { kind: 'sender-blocked', reason: `not the address of the provider (${shown})` }
  return { kind: 'refused', reason: `the message is refused (${shown})` }
}
