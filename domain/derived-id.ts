import { createHmac, hash } from 'node:crypto'
import {
  idBody,
  type ContactId,
  type ConversionId,
  type DeliveryId,
  type EngagementId,
  type ErasureId,
  type LeadId,
  type MemberId,
  type MessageId,
  type NoticeId,
  type ParkedEventId,
  type RecordId,
  type ActivityReportId,
  type SenderOptOutId,
  type SourceId,
  type SubmissionKeyId,
  type WebhookId,
} from './ids.js'
import type { Phone } from './phone.js'

/** An account's secret, stored sealed: without it no phone number can be tried against a contact id. */
export type AccountSecret = Buffer & { readonly AccountSecret: unique symbol }

/** The secret of the service itself, for what belongs to no account. */
export type ServiceSecret = Buffer & { readonly ServiceSecret: unique symbol }

/**
 * One contact per phone number and account: the number alone decides the id. `after`: the erasure of the contact that
 * the number had before, since an id that was erased is never used again.
 */
export const contactIdOf = (secret: AccountSecret, phone: Phone, after?: ErasureId): ContactId =>
  `nct_${keyed(secret, 'contact', phone, ...generation(after))}`

/**
 * The lead of an originator key and a phone number on one source: sent again it is the same lead, until that is erased.
 */
export const leadIdOf = (
  secret: AccountSecret,
  source: SourceId,
  originatorKey: string,
  phone: Phone,
  after?: ErasureId,
): LeadId => `led_${keyed(secret, 'lead', source, originatorKey, phone, ...generation(after))}`

const generation = (after: ErasureId | undefined): ReadonlyArray<string> => (after === undefined ? [] : [after])

/** A contact is erased once, whoever asks and how often. */
export const erasureIdOf = (contact: ContactId): ErasureId => `ers_${plain('erasure', contact)}`

export const submissionKeyIdOf = (secret: AccountSecret, source: SourceId, key: string): SubmissionKeyId =>
  `sub_${keyed(secret, 'submission', source, key)}`

export const activityReportIdOf = (secret: AccountSecret, engagement: EngagementId, key: string): ActivityReportId =>
  `rpt_${keyed(secret, 'report', engagement, key)}`

/** One opening per link of a message counts. */
export const openingIdOf = (message: MessageId, index: number): ActivityReportId =>
  `rpt_${plain('opening', message, String(index))}`

/**
 * One opt-out per contact and what it had said last, by the id of that: whoever says so before the contact has heard of
 * it says the same.
 */
export const optOutIdOf = (contact: ContactId, after: string | undefined): ActivityReportId =>
  `rpt_${plain('opt-out', contact, ...(after === undefined ? [] : [after]))}`

/** One opt-out per text, as older versions told one from another. */
export const textOptOutIdOf = (message: MessageId): ActivityReportId => `rpt_${plain('opt-out', message)}`

/** One record per conversion and contact: the pair decides the id. */
export const recordIdOf = (conversion: ConversionId, contact: ContactId): RecordId =>
  `ccv_${plain('record', conversion, contact)}`

/** One delivery per webhook and activity. */
export const deliveryIdOf = (webhook: WebhookId, activityId: string): DeliveryId =>
  `dlv_${plain('delivery', webhook, activityId)}`

/** One notice per cause, such as the id of the event that turned off a webhook, and member. */
export const noticeIdOf = (cause: string, member: MemberId): NoticeId => `ntc_${plain('notice', cause, member)}`

/** One message per step of an engagement, however often it is tried. */
export const stepMessageIdOf = (engagement: EngagementId, step: number): MessageId =>
  `msg_${plain('message', engagement, String(step))}`

/** One answer per message of a contact. */
export const answerIdOf = (received: MessageId): MessageId => `msg_${plain('answer', received)}`

/** One message per `Idempotency-Key` and contact, or engagement in which a member writes. */
export const messageIdOf = (secret: AccountSecret, of: ContactId | EngagementId, key: string): MessageId =>
  `msg_${keyed(secret, 'message', of, key)}`

/** One message per contact and text of a provider, known by its own id. */
export const providerMessageIdOf = (secret: AccountSecret, contact: ContactId, providerId: string): MessageId =>
  `msg_${keyed(secret, 'provider-message', contact, providerId)}`

/**
 * One per sender, as the provider calls it, and number: without the service's secret no number can be tried against it.
 */
export const senderOptOutIdOf = (secret: ServiceSecret, sender: string, phone: Phone): SenderOptOutId =>
  `opt_${keyed(secret, 'sender-opt-out', sender, phone)}`

/** A text of a provider, known by its own id, to a sender. */
export const saidTextIdOf = (optOut: SenderOptOutId, providerId: string): string => plain('said', optOut, providerId)

/** One parked event per process manager and event that it could not handle. */
export const parkedEventIdOf = (processManager: string, eventId: string): ParkedEventId =>
  `prk_${plain('parked', processManager, eventId)}`

/** The id of the `index`-th event that the reaction `name` to the event `cause` writes. */
export const derivedEventId = (cause: string, name: string, index: number): string => uuid5(cause, `${name}/${index}`)

/** A number in [0, 1) that the key alone decides; those of many keys are spread evenly. */
export const fractionOf = (key: string): number => hash('sha256', key, 'buffer').readUInt32BE(0) / 2 ** 32

const keyed = (secret: AccountSecret | ServiceSecret, ...parts: ReadonlyArray<string>): string =>
  idBody(createHmac('sha256', secret).update(joined(parts)).digest())

const plain = (...parts: ReadonlyArray<string>): string => idBody(hash('sha256', joined(parts), 'buffer'))

/** A part may hold any text, so each is led by its length: ('ab', 'c') and ('a', 'bc') must differ. */
const joined = (parts: ReadonlyArray<string>): string => parts.map((part) => `${part.length}:${part}`).join('')

/** RFC 9562, section 5.5, where the name space is a UUID too. Five of them are made for each lead. */
const uuid5 = (namespace: string, name: string): string => {
  const named = Buffer.concat([Buffer.from(namespace.replaceAll('-', ''), 'hex'), Buffer.from(name)])
  const hex = hash('sha1', named, 'hex')
  const variant = ((Number.parseInt(hex.slice(16, 18), 16) & 0x3f) | 0x80).toString(16)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(18, 20)}-${hex.slice(20, 32)}`
}
