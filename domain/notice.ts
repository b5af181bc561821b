import { NaturalNumber, t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, MemberId, NoticeId, Uuid, WebhookId } from './ids.js'
import { Instant } from './instant.js'
import type { MailOutcome } from './mail-outcome.js'
import { E, unreachable, type Either } from './prelude.js'
import { mostMailAttempts } from './retry-schedule.js'

/** No e-mail address stands here: it stands in the account's stream, and is read there when the notice is sent. */
const ToMember = t.type({ notice_id: NoticeId, account_id: AccountId, member_id: MemberId, due_at: Instant })

const AboutWebhook = t.intersection([
  ToMember,
  t.type({
    webhook_id: WebhookId,
    /** The id of the `WebhookTurnedOff` event, and when it was. */
    turned_off_id: Uuid,
    turned_off_at: Instant,
    reason: t.string,
  }),
  t.partial({ failing_since: Instant }),
])
export type WebhookNotice = t.TypeOf<typeof AboutWebhook>

const AboutSender = t.intersection([
  ToMember,
  t.type({ about: t.literal('sender-held'), since: Instant, reason: t.string }),
])

const AboutLimit = t.intersection([
  ToMember,
  t.type({ about: t.literal('segment-limit'), month: t.string, segments_per_month: NaturalNumber }),
])
export type MessagesNotice = t.TypeOf<typeof AboutSender> | t.TypeOf<typeof AboutLimit>

const Facts = t.union([AboutWebhook, AboutSender, AboutLimit])
export type NoticeFacts = WebhookNotice | MessagesNotice

/**
 * Tells one member that a webhook was turned off (contract 6.6.4), or that messages of the account wait. Reasons hold
 * no address and no words of a server.
 */
export const NoticeEvent = t.union([
  eventOf('NoticeDue', Facts),
  eventOf('NoticeAttemptFailed', t.type({ attempt: t.number, reason: t.string, next_attempt_at: Instant })),
  eventOf('NoticeSent', t.type({ attempt: t.number })),
  /**
   * `refused`: for good; `attempts-exhausted`: the last attempt failed too; `member-removed`: nobody is left to tell.
   */
  eventOf(
    'NoticeAbandoned',
    t.type({
      why: t.keyof({ refused: null, 'attempts-exhausted': null, 'member-removed': null }),
      reason: t.union([t.string, t.null]),
    }),
  ),
])
export type NoticeEvent = t.TypeOf<typeof NoticeEvent>

type NoticeState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'due'; readonly facts: NoticeFacts; readonly attempts: number; readonly dueAt: Instant }
  | { readonly kind: 'over' }

export type NoticeCommand =
  | { readonly type: 'MakeDue'; readonly facts: NoticeFacts }
  | {
      readonly type: 'RecordAttempt'
      readonly attempt: number
      readonly outcome: MailOutcome
      /** When the next attempt would come, were this one to fail. */
      readonly nextAttemptAt: Instant
    }
  | { readonly type: 'AbandonNotice' }

type NoticeRefusal = { readonly kind: 'notice-not-found' }

const evolve = (state: NoticeState, event: NoticeEvent): NoticeState => {
  if (event.type === 'NoticeDue') return { kind: 'due', facts: event.data, attempts: 0, dueAt: event.data.due_at }
  if (state.kind !== 'due') return state
  switch (event.type) {
    case 'NoticeAttemptFailed':
      return { ...state, attempts: event.data.attempt, dueAt: event.data.next_attempt_at }
    case 'NoticeSent':
    case 'NoticeAbandoned':
      return { kind: 'over' }
    default:
      return unreachable(event)
  }
}

const decide = (command: NoticeCommand, state: NoticeState): Either<NoticeRefusal, ReadonlyArray<NoticeEvent>> => {
  if (command.type === 'MakeDue') {
    return E.right(state.kind === 'unknown' ? [{ type: 'NoticeDue', data: command.facts }] : [])
  }
  if (state.kind === 'unknown') return E.left({ kind: 'notice-not-found' })
  if (state.kind === 'over') return E.right([])
  switch (command.type) {
    case 'RecordAttempt': {
      const { attempt, outcome, nextAttemptAt } = command
      // A second record of one attempt is a repeat: only the next one counts.
      if (attempt !== state.attempts + 1) return E.right([])
      if (outcome === 'sent') return E.right([{ type: 'NoticeSent', data: { attempt } }])
      const { kind, reason } = outcome
      if (kind === 'refused') return E.right([{ type: 'NoticeAbandoned', data: { why: 'refused', reason } }])
      if (attempt >= mostMailAttempts) {
        return E.right([{ type: 'NoticeAbandoned', data: { why: 'attempts-exhausted', reason } }])
      }
      return E.right([{ type: 'NoticeAttemptFailed', data: { attempt, reason, next_attempt_at: nextAttemptAt } }])
    }
    case 'AbandonNotice':
      return E.right([{ type: 'NoticeAbandoned', data: { why: 'member-removed', reason: null } }])
    default:
      return unreachable(command)
  }
}

export const notice: Decider<NoticeState, NoticeCommand, NoticeEvent, NoticeRefusal> = {
  category: 'notice',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
