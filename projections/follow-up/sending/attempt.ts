import { newAggregate, type CausingEvent } from '../../../domain/aggregate.js'
import type { Position } from '../../../domain/event.js'
import { StatedFailure } from '../../../domain/failure-reason.js'
import type { AfterStep } from '../../../domain/follow-up.js'
import type { ActivityReportId } from '../../../domain/ids.js'
import { millisecondsOf, type Instant } from '../../../domain/instant.js'
import { isOutbound, message, type MessageCommand, type MessageIds } from '../../../domain/message.js'
import { segmentsOf } from '../../../domain/message-segments.js'
import {
  settlingTime,
  type Messenger,
  type MessengerOutcome,
  type OutgoingMessage,
  type Settled,
} from '../../../domain/messenger.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { messageRetryAt, nextMessageAttemptAt } from '../../../domain/retry-schedule.js'
import type { TrackedLinks } from '../../../domain/tracked-link.js'
import { isEnding, type Lease } from '../../subscriptions/leases.js'
import { loadOrThrow } from '../../subscriptions/retries/failed-for-good.js'
import { lastPositionOf, recordWithRetry } from '../../subscriptions/retries/retried-command.js'
import { holdOrRelease, type HoldPorts } from './sender-hold.js'
import { knownCopies, type KnownCopiesPorts } from './known-copies.js'

export type SendingPorts = HoldPorts &
  KnownCopiesPorts & {
    readonly messenger: Messenger
    readonly monotonic: MonotonicClock
  }

/** A message, and to which number. */
export type Sending = {
  /** `step` is left out where it is none. */
  readonly facts: MessageIds & { readonly step?: number }
  readonly to: string
  /** What it stands for where the provider says that the number opted out. */
  readonly optOutReport?: ActivityReportId | undefined
  readonly lease: Lease
  /** What comes after the step where it is over at `now`; undefined where it is none. */
  readonly after: ((now: Instant) => AfterStep) | undefined
}

type Text = Deciding & {
  readonly text: string
  readonly links?: TrackedLinks | undefined
  readonly validUntil: Instant | undefined
  /** A sender of the account's own; undefined: the one that the accounts share. */
  readonly from: string | undefined
  /** Whether it is the one message by which a sender that was blocked is tried. */
  readonly isProbe: boolean
}

export type Deciding = {
  /** Whether it may still be sent. Recording the attempt can take as long as an outage of the store. */
  readonly isStillDecided: () => Promise<boolean>
}

/**
 * In milliseconds: where the provider does not answer, it is asked again after twice as long each time, and this long
 * at most.
 */
const longestSettling = 40_000

/**
 * Tries once to send a message, and records it before and after. After a crash between the two its outcome is settled,
 * so that it is not sent twice. `beginsBy`: what brings the message about, where nothing was recorded of it yet.
 * @throws where the lease is lost before the outcome was recorded, and FailedForGood
 */
export const sendMessage = async (
  ports: SendingPorts,
  sent: Sending & Text,
  beginsBy?: CausingEvent,
): Promise<Position | undefined> => {
  const { messenger, clock } = ports
  const { facts, text, links, validUntil, to, lease, from } = sent
  const { segments } = segmentsOf(text)
  const at = clock.now()
  const linked = links === undefined ? {} : { links }
  const sender = from === undefined ? {} : { sender: from }
  const begin = {
    type: 'BeginMessage',
    facts,
    text,
    segments,
    ...linked,
    ...sender,
    at,
    ...withAfterStep(sent, at),
  } as const
  const begun = await record(ports, sent, begin, beginsBy)
  if (begun === undefined || !isOutbound(begun.state)) return undefined
  // The provider has reported on an earlier attempt.
  if (begun.state.kind !== 'sending') return lastPositionOf(begun)
  const { attempt, begunAt } = begun.state
  if (!(await sent.isStillDecided())) return recordMissedAttempt(ports, sent, attempt)
  const outgoing: OutgoingMessage = { id: facts.message_id, to, text: begun.state.text, from, validUntil }
  const outcome = await messenger.send(outgoing)
  if (outcome.kind !== 'unknown') {
    const position = await recordEnd(ports, sent, attempt, outcome, from)
    const accountId = facts.account_id
    if (outcome.kind === 'accepted' && sent.isProbe) await holdOrRelease(ports, lease, outcome, { accountId, from })
    return position
  }
  return settleAttempt(ports, sent, attempt, outgoing, { since: begunAt, wait: settlingTime })
}

/** This failure is not the message's, so it never counts toward giving up. */
const recordMissedAttempt = async (
  ports: SendingPorts,
  sent: Sending,
  attempt: number,
): Promise<Position | undefined> => {
  const now = ports.clock.now()
  const nextAttemptAt = nextMessageAttemptAt(attempt, now)
  const reason = 'the moment for it was missed'
  const failed = { type: 'RecordFailedAttempt', attempt, reason, nextAttemptAt, ...withAfterStep(sent, now) } as const
  return lastPositionOf(await record(ports, sent, failed))
}

