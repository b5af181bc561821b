import { NaturalNumber, t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ResendId, WebhookId } from './ids.js'
import { Instant } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'

const Counts = t.type({ requested: NaturalNumber, delivered: NaturalNumber, failed: NaturalNumber })
type ResendCounts = t.TypeOf<typeof Counts>

/** All deliveries to a webhook that failed, and became due from `from` to `to`, are posted once more. */
export const ResendEvent = t.union([
  eventOf(
    'ResendStarted',
    t.type({ resend_id: ResendId, account_id: AccountId, webhook_id: WebhookId, from: Instant, to: Instant }),
  ),
  /** No more deliveries are asked for. */
  eventOf('ResendCancelled', t.type({})),
  /** Each was posted. */
  eventOf('ResendCompleted', t.type({})),
  /** How far it has come, since deliveries that it asked for are erased and can't be counted any more. */
  eventOf('ResendCounted', Counts),
])
export type ResendEvent = t.TypeOf<typeof ResendEvent>

export type KnownResend = {
  readonly kind: 'running' | 'cancelled' | 'completed'
  readonly resendId: ResendId
  readonly accountId: AccountId
  readonly webhookId: WebhookId
  readonly from: Instant
  readonly to: Instant
  /** What was last recorded of how far it has come. */
  readonly counts: ResendCounts | undefined
}

export type ResendState = { readonly kind: 'unknown' } | KnownResend

export type ResendCommand =
  | ({ readonly type: 'StartResend' } & Omit<KnownResend, 'kind' | 'counts'>)
  | { readonly type: 'CancelResend'; readonly webhookId: WebhookId }
  | { readonly type: 'CompleteResend' }
  | { readonly type: 'CountResend'; readonly counts: ResendCounts }

export type ResendRefusal = { readonly kind: 'resend-not-found' }

const evolve = (state: ResendState, event: ResendEvent): ResendState => {
  if (event.type === 'ResendStarted') {
    const { resend_id, account_id, webhook_id, from, to } = event.data
    const ids = { resendId: resend_id, accountId: account_id, webhookId: webhook_id }
    return { kind: 'running', ...ids, from, to, counts: undefined }
  }
  if (state.kind === 'unknown') return state
  switch (event.type) {
    case 'ResendCancelled':
      return { ...state, kind: 'cancelled' }
    case 'ResendCompleted':
      return { ...state, kind: 'completed' }
    case 'ResendCounted':
      return { ...state, counts: event.data }
    default:
      return unreachable(event)
  }
}

const decide = (command: ResendCommand, state: ResendState): Either<ResendRefusal, ReadonlyArray<ResendEvent>> => {
  if (command.type === 'StartResend') {
    if (state.kind !== 'unknown') return E.right([])
    const { resendId, accountId, webhookId, from, to } = command
    const data = { resend_id: resendId, account_id: accountId, webhook_id: webhookId, from, to }
    return E.right([{ type: 'ResendStarted', data }])
  }
  if (state.kind === 'unknown') return E.left({ kind: 'resend-not-found' })
  const isRunning = state.kind === 'running'
  switch (command.type) {
    case 'CancelResend':
      if (state.webhookId !== command.webhookId) return E.left({ kind: 'resend-not-found' })
      return E.right(isRunning ? [{ type: 'ResendCancelled', data: {} }] : [])
    case 'CompleteResend':
      return E.right(isRunning ? [{ type: 'ResendCompleted', data: {} }] : [])
    case 'CountResend':
      return E.right(isSame(command.counts, state.counts) ? [] : [{ type: 'ResendCounted', data: command.counts }])
    default:
      return unreachable(command)
  }
}

const isSame = (one: ResendCounts, other: ResendCounts | undefined): boolean =>
  one.requested === other?.requested && one.delivered === other.delivered && one.failed === other.failed

export const resend: Decider<ResendState, ResendCommand, ResendEvent, ResendRefusal> = {
  category: 'resend',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
