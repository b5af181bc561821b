import { ActivityLabel } from './activity.js'
import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, DeliveryId, PlaybookId, WebhookId } from './ids.js'
import { Instant } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'

/** `agent`: contract 6.2; `flat`: contract 6.3. */
export const PayloadFormat = t.keyof({ agent: null, flat: null }, 'agent or flat')
export type PayloadFormat = t.TypeOf<typeof PayloadFormat>

/** `events` empty subscribes to all of them (contract 6.1); a `playbook_id` narrows to that playbook's engagements. */
export const WebhookSettings = t.type(
  {
    url: t.string,
    sealed_token: t.string,
    events: t.readonlyArray(ActivityLabel),
    format: PayloadFormat,
    playbook_id: t.union([PlaybookId, t.null]),
  },
  'webhook settings',
)
export type WebhookSettings = t.TypeOf<typeof WebhookSettings>

/** Of one account, of those that are not removed: each activity of it becomes a delivery to each of them. */
export const mostWebhooks = 100

export const WebhookEvent = t.union([
  eventOf('WebhookAdded', t.type({ webhook_id: WebhookId, account_id: AccountId, settings: WebhookSettings })),
  eventOf('WebhookChanged', t.type({ settings: WebhookSettings })),
  /** The delivery whose last retry failed (contract 6.6.4), and when its first attempt was due. */
  eventOf(
    'WebhookTurnedOff',
    t.intersection([t.type({ delivery_id: DeliveryId, reason: t.string }), t.partial({ failing_since: Instant })]),
  ),
  /** What was not delivered meanwhile is caught up with, or skipped. */
  eventOf('WebhookTurnedOn', t.type({ catch_up: t.boolean, by: t.string })),
  /** Signs from now on (Standard Webhooks); the one before it goes on signing beside it until `previous_until`. */
  eventOf('WebhookSigningSecretIssued', t.type({ sealed_secret: t.string, previous_until: Instant })),
  eventOf('WebhookRemoved', t.type({})),
])
export type WebhookEvent = t.TypeOf<typeof WebhookEvent>

/** `until` is undefined for the newest secret, which signs until another is issued. */
type SigningSecret = { readonly sealed: string; readonly until: Instant | undefined }

/** How a webhook was turned on last, and the version that it had then. */
type TurnedOn = { readonly catchUp: boolean; readonly by: string; readonly version: number }

/** One that was added and not removed. */
export type KnownWebhook = {
  readonly kind: 'on' | 'off'
  readonly webhookId: WebhookId
  readonly accountId: AccountId
  readonly settings: WebhookSettings
  /** The newest first, and what it replaced; none where none was ever issued. */
  readonly signingSecrets: ReadonlyArray<SigningSecret>
  /** Counts the events of the stream, so that an attempt made at an older version is known to be older. */
  readonly version: number
  readonly turnedOn: TurnedOn | undefined
}

/** Its log stays. */
type RemovedWebhook = { readonly kind: 'removed' } & Pick<KnownWebhook, 'webhookId' | 'accountId'>

export type WebhookState = { readonly kind: 'unknown' } | RemovedWebhook | KnownWebhook

/** `previousUntil`: how long the one that it replaces is good. */
export type NewSigningSecret = { readonly sealed: string; readonly previousUntil: Instant }

export type WebhookCommand =
  | {
      readonly type: 'AddWebhook'
      readonly webhookId: WebhookId
      readonly accountId: AccountId
      readonly settings: WebhookSettings
      readonly signing?: NewSigningSecret
    }
  | { readonly type: 'IssueSigningSecret'; readonly accountId: AccountId; readonly signing: NewSigningSecret }
  | { readonly type: 'ChangeWebhook'; readonly accountId: AccountId; readonly settings: Partial<WebhookSettings> }
  | {
      readonly type: 'TurnOffWebhook'
      readonly deliveryId: DeliveryId
      readonly reason: string
      readonly failingSince: Instant | undefined
      /**
       * The version that the last attempt went by; undefined for attempts that were recorded before versions were
       * stored.
       */
      readonly version: number | undefined
    }
  | { readonly type: 'TurnOnWebhook'; readonly accountId: AccountId; readonly catchUp: boolean; readonly by: string }
  | { readonly type: 'RemoveWebhook'; readonly accountId: AccountId }

export type WebhookRefusal = { readonly kind: 'webhook-not-found' }

