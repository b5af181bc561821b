import { refined, type t } from './codec.js'

/** 128 bits in Crockford's base 32, which follow the prefix of every id. */
const body = '[0-9A-HJKMNP-TV-Z]{26}'

const letters = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** What follows the prefix of an id: the first 128 bits in 26 letters, the leading one of three bits, as in a ULID. */
export const idBody = (bytes: Uint8Array): string => {
  let text = ''
  let bits = 0
  let count = 2
  for (let index = 0; index < 16; index += 1) {
    bits = ((bits << 8) | (bytes[index] ?? 0)) & 0xffff
    count += 8
    while (count >= 5) {
      count -= 5
      text += letters[(bits >> count) & 31] ?? ''
    }
  }
  return text
}

const prefixed = <P extends string>(prefix: P, name: string): t.Type<`${P}_${string}`, `${P}_${string}`> => {
  const pattern = new RegExp(`^${prefix}_${body}$`)
  return refined(name, (value): value is `${P}_${string}` => typeof value === 'string' && pattern.test(value))
}

export const AccountId = prefixed('acc', 'an account id')
export type AccountId = t.TypeOf<typeof AccountId>

export const ApiKeyId = prefixed('key', 'an API key id')
export type ApiKeyId = t.TypeOf<typeof ApiKeyId>

export const MemberId = prefixed('mbr', 'a member id')
export type MemberId = t.TypeOf<typeof MemberId>

export const PlaybookId = prefixed('ply', 'a playbook id')
export type PlaybookId = t.TypeOf<typeof PlaybookId>

export const SourceId = prefixed('mks', 'a marketing source id')
export type SourceId = t.TypeOf<typeof SourceId>

export const ConversionId = prefixed('cnv', 'a conversion id')
export type ConversionId = t.TypeOf<typeof ConversionId>

export const LeadId = prefixed('led', 'a lead id')
export type LeadId = t.TypeOf<typeof LeadId>

export const ContactId = prefixed('nct', 'a contact id')
export type ContactId = t.TypeOf<typeof ContactId>

export const EngagementId = prefixed('neg', 'an engagement id')
export type EngagementId = t.TypeOf<typeof EngagementId>

/** The id of a conversion record: neither `nct_` nor `cnv_` stands before it (contract 2.3). */
export const RecordId = prefixed('ccv', 'a conversion record id')
export type RecordId = t.TypeOf<typeof RecordId>

export const WebhookId = prefixed('whk', 'a webhook id')
export type WebhookId = t.TypeOf<typeof WebhookId>

export const DeliveryId = prefixed('dlv', 'a delivery id')
export type DeliveryId = t.TypeOf<typeof DeliveryId>

/** The id of a resend of many deliveries. */
export const ResendId = prefixed('rsd', 'a resend id')
export type ResendId = t.TypeOf<typeof ResendId>

export const NoticeId = prefixed('ntc', 'a notice id')
export type NoticeId = t.TypeOf<typeof NoticeId>

/** The id of a message that was sent to a contact, or came from it. */
export const MessageId = prefixed('msg', 'a message id')
export type MessageId = t.TypeOf<typeof MessageId>

/** The id of what a number has said to a sender: whether it wants messages from it. */
export const SenderOptOutId = prefixed('opt', 'the id of an opt-out')
export type SenderOptOutId = t.TypeOf<typeof SenderOptOutId>

/** The id of the erasure of a contact: it tells the contacts that a number has had one after another apart. */
export const ErasureId = prefixed('ers', 'an erasure id')
export type ErasureId = t.TypeOf<typeof ErasureId>

/** The id of an event that one process manager could not handle. */
export const ParkedEventId = prefixed('prk', 'a parked event id')
export type ParkedEventId = t.TypeOf<typeof ParkedEventId>

/** The id of a remembered `Idempotency-Key` header. */
export const SubmissionKeyId = prefixed('sub', 'a submission key id')
export type SubmissionKeyId = t.TypeOf<typeof SubmissionKeyId>

/** The id of an activity report that came with an `Idempotency-Key`. */
export const ActivityReportId = prefixed('rpt', 'a report id')
export type ActivityReportId = t.TypeOf<typeof ActivityReportId>

/** The id of an event: a UUID. */
export const Uuid = refined(
  'a UUID',
  (value): value is string =>
    typeof value === 'string' &&
    /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(value),
)
