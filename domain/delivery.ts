import { ActivityLabel } from './activity.js'
import { AttemptOutcome } from './attempt-outcome.js'
import { NaturalNumber, t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ContactId, DeliveryId, EngagementId, LeadId, ResendId, Uuid, WebhookId } from './ids.js'
import { Instant } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'
import { mostAttempts } from './retry-schedule.js'

/** All but the body. */
const Subject = t.intersection([
  t.type({
    delivery_id: DeliveryId,
    account_id: AccountId,
    webhook_id: WebhookId,
    /** The id of the `ActivityRecorded` event. */
    activity_id: Uuid,
    label: ActivityLabel,
    contact_id: ContactId,
    engagement_id: EngagementId,
    due_at: Instant,
  }),
  t.partial({ lead_id: LeadId, lead_submitted_at: Instant }),
])

/** The exact body: every attempt sends these bytes. */
const Facts = t.intersection([Subject, t.type({ body: t.string })])
export type DeliveryFacts = t.TypeOf<typeof Facts>

/**
 * `failed`: its retries are exhausted; `abandoned`: its webhook was removed; `dropped`: its contact was erased before
 * it was posted.
 */
export const DeliveryKind = t.keyof({
  due: null,
  held: null,
  succeeded: null,
  failed: null,
  skipped: null,
  abandoned: null,
  dropped: null,
})
export type DeliveryKind = t.TypeOf<typeof DeliveryKind>

const WhyAbandoned = t.keyof({ 'retries-exhausted': null, 'webhook-removed': null })

/** An event that an erasure took away: without what was posted, and what came back. */
const ErasedEvent = t.intersection([
  t.type({ type: t.string, at: Instant }),
  t.partial({ outcome: AttemptOutcome, delivered: t.boolean, why: WhyAbandoned }),
])
export type ErasedDeliveryEvent = t.TypeOf<typeof ErasedEvent>

/** Events that an erased delivery tells of: its first one and the newest. */
const mostTold = 200

/** The bulk resend that asked for it; null where one delivery was resent. */
const ResendOf = t.union([ResendId, t.null])

export const DeliveryEvent = t.union([
  eventOf('DeliveryDue', Facts),
  eventOf('DeliveryAttemptFailed', t.type({ outcome: AttemptOutcome, next_attempt_at: Instant })),
  eventOf('DeliverySucceeded', t.type({ outcome: AttemptOutcome })),
  /**
   * `retries-exhausted`: the last attempt of the schedule failed too (contract 6.6.4), after the first was due at
   * `failing_since`; `webhook-removed`: nobody is left to tell.
   */
  eventOf(
    'DeliveryAbandoned',
    t.intersection([
      t.type({
        delivery_id: DeliveryId,
        webhook_id: WebhookId,
        why: WhyAbandoned,
        outcome: t.union([AttemptOutcome, t.null]),
      }),
      t.partial({ failing_since: Instant }),
    ]),
  ),
  /** The webhook is off, at this version: the delivery waits until it is turned on again. */
  eventOf('DeliveryHeld', t.partial({ webhook_id: WebhookId, webhook_version: NaturalNumber })),
  /** The webhook was turned on to catch up: the schedule begins anew. */
  eventOf('DeliveryResumed', t.type({ due_at: Instant })),
  /** Whoever turned the webhook on chose not to catch up. */
  eventOf('DeliverySkipped', t.type({ chosen_by: t.string })),
  /** Somebody wants it posted once more, whatever its state. */
  eventOf('DeliveryResendRequested', t.type({ webhook_id: WebhookId, resend_id: ResendOf, due_at: Instant })),
  eventOf('DeliveryResent', t.type({ resend_id: ResendOf, delivered: t.boolean, outcome: AttemptOutcome })),
  /**
   * Closes the stream, since its contact was erased or it was kept for long enough: the body and what receivers said
   * are gone.
   */
  eventOf(
    'DeliveryErased',
    t.intersection([
      Subject,
      t.type({
        why: t.keyof({ 'contact-erased': null, retention: null }),
        state: DeliveryKind,
        created_at: Instant,
        history: t.readonlyArray(ErasedEvent),
      }),
      /** An attempt may have been under way, of which nothing is recorded any more. */
      t.partial({ under_way: t.literal(true) }),
    ]),
  ),
])
export type DeliveryEvent = t.TypeOf<typeof DeliveryEvent>

export type KnownDelivery = {
  readonly kind: Exclude<DeliveryKind, 'dropped'>
  readonly facts: DeliveryFacts
  /** Events of its stream. */
  readonly events: number
  /** All attempts that were ever made; the next one is numbered after them. */
  readonly attempts: number
  /** Attempts since the schedule last began. */
  readonly attemptsOfSchedule: number
  /** When the schedule last began. */
  readonly since: Instant
  /** When the next attempt of the schedule comes, while it is due. */
  readonly dueAt: Instant
  /** A resend that waits to be posted. */
  readonly resend: { readonly resendId: ResendId | null } | undefined
  /** The resends of many that it was ever part of. */
  readonly resends: ReadonlySet<ResendId>
}

