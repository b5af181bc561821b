import { ActivityLabel } from './activity.js'
import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, DeliveryId, PlaybookId, WebhookId } from './ids.js'
import { E, unreachable, type Either } from './prelude.js'

/** `agent`: contract 6.2; `flat`: contract 6.3. */
export const PayloadFormat = t.keyof({ agent: null, flat: null }, 'agent or flat')
export type PayloadFormat = t.TypeOf<typeof PayloadFormat>

/** `events` empty subscribes to all of them (contract 6.1); a `playbook_id` narrows to that playbook's conversations. */
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

export const WebhookEvent = t.union([
  eventOf('WebhookAdded', t.type({ webhook_id: WebhookId, account_id: AccountId, settings: WebhookSettings })),
  eventOf('WebhookChanged', t.type({ settings: WebhookSettings })),
  /** The delivery whose last retry failed (contract 6.6.4). */
  eventOf('WebhookTurnedOff', t.type({ delivery_id: DeliveryId, reason: t.string })),
  eventOf('WebhookRemoved', t.type({})),
])
export type WebhookEvent = t.TypeOf<typeof WebhookEvent>

export type WebhookState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'removed' }
  | {
      readonly kind: 'on' | 'off'
      readonly webhookId: WebhookId
      readonly accountId: AccountId
      readonly settings: WebhookSettings
    }

export type WebhookCommand =
  | {
      readonly type: 'AddWebhook'
      readonly webhookId: WebhookId
      readonly accountId: AccountId
      readonly settings: WebhookSettings
    }
  | { readonly type: 'ChangeWebhook'; readonly accountId: AccountId; readonly settings: Partial<WebhookSettings> }
  | { readonly type: 'TurnOffWebhook'; readonly deliveryId: DeliveryId; readonly reason: string }
  | { readonly type: 'RemoveWebhook'; readonly accountId: AccountId }

export type WebhookRefusal = { readonly kind: 'webhook-not-found' }

const evolve = (state: WebhookState, event: WebhookEvent): WebhookState => {
  if (event.type === 'WebhookAdded') {
    const { webhook_id, account_id, settings } = event.data
    return { kind: 'on', webhookId: webhook_id, accountId: account_id, settings }
  }
  if (state.kind === 'unknown' || state.kind === 'removed') return state
  switch (event.type) {
    case 'WebhookChanged':
      return { ...state, settings: event.data.settings }
    case 'WebhookTurnedOff':
      return { ...state, kind: 'off' }
    case 'WebhookRemoved':
      return { kind: 'removed' }
    default:
      return unreachable(event)
  }
}

const decide = (command: WebhookCommand, state: WebhookState): Either<WebhookRefusal, ReadonlyArray<WebhookEvent>> => {
  if (command.type === 'AddWebhook') {
    if (state.kind !== 'unknown') return E.right([])
    const { webhookId, accountId, settings } = command
    return E.right([{ type: 'WebhookAdded', data: { webhook_id: webhookId, account_id: accountId, settings } }])
  }
  if (state.kind === 'unknown' || state.kind === 'removed') return E.left({ kind: 'webhook-not-found' })
  switch (command.type) {
    case 'ChangeWebhook': {
      if (state.accountId !== command.accountId) return E.left({ kind: 'webhook-not-found' })
      const settings = { ...state.settings, ...command.settings }
      const same = JSON.stringify(settings) === JSON.stringify(state.settings)
      return E.right(same ? [] : [{ type: 'WebhookChanged', data: { settings } }])
    }
    case 'TurnOffWebhook': {
      if (state.kind === 'off') return E.right([])
      const data = { delivery_id: command.deliveryId, reason: command.reason }
      return E.right([{ type: 'WebhookTurnedOff', data }])
    }
    case 'RemoveWebhook':
      if (state.accountId !== command.accountId) return E.left({ kind: 'webhook-not-found' })
      return E.right([{ type: 'WebhookRemoved', data: {} }])
    default:
      return unreachable(command)
  }
}

export const webhook: Decider<WebhookState, WebhookCommand, WebhookEvent, WebhookRefusal> = {
  category: 'webhook',
  initial: { kind: 'unknown' },
  founding: new Set(['AddWebhook']),
  evolve,
  decide,
}
