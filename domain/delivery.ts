import { ActivityLabel } from './activity.js'
import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ContactId, DeliveryId, EngagementId, Uuid, WebhookId } from './ids.js'
import { Instant } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'

const Facts = t.type({
  delivery_id: DeliveryId,
  account_id: AccountId,
  webhook_id: WebhookId,
  /** The id of the `ActivityRecorded` event. */
  activity_id: Uuid,
  label: ActivityLabel,
  contact_id: ContactId,
  engagement_id: EngagementId,
  due_at: Instant,
  /** The exact body: every attempt sends these bytes. */
  body: t.string,
})
export type DeliveryFacts = t.TypeOf<typeof Facts>

/** How one attempt ended; `status` is null where no response came. Times in milliseconds. */
export const AttemptOutcome = t.type(
  { attempt: t.number, status: t.union([t.number, t.null]), reason: t.string, duration_ms: t.number },
  'AttemptOutcome',
)
export type AttemptOutcome = t.TypeOf<typeof AttemptOutcome>

export const DeliveryEvent = t.union([
  eventOf('DeliveryDue', Facts),
  eventOf('DeliveryAttemptFailed', t.type({ outcome: AttemptOutcome, next_attempt_at: Instant })),
  eventOf('DeliverySucceeded', t.type({ outcome: AttemptOutcome })),
  /** `retries-exhausted`: the nineteenth attempt failed too (contract 6.6.4); `webhook-removed`: nobody is left to tell. */
  eventOf(
    'DeliveryAbandoned',
    t.type({
      delivery_id: DeliveryId,
      webhook_id: WebhookId,
      why: t.keyof({ 'retries-exhausted': null, 'webhook-removed': null }),
      outcome: t.union([AttemptOutcome, t.null]),
    }),
  ),
  /** The webhook is off: kept until it is turned on again. */
  eventOf('DeliveryHeld', t.type({})),
])
export type DeliveryEvent = t.TypeOf<typeof DeliveryEvent>

/** One attempt and eighteen retries (contract 6.6.3). */
export const maximalAttempts = 19

export type DeliveryState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'due' | 'held'; readonly facts: DeliveryFacts; readonly attempts: number; readonly dueAt: Instant }
  | { readonly kind: 'over' }

export type DeliveryCommand =
  | { readonly type: 'MakeDue'; readonly facts: DeliveryFacts; readonly held: boolean }
  | {
      readonly type: 'RecordAttempt'
      readonly delivered: boolean
      readonly outcome: AttemptOutcome
      /** When the next attempt would come, were this one to fail. */
      readonly nextAttemptAt: Instant
    }
  | { readonly type: 'HoldDelivery' }
  | { readonly type: 'AbandonDelivery' }

export type DeliveryRefusal = { readonly kind: 'delivery-not-found' }

const evolve = (state: DeliveryState, event: DeliveryEvent): DeliveryState => {
  if (event.type === 'DeliveryDue') return { kind: 'due', facts: event.data, attempts: 0, dueAt: event.data.due_at }
  if (state.kind === 'unknown' || state.kind === 'over') return state
  switch (event.type) {
    case 'DeliveryAttemptFailed':
      return { ...state, attempts: event.data.outcome.attempt, dueAt: event.data.next_attempt_at }
    case 'DeliveryHeld':
      return { ...state, kind: 'held' }
    case 'DeliverySucceeded':
    case 'DeliveryAbandoned':
      return { kind: 'over' }
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
    const due: DeliveryEvent = { type: 'DeliveryDue', data: command.facts }
    return E.right(command.held ? [due, { type: 'DeliveryHeld', data: {} }] : [due])
  }
  if (state.kind === 'unknown') return E.left({ kind: 'delivery-not-found' })
  if (state.kind === 'over') return E.right([])
  switch (command.type) {
    case 'RecordAttempt': {
      const { delivered, outcome, nextAttemptAt } = command
      // A second record of one attempt is a repeat: only the next one counts.
      if (outcome.attempt !== state.attempts + 1) return E.right([])
      if (delivered) return E.right([{ type: 'DeliverySucceeded', data: { outcome } }])
      if (outcome.attempt >= maximalAttempts) return E.right([abandoned(state.facts, 'retries-exhausted', outcome)])
      return E.right([{ type: 'DeliveryAttemptFailed', data: { outcome, next_attempt_at: nextAttemptAt } }])
    }
    case 'HoldDelivery':
      return E.right(state.kind === 'held' ? [] : [{ type: 'DeliveryHeld', data: {} }])
    case 'AbandonDelivery':
      return E.right([abandoned(state.facts, 'webhook-removed', null)])
    default:
      return unreachable(command)
  }
}

const abandoned = (
  { delivery_id, webhook_id }: DeliveryFacts,
  why: 'retries-exhausted' | 'webhook-removed',
  outcome: AttemptOutcome | null,
): DeliveryEvent => ({ type: 'DeliveryAbandoned', data: { delivery_id, webhook_id, why, outcome } })

export const delivery: Decider<DeliveryState, DeliveryCommand, DeliveryEvent, DeliveryRefusal> = {
  category: 'delivery',
  initial: { kind: 'unknown' },
  founding: new Set(['MakeDue']),
  evolve,
  decide,
}
