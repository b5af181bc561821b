import type { ActivityLabel } from '../../domain/activity.js'
import type { AttemptOutcome } from '../../domain/attempt-outcome.js'
import { attemptsIn, delivery, kindAfter, type DeliveryKind } from '../../domain/delivery.js'
import type { EventOf } from '../../domain/events.js'
import type { AccountId, ContactId, DeliveryId, EngagementId, LeadId, WebhookId } from '../../domain/ids.js'
import { millisecondsOf, type Instant } from '../../domain/instant.js'
import { idIn } from '../../domain/stream-name.js'
import type { Projection } from '../projection.js'

/**
 * How an attempt ended, without what the receiver said: that may hold personal values, and stands in the delivery's
 * stream alone.
 */
type ShownOutcome = Omit<AttemptOutcome, 'excerpt'>

/** A delivery without its body, which stands in the delivery's stream alone. */
export type DeliveryDocument = {
  readonly account_id: AccountId
  readonly id: DeliveryId
  readonly webhook_id: WebhookId
  readonly contact_id: ContactId
  readonly lead_id: LeadId | null
  readonly engagement_id: EngagementId
  readonly label: ActivityLabel
  readonly state: DeliveryKind
  readonly created_at: Instant
  readonly attempts: number
  readonly last_outcome: ShownOutcome | null
  readonly lead_submitted_at: Instant
  /** The webhook, until the delivery succeeded. */
  readonly undelivered?: WebhookId
  /** Present only while the delivery is due: what `queueOf` gives. */
  readonly queue?: string
  /** Present only while the delivery is due. */
  readonly next_attempt_at?: Instant
  /**
   * When the first attempt of its schedule was due. Present only while it waits for a retry: where many do, the oldest
   * goes first.
   */
  readonly failing_since?: Instant
  /**
   * When the next attempt is due, and otherwise when the delivery was made: what its state is ordered by. Of an erased
   * one absent.
   */
  readonly state_since?: Instant
  /** The webhook, while somebody asked for a resend that was not posted yet. */
  readonly resend?: WebhookId
  readonly resend_at?: Instant
  /** The webhook, while the delivery waits for it to be turned on: it is off, or turned off by this very delivery. */
  readonly backlog?: WebhookId
  readonly backlog_order?: string
  /** The version of the webhook at which the delivery was held, or failed for the last time. */
  readonly backlog_version?: number
  /** The body is gone, and with it whatever could be posted once more. */
  readonly erased?: true
  /** When it was, where it had been kept for long enough. */
  readonly body_removed_at?: Instant
}

/**
 * The parts of the queue of a webhook, one for each kind of attempt, since first attempts go before retries, and both
 * before what is caught up with.
 */
export const queueParts = ['first', 'retry', 'caught-up'] as const

/** Where a due delivery waits. */
export const queueOf = (webhook: WebhookId, part: (typeof queueParts)[number]): string => `${webhook}/${part}`

export const webhookOfQueue = (queue: string): WebhookId => queue.slice(0, queue.indexOf('/')) as WebhookId