/**
 * Finds out what became of an attempt whose outcome was never recorded.
 * @throws as `sendMessage`
 */
export const settleMessage = async (ports: SendingPorts, sent: Sending): Promise<Position | undefined> => {
  const id = sent.facts.message_id
  const { state } = await loadOrThrow(ports.commandHandler, message, id)
  if (state.kind !== 'sending') return undefined
  const { attempt, begunAt: since, text, sender: from } = state
  // The process that tried it may have ended a moment ago.
  const age = Math.max(millisecondsOf(ports.clock.now()) - millisecondsOf(since), 0)
  const outgoing: OutgoingMessage = { id, to: sent.to, text, from, validUntil: undefined }
  return settleAttempt(ports, sent, attempt, outgoing, { since, wait: settlingTime - age })
}

/** When the attempt was begun, and for how many milliseconds the provider is left alone. */
type Asking = { readonly since: Instant; readonly wait: number }

/** What the provider has not got is tried again; of what nobody can tell it is said so. */
const settleAttempt = async (
  ports: SendingPorts,
  sent: Sending,
  attempt: number,
  outgoing: OutgoingMessage,
  asking: Asking,
): Promise<Position | undefined> => {
  const found = await askProvider(ports, sent, outgoing, asking)
  if (found.kind === 'accepted') return recordEnd(ports, sent, attempt, found)
  const reason = 'the provider did not say whether it took the message'
  if (found.kind === 'unknown') return recordEnd(ports, sent, attempt, { kind: 'unknown', reason })
  return recordEnd(ports, sent, attempt, {
    kind: 'failed',
    reason: 'the provider did not take the message',
    retryAt: undefined,
  })
}

const askProvider = async (
  ports: SendingPorts,
  { lease, facts }: Sending,
  outgoing: OutgoingMessage,
  { since, wait: first }: Asking,
): Promise<Settled> => {
  const { messenger, monotonic } = ports
  for (let [wait, next] = [first, settlingTime]; ; [wait, next] = [next, next * 2]) {
    if (wait > 0) {
      await monotonic.sleep(wait, lease.ending)
      // Whoever has the lease next asks anew.
      if (isEnding(lease)) throw new StatedFailure('the lease ended while the outcome of a message was looked for')
    }
    const known = await knownCopies(ports, facts.contact_id, facts.message_id)
    const found = await messenger.settle(outgoing, since, known)
    if (found.kind !== 'unknown' || next > longestSettling) return found
  }
}

const recordEnd = async (
  ports: SendingPorts,
  sent: Sending,
  attempt: number,
  outcome: MessengerOutcome,
  from?: string,
): Promise<Position | undefined> => {
  const { lease, facts } = sent
  const held =
    outcome.kind === 'sender-blocked'
      ? await holdOrRelease(ports, lease, outcome, { accountId: facts.account_id, from })
      : undefined
  const recorded = await record(ports, sent, endingOf(sent, attempt, outcome, ports.clock.now(), held?.until))
  const { kind } = outcome
  if (kind !== 'accepted')
    ports.logger.warn({ message: sent.facts.message_id, attempt, reason: outcome.reason }, 'a message was not sent')
  return lastPositionOf(recorded)
}

const withAfterStep = ({ after }: Sending, now: Instant): { readonly after?: AfterStep } =>
  after === undefined ? {} : { after: after(now) }

const endingOf = (
  sent: Sending,
  attempt: number,
  outcome: MessengerOutcome,
  now: Instant,
  heldUntil: Instant | undefined,
): MessageCommand => {
  const after = withAfterStep(sent, now)
  if (outcome.kind === 'accepted')
    return { type: 'EndMessage', attempt, ending: { kind: 'sent', providerId: outcome.providerId ?? null }, ...after }
  const { kind, reason } = outcome
  if (kind === 'opted-out')
    return { type: 'EndMessage', attempt, ending: { kind, reason, reportId: sent.optOutReport }, ...after }
  if (kind !== 'failed' && kind !== 'unreached' && kind !== 'sender-blocked')
    return { type: 'EndMessage', attempt, ending: { kind, reason }, ...after }
  const scheduled = messageRetryAt(attempt, kind, now)
  if (scheduled === undefined) return { type: 'EndMessage', attempt, ending: { kind: 'expired', reason }, ...after }
  const asked = kind === 'failed' ? outcome.retryAt : heldUntil
  const nextAttemptAt = asked !== undefined && asked > scheduled ? asked : scheduled
  const why = kind === 'failed' ? {} : { kind }
  return { type: 'RecordFailedAttempt', attempt, reason, nextAttemptAt, ...why, ...after }
}

const record = (ports: SendingPorts, { lease, facts }: Sending, command: MessageCommand, beginsBy?: CausingEvent) => {
  const beginning = beginsBy === undefined ? {} : { assumed: newAggregate(message), cause: beginsBy }
  const recording = { actor: 'follow-up', lease, ...beginning }
  return recordWithRetry(ports, recording, message, facts.message_id, command)
}