export type DeliveryState = { readonly kind: 'unknown' } | { readonly kind: 'erased' } | KnownDelivery

export type DeliveryCommand =
  | {
      readonly type: 'MakeDue'
      readonly facts: DeliveryFacts
      /** The version at which the webhook is off; undefined while it is on. */
      readonly heldAt: number | undefined
    }
  | {
      readonly type: 'RecordAttempt'
      readonly delivered: boolean
      readonly outcome: AttemptOutcome
      /** When the next attempt would come, were this one to fail. */
      readonly nextAttemptAt: Instant
    }
  | { readonly type: 'HoldDelivery'; readonly webhookVersion: number }
  | { readonly type: 'ResumeDelivery'; readonly dueAt: Instant }
  | { readonly type: 'SkipDelivery'; readonly by: string }
  | { readonly type: 'AbandonDelivery' }
  | { readonly type: 'RequestResend'; readonly resendId: ResendId | null; readonly dueAt: Instant }
  | { readonly type: 'RecordResend'; readonly delivered: boolean; readonly outcome: AttemptOutcome }
  | {
      readonly type: 'EraseDelivery'
      readonly why: 'contact-erased' | 'retention'
      readonly createdAt: Instant
      /** Whatever is due until then may be under way. */
      readonly at: Instant
      /** All events of its stream, the first one first. */
      readonly history: ReadonlyArray<ErasedDeliveryEvent>
    }

export type DeliveryRefusal =
  | { readonly kind: 'delivery-not-found' }
  /** Nothing is left to be posted. */
  | { readonly kind: 'delivery-erased' }
  /** Its stream has other events by now than whoever erases it has read. */
  | { readonly kind: 'delivery-changed' }
  /** It is not at its end yet, so it is not kept for too long. */
  | { readonly kind: 'delivery-waiting' }

const begun = (facts: DeliveryFacts): KnownDelivery => ({
  kind: 'due',
  facts,
  events: 1,
  attempts: 0,
  attemptsOfSchedule: 0,
  since: facts.due_at,
  dueAt: facts.due_at,
  resend: undefined,
  resends: new Set(),
})

/** The number of the newest attempt that erased events tell of. */
export const attemptsIn = (history: ReadonlyArray<ErasedDeliveryEvent>): number =>
  Math.max(0, ...history.map(({ outcome }) => outcome?.attempt ?? 0))

/** What an event makes of the kind of a delivery that is known. */
export const kindAfter = (kind: DeliveryKind, event: DeliveryEvent): DeliveryKind => {
  switch (event.type) {
    case 'DeliveryDue':
    case 'DeliveryResumed':
      return 'due'
    case 'DeliveryHeld':
      return 'held'
    case 'DeliverySkipped':
      return 'skipped'
    case 'DeliverySucceeded':
      return 'succeeded'
    case 'DeliveryAbandoned':
      if (event.data.why === 'retries-exhausted') return 'failed'
      return kind === 'succeeded' ? 'succeeded' : 'abandoned'
    case 'DeliveryResent':
      return event.data.delivered ? 'succeeded' : kind
    case 'DeliveryAttemptFailed':
    case 'DeliveryResendRequested':
      return kind
    case 'DeliveryErased':
      return event.data.state
    default:
      return unreachable(event)
  }
}

const evolve = (state: DeliveryState, event: DeliveryEvent): DeliveryState => {
  if (event.type === 'DeliveryDue') return begun(event.data)
  if (event.type === 'DeliveryErased') return { kind: 'erased' }
  if (state.kind === 'unknown' || state.kind === 'erased') return state
  const kind = kindAfter(state.kind, event)
  // Only a closing event drops one.
  const after = { ...state, events: state.events + 1, kind: kind === 'dropped' ? state.kind : kind }
  switch (event.type) {
    case 'DeliveryAttemptFailed': {
      const { outcome, next_attempt_at } = event.data
      return {
        ...after,
        attempts: outcome.attempt,
        attemptsOfSchedule: state.attemptsOfSchedule + 1,
        dueAt: next_attempt_at,
      }
    }
    case 'DeliveryHeld':
    case 'DeliverySkipped':
      return after
    case 'DeliveryResumed':
      return { ...after, attemptsOfSchedule: 0, since: event.data.due_at, dueAt: event.data.due_at }
    case 'DeliverySucceeded':
      return { ...after, attempts: event.data.outcome.attempt }
    case 'DeliveryAbandoned': {
      const { why, outcome } = event.data
      if (why === 'retries-exhausted') return { ...after, attempts: outcome?.attempt ?? state.attempts }
      return { ...after, resend: undefined }
    }
    case 'DeliveryResendRequested': {
      const { resend_id: resendId } = event.data
      const resends = resendId === null ? state.resends : new Set(state.resends).add(resendId)
      return { ...after, resend: { resendId }, resends }
    }
    case 'DeliveryResent':
      return { ...after, attempts: event.data.outcome.attempt, resend: undefined }
    default:
      return unreachable(event)
  }
}