export const deliveries: Projection<DeliveryDocument> = {
  name: 'deliveries',
  version: 6,
  categories: ['delivery'],
  indexes: {
    due: ['queue', 'next_attempt_at'],
    failing: ['queue', 'failing_since'],
    resends: ['resend', 'resend_at'],
    backlog: ['backlog', 'backlog_order'],
    by_webhook: ['webhook_id', 'created_at'],
    by_state: ['webhook_id', 'state', 'created_at'],
    by_lead: ['webhook_id', 'lead_id', 'created_at'],
    undelivered: ['undelivered', 'created_at'],
    of_all: ['state', 'state_since'],
    bodies_removed: ['body_removed_at'],
  },
  createdBy: new Set(['DeliveryDue', 'DeliveryErased']),
  keyOf: (event) => idIn(delivery, event.stream),
  evolve: (document, event) => {
    if (event.type === 'DeliveryDue') {
      const { account_id, delivery_id, webhook_id, contact_id, engagement_id, label, due_at } = event.data
      const { lead_id = null, lead_submitted_at = event.time } = event.data
      return {
        account_id,
        id: delivery_id,
        webhook_id,
        contact_id,
        lead_id,
        engagement_id,
        label,
        state: 'due',
        created_at: event.time,
        attempts: 0,
        last_outcome: null,
        lead_submitted_at,
        undelivered: webhook_id,
        queue: queueOf(webhook_id, 'first'),
        next_attempt_at: due_at,
        state_since: due_at,
      }
    }
    if (event.type === 'DeliveryErased') return erased(event.data, event.time)
    if (document === undefined) return undefined
    switch (event.type) {
      case 'DeliveryAttemptFailed': {
        const { outcome, next_attempt_at } = event.data
        const tried = { ...document, ...after(outcome) }
        // The attempt may have been in flight when the delivery was held.
        return document.state === 'due' ? retried(tried, next_attempt_at) : tried
      }
      case 'DeliveryHeld':
        return waiting(document, 'held', event.data.webhook_version)
      case 'DeliveryResumed':
        return due(document, 'caught-up', event.data.due_at)
      case 'DeliverySkipped':
        return inState(document, 'skipped')
      case 'DeliverySucceeded':
        return inState({ ...document, ...after(event.data.outcome) }, 'succeeded')
      case 'DeliveryAbandoned': {
        const { why, outcome } = event.data
        const tried = outcome === null ? document : { ...document, ...after(outcome) }
        if (why === 'retries-exhausted') return waiting(tried, 'failed', outcome?.webhook_version)
        return withoutResend(inState(tried, kindAfter(document.state, event)))
      }
      case 'DeliveryResendRequested':
        return { ...document, resend: document.webhook_id, resend_at: event.data.due_at }
      case 'DeliveryResent': {
        const { delivered, outcome } = event.data
        const tried = withoutResend({ ...document, ...after(outcome) })
        return delivered ? inState(tried, 'succeeded') : tried
      }
      default:
        return document
    }
  },
}

/** What is left of a delivery, of which nothing waits any more. */
const erased = (facts: EventOf<'DeliveryErased'>['data'], at: Instant): DeliveryDocument => {
  const { account_id, webhook_id, contact_id, lead_id = null, engagement_id, label, state, history, created_at } = facts
  return {
    account_id,
    id: facts.delivery_id,
    webhook_id,
    contact_id,
    lead_id,
    engagement_id,
    label,
    state,
    created_at,
    attempts: attemptsIn(history),
    last_outcome: history.findLast(({ outcome }) => outcome !== undefined)?.outcome ?? null,
    lead_submitted_at: facts.lead_submitted_at ?? created_at,
    erased: true,
    ...(facts.why === 'retention' ? { body_removed_at: at } : {}),
  }
}

const after = ({ excerpt: _excerpt, ...outcome }: AttemptOutcome) => ({
  attempts: outcome.attempt,
  last_outcome: outcome,
})

const due = (document: DeliveryDocument, part: 'retry' | 'caught-up', at: Instant): DeliveryDocument => ({
  ...inState(document, 'due'),
  queue: queueOf(document.webhook_id, part),
  next_attempt_at: at,
  state_since: at,
})

const retried = (document: DeliveryDocument, at: Instant): DeliveryDocument => ({
  ...due(document, 'retry', at),
  // The first attempt was due when the schedule began.
  failing_since: document.failing_since ?? document.next_attempt_at ?? document.created_at,
})

const waiting = (document: DeliveryDocument, state: 'held' | 'failed', version = 0): DeliveryDocument => ({
  ...inState(document, state),
  backlog: document.webhook_id,
  backlog_order: backlogOrderOf(document),
  backlog_version: version,
})

/** The document in a state, without the fields of whatever it waited for before. */
const inState = (document: DeliveryDocument, state: DeliveryKind): DeliveryDocument => {
  const { queue: _queue, next_attempt_at: _next, failing_since: _since, undelivered: _undelivered, ...rest } = document
  const { backlog: _backlog, backlog_order: _order, backlog_version: _version, ...remaining } = rest
  const { webhook_id, created_at } = document
  return {
    ...remaining,
    state,
    state_since: created_at,
    ...(state === 'succeeded' ? {} : { undelivered: webhook_id }),
  }
}

const withoutResend = ({ resend: _resend, resend_at: _at, ...document }: DeliveryDocument): DeliveryDocument => document

/** More than the milliseconds of any instant. */
const endOfTime = 1e15

/** The newest lead comes first, and of one lead what happened first. */
const backlogOrderOf = ({ lead_submitted_at, created_at }: DeliveryDocument): string =>
  `${String(endOfTime - millisecondsOf(lead_submitted_at)).padStart(15, '0')}/${created_at}`
