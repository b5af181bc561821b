import type { ContactState, KnownContact } from './contact.js'
import type { EngagementState } from './engagement.js'
import type { Instant } from './instant.js'
import { fieldsOf, messageOf } from './message-template.js'
import type { MessageState } from './message.js'
import type { PlaybookSettings } from './playbook-settings.js'
import { postpone, type Postponement } from './postponement.js'
import { dayIsFullUntil, nextAllowed, quietFrom } from './quiet-hours.js'
import { hoursFor } from './step-times.js'

/** All that is known of a requested message: one that somebody asked for, rather than a step. */
type Situation = {
  readonly message: MessageState
  /** Of the engagement that it belongs to. */
  readonly engagement: EngagementState
  readonly settings: PlaybookSettings
  readonly contact: ContactState
  /** `helpText`: what HELP is answered with; null: what the service says by itself. */
  readonly account: { readonly title: string; readonly enabled: boolean; readonly helpText: string | null }
  /** Until when the provider lets nothing through that the account sends; undefined where it does. */
  readonly heldUntil: Instant | undefined
  /** When messages of the account went to the contact within the last 24 hours, oldest first. */
  readonly sentInLastDay: ReadonlyArray<Instant>
  readonly now: Instant
}

/** What is to be done with it now. */
export type NextMessageAction =
  | { readonly kind: 'nothing' }
  /** Nobody has recorded how the last attempt ended. */
  | { readonly kind: 'settle' }
  | { readonly kind: 'send'; readonly text: string; readonly validUntil: Instant }
  /** Whether the contact agreed is to be found out first. `check` counts from 1. */
  | { readonly kind: 'check-consent'; readonly check: number }
  | Postponement
  | { readonly kind: 'withdraw'; readonly why: 'withdrawn' | 'expired'; readonly reason: string }

const nothing: NextMessageAction = { kind: 'nothing' }

/** So that two machines that answer each other come to an end. */
const mostHelpInDay = 10

/** Pure, so that whoever asks twice is told the same. */
export const nextMessageActionOf = (situation: Situation): NextMessageAction => {
  const { message, contact, now } = situation
  if (!('request' in message) || message.request === undefined) return nothing
  if (message.kind === 'sending') return { kind: 'settle' }
  if (message.kind !== 'requested' && message.kind !== 'waiting') return nothing
  if (message.dueAt !== undefined && message.dueAt > now) return nothing
  const { purpose, text, expires_at } = message.request
  if (expires_at <= now) return { kind: 'withdraw', why: 'expired', reason: 'it is too late for it' }
  if (contact.kind !== 'known') return withdrawn('the contact was erased')
  const next =
    purpose === 'member'
      ? byMember(situation, contact, text ?? '', expires_at)
      : answer(situation, contact, purpose, expires_at)
  const { heldUntil } = situation
  if (next.kind !== 'send' || heldUntil === undefined || heldUntil <= now) return next
  return postpone.forHeldSender(heldUntil)
}

const withdrawn = (reason: string): NextMessageAction => ({ kind: 'withdraw', why: 'withdrawn', reason })

/** The only messages that somebody gets who opted out, at whatever hour: 47 CFR 64.1200(a)(12). */
const answer = (
  { account, sentInLastDay }: Situation,
  contact: KnownContact,
  purpose: 'confirmation' | 'help',
  validUntil: Instant,
): NextMessageAction => {
  if (!account.enabled) return withdrawn('the account is disabled')
  if (purpose === 'confirmation')
    return contact.optedOut
      ? { kind: 'send', text: answerOf(confirmation, account.title), validUntil }
      : withdrawn('the contact opted in again')
  if (sentInLastDay.length >= mostHelpInDay) return withdrawn('the contact got too many messages in a day')
  return { kind: 'send', text: account.helpText ?? answerOf(standardHelp, account.title), validUntil }
}

const confirmation = 'You will get no more messages from {{account}}. Reply START to get them again.'

const standardHelp = '{{account}}: we write since you asked us for an offer. Reply STOP to get no more messages.'

/** By template, as the messages of steps: a title may have any length. */
const answerOf = (template: string, title: string): string => messageOf(template, { account: title }, () => '')

/**
 * Opt-outs, quiet hours, a state's limit and a consent that is to be verified (contract 4.6.1) hold for members too.
 */
const byMember = (
  { engagement, settings, account, sentInLastDay, now }: Situation,
  { optedOut, details }: KnownContact,
  text: string,
  expiresAt: Instant,
): NextMessageAction => {
  if (optedOut) return withdrawn('the contact opted out')
  if (engagement.kind !== 'started' || engagement.ended) return withdrawn('the conversation has ended')
  if (!account.enabled) return postpone.whileDisabled(now)
  const awaited = engagement.awaitedConsent
  if (awaited?.nextCheckAt !== undefined && awaited.nextCheckAt > now) return postpone.forConsent(awaited.nextCheckAt)
  if (awaited !== undefined) return { kind: 'check-consent', check: awaited.failedChecks + 1 }
  const hours = hoursFor(settings, fieldsOf(details))
  const at = nextAllowed(hours, now)
  if (at === undefined) return withdrawn('there is no hour in which the contact may be written to')
  if (at > now) return postpone.forQuietHours(at)
  const until = dayIsFullUntil(hours, sentInLastDay)
  if (until !== undefined) return postpone.forStateLimit(until)
  const night = quietFrom(hours, now)
  return { kind: 'send', text, validUntil: night !== undefined && night < expiresAt ? night : expiresAt }
}