const decide = (
  command: DeliveryCommand,
  state: DeliveryState,
): Either<DeliveryRefusal, ReadonlyArray<DeliveryEvent>> => {
  if (command.type === 'MakeDue') {
    if (state.kind !== 'unknown') return E.right([])
    const { facts, heldAt } = command
    const due: DeliveryEvent = { type: 'DeliveryDue', data: facts }
    return E.right(heldAt === undefined ? [due] : [due, held(facts, heldAt)])
  }
  if (state.kind === 'unknown') return E.left({ kind: 'delivery-not-found' })
  if (state.kind === 'erased')
    return command.type === 'RequestResend' ? E.left({ kind: 'delivery-erased' }) : E.right([])
  const isWaiting = state.kind === 'held' || state.kind === 'failed'
  switch (command.type) {
    case 'RecordAttempt':
      return E.right(recordAttempt(command, state))
    case 'HoldDelivery':
      return E.right(state.kind === 'due' ? [held(state.facts, command.webhookVersion)] : [])
    case 'ResumeDelivery':
      return E.right(isWaiting ? [{ type: 'DeliveryResumed', data: { due_at: command.dueAt } }] : [])
    case 'SkipDelivery':
      return E.right(isWaiting ? [{ type: 'DeliverySkipped', data: { chosen_by: command.by } }] : [])
    case 'AbandonDelivery': {
      const isFinal = state.kind === 'succeeded' || state.kind === 'skipped' || state.kind === 'abandoned'
      return E.right(isFinal && state.resend === undefined ? [] : [abandoned(state, 'webhook-removed', null)])
    }
    case 'RequestResend': {
      const { resendId, dueAt } = command
      // A waiting resend serves every further request, and a bulk resend takes each delivery once.
      if (state.resend !== undefined || (resendId !== null && state.resends.has(resendId))) return E.right([])
      const data = { webhook_id: state.facts.webhook_id, resend_id: resendId, due_at: dueAt }
      return E.right([{ type: 'DeliveryResendRequested', data }])
    }
    case 'RecordResend': {
      const { delivered, outcome } = command
      if (state.resend === undefined || outcome.attempt !== state.attempts + 1) return E.right([])
      return E.right([{ type: 'DeliveryResent', data: { resend_id: state.resend.resendId, delivered, outcome } }])
    }
    case 'EraseDelivery':
      return eraseDelivery(command, state)
    default:
      return unreachable(command)
  }
}

const eraseDelivery = (
  { why, createdAt: created_at, at, history }: Extract<DeliveryCommand, { readonly type: 'EraseDelivery' }>,
  state: KnownDelivery,
): Either<DeliveryRefusal, ReadonlyArray<DeliveryEvent>> => {
  const isOpen = state.kind === 'due' || state.kind === 'held'
  if (why === 'retention' && (isOpen || state.resend !== undefined)) return E.left({ kind: 'delivery-waiting' })
  if (history.length !== state.events) return E.left({ kind: 'delivery-changed' })
  const { body: _body, ...subject } = state.facts
  const told = history.length > mostTold ? [...history.slice(0, 1), ...history.slice(1 - mostTold)] : history
  const kind: DeliveryKind = isOpen ? 'dropped' : state.kind
  const isUnderWay = state.resend !== undefined || (state.kind === 'due' && state.dueAt <= at)
  const data = { ...subject, why, state: kind, created_at, history: told, ...(isUnderWay ? underWay : {}) }
  return E.right([{ type: 'DeliveryErased', data }])
}

const underWay = { under_way: true } as const

const recordAttempt = (
  { delivered, outcome, nextAttemptAt }: Extract<DeliveryCommand, { readonly type: 'RecordAttempt' }>,
  state: KnownDelivery,
): ReadonlyArray<DeliveryEvent> => {
  // It may have been under way when the delivery was held, or even skipped.
  if (state.kind !== 'due' && state.kind !== 'held' && state.kind !== 'skipped') return []
  // A second record of one attempt is a repeat: only the next one counts.
  if (outcome.attempt !== state.attempts + 1) return []
  if (delivered) return [{ type: 'DeliverySucceeded', data: { outcome } }]
  if (state.attemptsOfSchedule + 1 >= mostAttempts && state.kind !== 'skipped')
    return [abandoned(state, 'retries-exhausted', outcome)]
  return [{ type: 'DeliveryAttemptFailed', data: { outcome, next_attempt_at: nextAttemptAt } }]
}

const held = ({ webhook_id }: DeliveryFacts, webhook_version: number): DeliveryEvent => ({
  type: 'DeliveryHeld',
  data: { webhook_id, webhook_version },
})

const abandoned = (
  { facts: { delivery_id, webhook_id }, since }: KnownDelivery,
  why: 'retries-exhausted' | 'webhook-removed',
  outcome: AttemptOutcome | null,
): DeliveryEvent => ({
  type: 'DeliveryAbandoned',
  data: {
    delivery_id,
    webhook_id,
    why,
    outcome,
    ...(why === 'retries-exhausted' ? { failing_since: since } : {}),
  },
})

export const delivery: Decider<DeliveryState, DeliveryCommand, DeliveryEvent, DeliveryRefusal> = {
  category: 'delivery',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
