import type { Aggregate } from '../../domain/aggregate.js'
import type { Position } from '../../domain/event.js'
import type { AfterStep } from '../../domain/follow-up.js'
import type { Instant } from '../../domain/instant.js'
import { message, type MessageCommand, type MessageIds, type MessageState } from '../../domain/message.js'
import { segmentsOf } from '../../domain/message-segments.js'
import type { Clock, CommandHandler, Ids, Logger, Time } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { maximalMessageTries, nextMessageTryAt } from '../../domain/retry-schedule.js'
import type { TrackedLinks } from '../../domain/tracked-link.js'
import type { Backoff } from '../subscriptions/backoff.js'
import type { Lease } from '../subscriptions/leases.js'
import { executeWithRetry } from '../subscriptions/retried-command.js'
import type { Messenger, MessengerOutcome, OutgoingMessage } from './messenger.js'

export type SendingPorts = {
  readonly commandHandler: CommandHandler
  readonly messenger: Messenger
  readonly clock: Clock
  readonly time: Time
  readonly ids: Ids
  readonly logger: Logger
  readonly backoff: Backoff
}

/** A message, and to which number. */
export type Sending = {
  /** `step` is left out where it is none. */
  readonly facts: MessageIds & { readonly step?: number }
  readonly to: string
  readonly lease: Lease
  /** What comes after the step where it is over at `now`; undefined where it is none. */
  readonly after: ((now: Instant) => AfterStep) | undefined
}

type Text = {
  readonly text: string
  readonly links?: TrackedLinks | undefined
  readonly validUntil: Instant | undefined
}

/** In milliseconds: a provider lists what it has just taken by then. */
const settlingTime = 5_000

/**
 * Tries once to send a message, and records it before and after. After a crash between the two its outcome is settled, so that it is not
 * sent twice.
 * @throws where the lease is lost before the outcome was recorded, and FailedForGood
 */
export const sendMessage = async (
  ports: SendingPorts,
  sent: Sending & Text,
  assumed?: Aggregate<MessageState>,
): Promise<Position | undefined> => {
  const { messenger, clock, time } = ports
  const { facts, text, links, validUntil, to, lease } = sent
  const { segments } = segmentsOf(text)
  const at = clock.now()
  const linked = links === undefined ? {} : { links }
  const begin = { type: 'BeginMessage', facts, text, segments, ...linked, at, ...whatFollows(sent, at) } as const
  const begun = await record(ports, sent, begin, assumed)
  if (begun?.state === undefined || !('attempt' in begun.state)) return undefined
  // The provider has reported on an earlier try.
  if (begun.state.kind !== 'sending') return begun.position
  const { attempt, begunAt } = begun.state
  const outgoing: OutgoingMessage = { id: facts.message_id, to, text: begun.state.text, validUntil }
  const outcome = await messenger.send(outgoing)
  if (outcome.kind !== 'unknown') return ended(ports, sent, attempt, outcome)
  await time.sleep(settlingTime, lease.ending)
  return settled(ports, sent, attempt, outgoing, begunAt)
}

/**
 * Finds out what became of a try whose outcome was never recorded.
 * @throws as `sendMessage`
 */
export const settleMessage = async (ports: SendingPorts, sent: Sending): Promise<Position | undefined> => {
  const id = sent.facts.message_id
  const loaded = await ports.commandHandler.load(message, id)
  if (E.isLeft(loaded) || loaded.right.state.kind !== 'sending') return undefined
  const { attempt, begunAt, text } = loaded.right.state
  return settled(ports, sent, attempt, { id, to: sent.to, text, validUntil: undefined }, begunAt)
}

/** What the provider has not got is tried again; of what nobody can tell it is said so. */
const settled = async (
  ports: SendingPorts,
  sent: Sending,
  attempt: number,
  outgoing: OutgoingMessage,
  since: Instant,
): Promise<Position | undefined> => {
  const found = await ports.messenger.settle(outgoing, since)
  if (found.kind === 'accepted') return ended(ports, sent, attempt, found)
  const reason = 'the provider did not say whether it took the message'
  if (found.kind === 'unknown') return ended(ports, sent, attempt, { kind: 'unknown', reason })
  return ended(ports, sent, attempt, {
    kind: 'failed',
    reason: 'the provider did not take the message',
    retryAt: undefined,
  })
}

const ended = async (
  ports: SendingPorts,
  sent: Sending,
  attempt: number,
  outcome: MessengerOutcome,
): Promise<Position | undefined> => {
  const recorded = await record(ports, sent, endingOf(sent, attempt, outcome, ports.clock.now()))
  const { kind } = outcome
  if (kind !== 'accepted')
    ports.logger.warn({ message: sent.facts.message_id, attempt, reason: outcome.reason }, 'a message was not sent')
  return recorded?.position
}

const whatFollows = ({ after }: Sending, now: Instant): { readonly after?: AfterStep } =>
  after === undefined ? {} : { after: after(now) }

const endingOf = (sent: Sending, attempt: number, outcome: MessengerOutcome, now: Instant): MessageCommand => {
  const after = whatFollows(sent, now)
  if (outcome.kind === 'accepted')
    return { type: 'EndMessage', attempt, ending: { kind: 'sent', providerId: outcome.providerId ?? null }, ...after }
  const { kind, reason } = outcome
  if (kind !== 'failed' && kind !== 'sender-blocked')
    return { type: 'EndMessage', attempt, ending: { kind, reason }, ...after }
  if (attempt >= maximalMessageTries)
    return { type: 'EndMessage', attempt, ending: { kind: 'expired', reason }, ...after }
  const scheduled = nextMessageTryAt(attempt, now)
  const asked = kind === 'failed' ? outcome.retryAt : undefined
  const nextAttemptAt = asked !== undefined && asked > scheduled ? asked : scheduled
  const blocked = kind === 'sender-blocked' ? { kind } : {}
  return { type: 'RecordFailedTry', attempt, reason, nextAttemptAt, ...blocked, ...after }
}

const record = async (
  ports: SendingPorts,
  { lease, facts }: Sending,
  command: MessageCommand,
  assumed?: Aggregate<MessageState>,
) => {
  const recording = { actor: 'follow-up', lease, ...(assumed === undefined ? {} : { assumed }) }
  const done = await executeWithRetry(ports, recording, message, facts.message_id, command)
  if (E.isLeft(done)) return undefined
  return { state: done.right.state, position: done.right.events.at(-1)?.position }
}
