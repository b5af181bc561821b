import type { ActivityLabel } from '../../../domain/activity.js'
import { delivery } from '../../../domain/delivery.js'
import { engagement } from '../../../domain/engagement.js'
import type { DeliveryId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import { lead } from '../../../domain/lead.js'
import { resend } from '../../../domain/resend.js'
import { webhook, type WebhookSettings } from '../../../domain/webhook.js'
import {
  accountId,
  at,
  contactId,
  details,
  engagementId,
  leadFacts,
  leadId,
  phone,
  resendId,
  webhookId,
  webhookSettings,
} from '../domain/samples.js'
import { urlOf } from './receivers.js'
import type { Command } from './simulation.js'

/** Adds the webhook number `n`, whose requests are signed. */
export const addWebhook =
  (n: number, settings: Partial<WebhookSettings> = {}): Command =>
  (process) => {
    const id = webhookId(n)
    return process.execute(webhook, id, {
      type: 'AddWebhook',
      webhookId: id,
      accountId: accountId(),
      settings: webhookSettings({ url: urlOf(id), sealed_token: `token-${n}`, ...settings }),
      signing: { sealed: `secret-${n}`, previousUntil: at() },
    })
  }

export const changeWebhook =
  (n: number, settings: Partial<WebhookSettings>): Command =>
  (process) =>
    process.execute(webhook, webhookId(n), { type: 'ChangeWebhook', accountId: accountId(), settings })

export const turnOn =
  (n: number, catchUp: boolean, by = 'somebody'): Command =>
  (process) =>
    process.execute(webhook, webhookId(n), { type: 'TurnOnWebhook', accountId: accountId(), catchUp, by })

export const removeWebhook =
  (n: number): Command =>
  (process) =>
    process.execute(webhook, webhookId(n), { type: 'RemoveWebhook', accountId: accountId() })

export const resendOne =
  (id: DeliveryId): Command =>
  (process, clock) =>
    process.execute(delivery, id, { type: 'RequestResend', resendId: null, dueAt: clock.now() })

/**
 * Starts the bulk resend number `n`: of the deliveries to the webhook number `to` that failed and were made since
 * `from`.
 */
export const startResend =
  (n: number, to: number, from: Instant): Command =>
  (process, clock) =>
    process.execute(resend, resendId(n), {
      type: 'StartResend',
      resendId: resendId(n),
      accountId: accountId(),
      webhookId: webhookId(to),
      from,
      to: clock.now(),
    })

export const cancelResend =
  (n: number, to: number): Command =>
  (process) =>
    process.execute(resend, resendId(n), { type: 'CancelResend', webhookId: webhookId(to) })

/**
 * Submits the lead number `n`, with a conversation of the same number. A contact that is known takes the lead's name.
 */
export const submitLead =
  (n: number, contact: number, firstName = 'Ada'): Command =>
  (process) =>
    process.execute(lead, leadId(n), {
      type: 'SubmitLead',
      facts: leadFacts({
        lead_id: leadId(n),
        contact_id: contactId(contact),
        engagement_id: engagementId(n),
        details: details({ first_name: firstName, phone: phone(contact) }),
      }),
    })

/** In the conversation of the lead number `n`. */
export const recordActivity =
  (n: number, label: ActivityLabel): Command =>
  (process, clock) =>
    process.execute(engagement, engagementId(n), {
      type: 'RecordActivity',
      accountId: accountId(),
      label,
      at: clock.now(),
    })
