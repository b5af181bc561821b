import { AccountEvent } from './account.js'
import { t } from './codec.js'
import { ContactEvent } from './contact.js'
import { ConversionEvent } from './conversion.js'
import { ConversionRecordEvent } from './conversion-record.js'
import { DeliveryEvent } from './delivery.js'
import { EngagementEvent } from './engagement.js'
import { LeadEvent } from './lead.js'
import { MarketingSourceEvent } from './marketing-source.js'
import { NoticeEvent } from './notice.js'
import { PlaybookEvent } from './playbook.js'
import { ResendEvent } from './resend.js'
import { SubmissionKeyEvent } from './submission-key.js'
import { WebhookEvent } from './webhook.js'

/** Every event as it is written today. */
export const DomainEvent = t.union(
  [
    AccountEvent,
    PlaybookEvent,
    MarketingSourceEvent,
    ConversionEvent,
    LeadEvent,
    SubmissionKeyEvent,
    ContactEvent,
    ConversionRecordEvent,
    EngagementEvent,
    WebhookEvent,
    DeliveryEvent,
    ResendEvent,
    NoticeEvent,
  ],
  'DomainEvent',
)
export type DomainEvent = t.TypeOf<typeof DomainEvent>

export type EventType = DomainEvent['type']

/** The categories of all streams. */
export const categories = [
  'account',
  'playbook',
  'marketing_source',
  'conversion',
  'lead',
  'submission_key',
  'contact',
  'conversion_contact',
  'engagement',
  'webhook',
  'delivery',
  'resend',
  'notice',
] as const
export type Category = (typeof categories)[number]

/** A stream is called `category-id`. */
export const categoryOf = (stream: string): string => stream.slice(0, stream.indexOf('-'))
