import type { ContactState, KnownContact } from './contact.js'
import { stepMessageIdOf } from './derived-id.js'
import { minute } from './duration.js'
import { heldUntil, takenOverUntil, type EngagementState } from './engagement.js'
import type { AfterStep } from './follow-up.js'
import type { MessageId } from './ids.js'
import { later, latest, nextMonthAfter, type Instant } from './instant.js'
import type { MessageState } from './message.js'
import { segmentsOf } from './message-segments.js'
import { fieldsOf, linksIn, messageOf } from './message-template.js'
import type { PlaybookSettings } from './playbook-settings.js'
import { longestLimited, lookAgainAfter, postpone, segmentsUsedUp, type Postponement } from './postponement.js'
import { dayIsFullUntil, quietFrom, sendingTime, stepsAreFullUntil } from './quiet-hours.js'
import { afterStep, hoursFor, stepKey } from './step-times.js'
import { linkUrl, type TrackedLinks } from './tracked-link.js'
import type { GivingUp } from './trigger.js'

/** All that is known of an engagement whose task may be due. */
export type Situation = {
  readonly engagement: EngagementState
  /** Of the step that was begun last; undefined where there is none. */
  readonly lastMessage: MessageState | undefined
  readonly settings: PlaybookSettings
  readonly contact: ContactState
  /**
   * Of a newer engagement of the contact that was not filtered: its playbook writes to the contact instead, once it has
   * begun, and its consent is verified where that is awaited. Undefined where there is none.
   */
  readonly newer: 'awaits-beginning' | 'awaits-consent' | 'writes' | undefined
  readonly account: { readonly title: string; readonly enabled: boolean }
  /** Until when the provider lets nothing through that the account sends; undefined where it does. */
  readonly heldUntil: Instant | undefined
  /** Segments that the account may still send in this month; undefined: as many as there are. */
  readonly segmentsLeft: number | undefined
  /** When messages of the account went to the contact within the last 24 hours, oldest first. */
  readonly sentInLastDay: ReadonlyArray<Instant>
  /** Where people reach the service, and the code of the links of a message that is begun now. */
  readonly links: { readonly site: string; readonly code: string }
  readonly now: Instant
}

/** What is to be done with an engagement now. */
export type NextAction =
  | { readonly kind: 'nothing' }
  /** Nobody has recorded how the last attempt of its message ended. */
  | { readonly kind: 'settle'; readonly step: number; readonly messageId: MessageId }
  | {
      readonly kind: 'send'
      readonly step: number
      /** From 1 on. */
      readonly attempt: number
      readonly messageId: MessageId
      readonly text: string
      /** Undefined where it has none. */
      readonly links: TrackedLinks | undefined
      /** When the night begins, where it does within days. */
      readonly validUntil: Instant | undefined
    }
  /** Whether the contact agreed is to be found out. `check` counts from 1. */
  | { readonly kind: 'check-consent'; readonly check: number }
  /** `limitedSince` is set where it waits for a month that is not used up. */
  | (Postponement & { readonly step: number; readonly limitedSince?: Instant })
  | { readonly kind: 'skip'; readonly step: number; readonly reason: string; readonly after: AfterStep }
  | { readonly kind: 'end-steps'; readonly givesUpAt: Instant }
  | { readonly kind: 'end-silence'; readonly givesUpAt: Instant | undefined }
  | { readonly kind: 'filter'; readonly trigger: Extract<GivingUp, 'opted-out-before' | 'no-hour'> }

const nothing: NextAction = { kind: 'nothing' }

/** Pure, so that whoever asks twice is told the same. */
export const nextActionOf = (situation: Situation): NextAction => {
  const { engagement, lastMessage, contact, newer, settings, now } = situation
  if (engagement.kind !== 'started' || engagement.ended || engagement.followUp === undefined) return nothing
  if (contact.kind !== 'known') return nothing
  const { begun, attempts, messageId, nextAt } = engagement.followUp
  if (lastMessage?.kind === 'sending' && messageId !== undefined) return { kind: 'settle', step: begun - 1, messageId }
  if (endsEngagement(lastMessage)) return nothing
  const after = lastMessage !== undefined && 'after' in lastMessage ? lastMessage.after : undefined
  // Where nothing was sent, and nothing heard, the silence begins now.
  const givesUpAt = latest(after?.gives_up_at, engagement.givesUpAt)
  const endSteps = {
    kind: 'end-steps',
    givesUpAt: givesUpAt ?? later(now, settings.give_up_after_minutes * minute),
  } as const
  // Whoever withdrew it, for a newer lead, was about to end the steps.
  if (isWithdrawn(lastMessage) && nextAt !== null) return endSteps
  if (isAfter(takenOverUntil(engagement), now)) return nothing
  // One that the opt-out names is ended by the reactions to it: here it would fire another outcome in between.
  const isEnding = contact.optedOut && !contact.unconverted.includes(engagement.attribution.engagement_id)
  if (isEnding) return nothing
  if (contact.optedOut) return { kind: 'filter', trigger: 'opted-out-before' }

  const isAgain = messageId !== undefined && (lastMessage?.kind === 'waiting' || lastMessage?.kind === 'unknown')
  const due = nextAt === undefined ? (isAgain ? dueAgain(lastMessage, now) : (after?.next_step_at ?? null)) : nextAt
  const step = isAgain ? begun - 1 : begun
  const template = settings.steps[step]?.message
  if (due === null || template === undefined) return { kind: 'end-silence', givesUpAt: after?.gives_up_at }
  if (due > now || isAfter(heldUntil(engagement), now)) return nothing
  const { engagement_id: id } = engagement.attribution
  if (newer === 'awaits-beginning') return { ...postpone.forNewerBeginning(now), step }
  if (newer === 'awaits-consent') return { ...postpone.forNewerConsent(now), step }
  if (newer === 'writes') return endSteps
  return dueStep(
    situation,
    { step, attempt: isAgain ? attempts + 1 : 1, template, messageId: stepMessageIdOf(id, step), key: id },
    contact,
  )
}

