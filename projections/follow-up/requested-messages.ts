import { engagement, type EngagementState } from '../../domain/engagement.js'
import type { Position } from '../../domain/event.js'
import type { MessageId } from '../../domain/ids.js'
import { message, type MessageCommand } from '../../domain/message.js'
import { postpone } from '../../domain/postponement.js'
import { nextMessageActionOf, type NextMessageAction } from '../../domain/requested-message.js'
import { streamOf } from '../../domain/stream-name.js'
import type { Lease } from '../subscriptions/leases.js'
import { FailedForGood, loadOrThrow } from '../subscriptions/retries/failed-for-good.js'
import { recordedPosition } from '../subscriptions/retries/retried-command.js'
import { checkConsent } from './consent-check.js'
import { settingsOrThrow } from './engagement-settings.js'
import { isOutdated } from './sending/outdated-postponement.js'
import { mayAttempt } from './sending/sender-hold.js'
import { partiesOf } from './sending/parties.js'
import { learnOptOut } from './sending/learnt-opt-out.js'
import { sendMessage, settleMessage, type Sending } from './sending/attempt.js'
import type { TaskPorts } from './engagement-task.js'

/**
 * Tries a requested message, where it may be sent now: resolves with the position of its last record, or with undefined
 * where there was nothing to record.
 * @throws FailedForGood, and where a store fails
 */
export const sendRequested = async (ports: TaskPorts, lease: Lease, id: MessageId): Promise<Position | undefined> => {
  const { commandHandler, clock, rates } = ports
  const { state } = await loadOrThrow(commandHandler, message, id)
  if (!('request' in state) || state.request === undefined) return undefined
  const facts = state.kind === 'requested' ? state.ids : state.facts
  const { account_id, engagement_id } = facts
  const loadEngagement = async (): Promise<EngagementState> =>
    (await loadOrThrow(commandHandler, engagement, engagement_id)).state
  const belongsTo = await loadEngagement()
  if (belongsTo.kind === 'unknown') {
    const reason = 'a message lacks its engagement'
    throw new FailedForGood(streamOf(engagement, engagement_id), { kind: 'corrupt', reason })
  }
  const settings = await settingsOrThrow(ports, belongsTo)
  const parties = await partiesOf(ports, facts)
  if (parties.isOptOutNew) await learnOptOut(ports, lease, facts)
  const now = clock.now()
  const next = nextMessageActionOf({ ...parties, message: state, engagement: belongsTo, settings, now })
  if (next.kind === 'send' || next.kind === 'settle') {
    const { to, optOutReport, account, heldUntil } = parties
    if (to === undefined) return undefined
    const sending: Sending = { facts, to, optOutReport, lease, after: undefined }
    if (next.kind === 'settle') return settleMessage(ports, sending)
    const isProbe = heldUntil !== undefined
    if (!(await mayAttempt(ports, lease, account_id, isProbe))) return undefined
    // Requested messages take their places too, and wait for none.
    rates.nextSendTime(account.sender, id, now)
    // No engagement records that it is begun, as it does of a step: what ended it meanwhile is seen here, so it is read
    // last.
    const isStillDecided = async (): Promise<boolean> => {
      const current = { ...(await partiesOf(ports, facts)), engagement: await loadEngagement(), now: clock.now() }
      // What was sent in the last day has this message by now, and a sender that is held waits for its probe.
      const { sentInLastDay } = parties
      return nextMessageActionOf({ ...current, sentInLastDay, heldUntil, message: state, settings }).kind === 'send'
    }
    return sendMessage(ports, { ...sending, ...next, from: account.sender?.from, isProbe, isStillDecided })
  }
  const checked =
    next.kind === 'check-consent' ? await checkConsent(ports, lease, belongsTo.attribution, next.check) : undefined
  if (checked !== undefined) return checked
  const decided = next.kind === 'check-consent' ? postpone.forOtherCheck(now) : next
  const command = commandFor(decided)
  if (command === undefined) return undefined
  const recording = { actor: 'follow-up', lease }
  const position = await recordedPosition(ports, recording, message, id, command)
  if (decided.kind !== 'postpone' || !(await isOutdated(ports, decided, parties.account))) return position
  const { until, reason } = postpone.noLonger(clock.now())
  const resume = { type: 'PostponeMessage', until, reason, insteadOf: decided.until } as const
  return (await recordedPosition(ports, recording, message, id, resume)) ?? position
}

const commandFor = (
  next: Exclude<NextMessageAction, { readonly kind: 'send' | 'settle' | 'check-consent' }>,
): MessageCommand | undefined => {
  switch (next.kind) {
    case 'nothing':
      return undefined
    case 'postpone':
      return { type: 'PostponeMessage', until: next.until, reason: next.reason }
    case 'withdraw':
      return { type: 'WithdrawMessage', kind: next.why, reason: next.reason }
  }
}