const evolve = (state: WebhookState, event: WebhookEvent): WebhookState => {
  if (event.type === 'WebhookAdded') {
    const { webhook_id, account_id, settings } = event.data
    const initial = { signingSecrets: [], version: 1, turnedOn: undefined }
    return { kind: 'on', webhookId: webhook_id, accountId: account_id, settings, ...initial }
  }
  if (state.kind === 'unknown' || state.kind === 'removed') return state
  const version = state.version + 1
  switch (event.type) {
    case 'WebhookChanged':
      return { ...state, version, settings: event.data.settings }
    case 'WebhookTurnedOff':
      return { ...state, version, kind: 'off' }
    case 'WebhookTurnedOn': {
      const { catch_up: catchUp, by } = event.data
      return { ...state, version, kind: 'on', turnedOn: { catchUp, by, version } }
    }
    case 'WebhookSigningSecretIssued': {
      const { sealed_secret, previous_until } = event.data
      const previous = state.signingSecrets.slice(0, 1).map(({ sealed }) => ({ sealed, until: previous_until }))
      return { ...state, version, signingSecrets: [{ sealed: sealed_secret, until: undefined }, ...previous] }
    }
    case 'WebhookRemoved':
      return { kind: 'removed', webhookId: state.webhookId, accountId: state.accountId }
    default:
      return unreachable(event)
  }
}

const decide = (command: WebhookCommand, state: WebhookState): Either<WebhookRefusal, ReadonlyArray<WebhookEvent>> => {
  if (command.type === 'AddWebhook') {
    if (state.kind !== 'unknown') return E.right([])
    const { webhookId, accountId, settings, signing } = command
    const added: WebhookEvent = {
      type: 'WebhookAdded',
      data: { webhook_id: webhookId, account_id: accountId, settings },
    }
    return E.right(signing === undefined ? [added] : [added, issued(signing)])
  }
  // Its last retry may have failed while it was being removed: nothing is left to turn off.
  if (state.kind === 'removed' && command.type === 'TurnOffWebhook') return E.right([])
  if (state.kind === 'unknown' || state.kind === 'removed') return E.left({ kind: 'webhook-not-found' })
  switch (command.type) {
    case 'ChangeWebhook': {
      if (state.accountId !== command.accountId) return E.left({ kind: 'webhook-not-found' })
      const settings = { ...state.settings, ...command.settings }
      const same = JSON.stringify(settings) === JSON.stringify(state.settings)
      return E.right(same ? [] : [{ type: 'WebhookChanged', data: { settings } }])
    }
    case 'IssueSigningSecret':
      if (state.accountId !== command.accountId) return E.left({ kind: 'webhook-not-found' })
      return E.right(command.signing.sealed === state.signingSecrets[0]?.sealed ? [] : [issued(command.signing)])
    case 'TurnOffWebhook': {
      if (state.kind === 'off' || isOlderThanTurningOn(command.version, state)) return E.right([])
      const { deliveryId, reason, failingSince } = command
      const since = failingSince === undefined ? {} : { failing_since: failingSince }
      return E.right([{ type: 'WebhookTurnedOff', data: { delivery_id: deliveryId, reason, ...since } }])
    }
    case 'TurnOnWebhook': {
      const { accountId, catchUp, by } = command
      if (state.accountId !== accountId) return E.left({ kind: 'webhook-not-found' })
      return E.right(state.kind === 'on' ? [] : [{ type: 'WebhookTurnedOn', data: { catch_up: catchUp, by } }])
    }
    case 'RemoveWebhook':
      if (state.accountId !== command.accountId) return E.left({ kind: 'webhook-not-found' })
      return E.right([{ type: 'WebhookRemoved', data: {} }])
    default:
      return unreachable(command)
  }
}

/**
 * Whether something is of a version from before the webhook was last turned on; that turning on decided what becomes of
 * it.
 */
export const isOlderThanTurningOn = (version: number | undefined, { turnedOn }: KnownWebhook): boolean =>
  turnedOn !== undefined && (version ?? 0) < turnedOn.version

const issued = ({ sealed, previousUntil }: NewSigningSecret): WebhookEvent => ({
  type: 'WebhookSigningSecretIssued',
  data: { sealed_secret: sealed, previous_until: previousUntil },
})

/** The sealed secrets that sign at an instant, the newest first. */
export const signingSecretsAt = (secrets: ReadonlyArray<SigningSecret>, now: Instant): ReadonlyArray<string> =>
  secrets.filter(({ until }) => until === undefined || until > now).map(({ sealed }) => sealed)

export const webhook: Decider<WebhookState, WebhookCommand, WebhookEvent, WebhookRefusal> = {
  category: 'webhook',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