const isAfter = (one: Instant | undefined, other: Instant): boolean => one !== undefined && one > other

/** Whether the reactions to it end the engagement, or are about to: nothing may go out before they do. */
const endsEngagement = (message: MessageState | undefined): boolean => {
  const failure = message?.kind === 'failed' ? message.failure?.kind : undefined
  return failure === 'opted-out' || failure === 'undeliverable'
}

const isWithdrawn = (message: MessageState | undefined): boolean =>
  message?.kind === 'failed' && message.failure?.kind === 'withdrawn'

const dueAgain = (message: MessageState, now: Instant): Instant =>
  message.kind === 'waiting' ? (message.dueAt ?? now) : now

type DueStep = {
  readonly step: number
  readonly attempt: number
  readonly template: string
  readonly messageId: MessageId
  readonly key: string
}

/** The step is due: whether it may be sent now, or what keeps it. */
const dueStep = (
  situation: Situation,
  { step, attempt, template, messageId, key }: DueStep,
  { details }: KnownContact,
): NextAction => {
  const { engagement, settings, account, sentInLastDay, links: linked, now } = situation
  const fields = fieldsOf(details)
  const hours = hoursFor(settings, fields)
  if (!account.enabled) return { ...postpone.whileDisabled(now), step }
  const at = sendingTime(hours, now, stepKey(key, step))
  if (at === undefined) return { kind: 'filter', trigger: 'no-hour' }
  if (at > now) return { ...postpone.forQuietHours(at), step }
  const until = dayIsFullUntil(hours, sentInLastDay)
  if (until !== undefined) return { ...postpone.forStateLimit(until), step }
  const full = stepsAreFullUntil(sentInLastDay)
  if (full !== undefined) return { ...postpone.forManyMessages(full), step }
  const linkAt = (index: number): string => linkUrl(linked.site, linked.code, index)
  const text = messageOf(template, { ...fields, account: account.title }, linkAt)
  const after = afterStep(settings, hours, step, now, key)
  if (text === '') return { kind: 'skip', step, reason: 'the message is blank', after }
  const followUp = engagement.kind === 'started' ? engagement.followUp : undefined
  const awaited = engagement.kind === 'started' ? engagement.awaitedConsent : undefined
  // A step that waited for its account may be due before its consent is to be checked again.
  if (awaited?.nextCheckAt !== undefined && awaited.nextCheckAt > now)
    return { ...postpone.forConsent(awaited.nextCheckAt), step }
  if (awaited !== undefined) return { kind: 'check-consent', check: awaited.failedChecks + 1 }
  const { heldUntil: senderHeldUntil, segmentsLeft } = situation
  if (segmentsLeft !== undefined && segmentsOf(text).segments > segmentsLeft)
    return limited(now, step, followUp?.limitedSince ?? now, after)
  if (senderHeldUntil !== undefined && senderHeldUntil > now)
    return { ...postpone.forHeldSender(senderHeldUntil), step }
  const urls = linksIn(template)
  const links = urls.length === 0 ? undefined : { code: linked.code, urls }
  return { kind: 'send', step, attempt, messageId, text, links, validUntil: quietFrom(hours, now) }
}

const limited = (now: Instant, step: number, since: Instant, after: AfterStep): NextAction => {
  const reason = segmentsUsedUp
  const drops = later(since, longestLimited)
  if (drops <= now) return { kind: 'skip', step, reason, after }
  const until = [later(now, lookAgainAfter), drops, nextMonthAfter(now)].reduce((one, other) =>
    one < other ? one : other,
  )
  return { kind: 'postpone', step, until, reason, limitedSince: since }
}
