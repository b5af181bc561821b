import type { AccountCommand } from '../../../domain/account.js'
import type { Activity } from '../../../domain/activity.js'
import type { ContactEvent } from '../../../domain/contact.js'
import type { ConversionEvent } from '../../../domain/conversion.js'
import type { DeliveryFacts } from '../../../domain/delivery.js'
import type { Attribution } from '../../../domain/engagement.js'
import type { Position } from '../../../domain/event.js'
import type {
  AccountId,
  ApiKeyId,
  ContactId,
  ConversionId,
  DeliveryId,
  EngagementId,
  ErasureId,
  LeadId,
  MemberId,
  MessageId,
  NoticeId,
  ParkedEventId,
  PlaybookId,
  RecordId,
  ActivityReportId,
  ResendId,
  SenderOptOutId,
  SourceId,
  SubmissionKeyId,
  WebhookId,
} from '../../../domain/ids.js'
import { instantOf, type Instant } from '../../../domain/instant.js'
import type { LeadDetails, LeadFacts } from '../../../domain/lead.js'
import type { WebhookNotice } from '../../../domain/notice.js'
import type { ParkedEventFacts } from '../../../domain/parked-event.js'
import type { Phone } from '../../../domain/phone.js'
import type { WebhookSettings } from '../../../domain/webhook.js'

/** A place in a log; of a number that is none, so that a test may try it. */
export const positionAt = (n: number | bigint = 1): Position => BigInt(n) as Position

const body = (n: number): string => n.toString().padStart(26, '0')

export const accountId = (n = 1): AccountId => `acc_${body(n)}`
export const apiKeyId = (n = 1): ApiKeyId => `key_${body(n)}`
export const memberId = (n = 1): MemberId => `mbr_${body(n)}`
export const playbookId = (n = 1): PlaybookId => `ply_${body(n)}`
export const sourceId = (n = 1): SourceId => `mks_${body(n)}`
export const conversionId = (n = 1): ConversionId => `cnv_${body(n)}`
export const leadId = (n = 1): LeadId => `led_${body(n)}`
export const contactId = (n = 1): ContactId => `nct_${body(n)}`
export const engagementId = (n = 1): EngagementId => `neg_${body(n)}`
export const erasureId = (n = 1): ErasureId => `ers_${body(n)}`
export const reportId = (n = 1): ActivityReportId => `rpt_${body(n)}`
export const recordId = (n = 1): RecordId => `ccv_${body(n)}`
export const webhookId = (n = 1): WebhookId => `whk_${body(n)}`
export const resendId = (n = 1): ResendId => `rsd_${body(n)}`
export const deliveryId = (n = 1): DeliveryId => `dlv_${body(n)}`
export const parkedEventId = (n = 1): ParkedEventId => `prk_${body(n)}`
export const noticeId = (n = 1): NoticeId => `ntc_${body(n)}`
export const messageId = (n = 1): MessageId => `msg_${body(n)}`
export const submissionKeyId = (n = 1): SubmissionKeyId => `sub_${body(n)}`
export const senderOptOutId = (n = 1): SenderOptOutId => `opt_${body(n)}`

/** An id that nothing has. */
export const nobody = (prefix: string): string => `${prefix}_${'0'.repeat(26)}`

export const uuid = (n = 1): string => `00000000-0000-4000-8000-${n.toString(16).padStart(12, '0')}`

export const openAccountCommand = {
  type: 'OpenAccount',
  accountId: accountId(),
  title: 'Example Agency',
  sealedSecret: 'sealed',
  playbookId: playbookId(),
  quotedId: conversionId(1),
  soldId: conversionId(2),
  apiKeyId: apiKeyId(),
  apiKeyHash: 'hash',
} as const satisfies AccountCommand

/** Milliseconds after noon of 15 January 2026. */
export const at = (milliseconds = 0): Instant => instantOf(Date.UTC(2026, 0, 15, 12) + milliseconds)

export const phone = (n = 1): Phone => `+1415555${n.toString().padStart(4, '0')}`

export const details = (changed: Partial<LeadDetails> = {}): LeadDetails => ({
  first_name: 'Ada',
  last_name: 'Example',
  email: 'ada@example.com',
  phone: phone(),
  additional_info: {},
  ...changed,
})

export const contactCreated: ContactEvent = {
  type: 'ContactCreated',
  data: {
    contact_id: contactId(),
    account_id: accountId(),
    details: details(),
    referral: { marketing_source_id: sourceId(), marketing_source_title: 'Search ads', lead_id: leadId() },
  },
}

export const conversionDefined: ConversionEvent = {
  type: 'ConversionDefined',
  data: {
    conversion_id: conversionId(),
    account_id: accountId(),
    title: 'Renewed',
    value: 1,
    label: 'custom_conversion',
  },
}

export const leadFacts = (changed: Partial<LeadFacts> = {}): LeadFacts => ({
  lead_id: leadId(),
  account_id: accountId(),
  source_id: sourceId(),
  source_title: 'Search ads',
  playbook_id: playbookId(),
  contact_id: contactId(),
  engagement_id: engagementId(),
  details: details(),
  consent: { tcpa_opt_in_token: 'consent-1', tcpa_opt_in_url: 'https://consent.example/1' },
  originators: [],
  ...changed,
})

/** Of a text, and whose it is. */
export const messageIds = {
  message_id: messageId(),
  account_id: accountId(),
  contact_id: contactId(),
  engagement_id: engagementId(),
}

export const attribution = (changed: Partial<Attribution> = {}): Attribution => ({
  engagement_id: engagementId(),
  account_id: accountId(),
  contact_id: contactId(),
  lead_id: leadId(),
  source_id: sourceId(),
  playbook_id: playbookId(),
  ...changed,
})

export const activity = (changed: Partial<Activity> = {}): Activity => ({
  ...attribution(),
  type: 'event',
  label: 'started',
  note: 'The playbook started',
  properties: {},
  at: at(),
  ...changed,
})

export const webhookSettings = (changed: Partial<WebhookSettings> = {}): WebhookSettings => ({
  url: 'https://receiver.example/hook',
  sealed_token: 'sealed',
  events: [],
  format: 'agent',
  playbook_id: null,
  ...changed,
})

export const deliveryFacts = (changed: Partial<DeliveryFacts> = {}): DeliveryFacts => ({
  delivery_id: deliveryId(),
  account_id: accountId(),
  webhook_id: webhookId(),
  activity_id: uuid(),
  label: 'started',
  contact_id: contactId(),
  engagement_id: engagementId(),
  due_at: at(),
  body: '{"activity":{}}',
  ...changed,
})

export const parkedEventFacts = (changed: Partial<ParkedEventFacts> = {}): ParkedEventFacts => ({
  parked_event_id: parkedEventId(),
  process_manager: 'reactions',
  event_id: uuid(1),
  event_type: 'LeadSubmitted',
  event_stream: `lead-${leadId()}`,
  reason: 'contact-not-found',
  ...changed,
})

export const noticeFacts = (changed: Partial<WebhookNotice> = {}): WebhookNotice => ({
  notice_id: noticeId(),
  account_id: accountId(),
  member_id: memberId(),
  webhook_id: webhookId(),
  turned_off_id: uuid(),
  turned_off_at: at(),
  reason: 'status 500',
  due_at: at(),
  ...changed,
})
