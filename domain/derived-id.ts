import { createHash, createHmac } from 'node:crypto'
import { v5 } from 'uuid'
import type { ContactId, ConversionId, DeliveryId, LeadId, RecordId, SourceId, SubmissionKeyId, WebhookId } from './ids.js'
import type { Phone } from './phone.js'

/** A secret of one account's, kept sealed: without it no phone number can be tried against a contact id. */
export type AccountSecret = Buffer & { readonly AccountSecret: unique symbol }

/** One contact per phone number and account: the number alone decides the id. */
export const contactIdOf = (secret: AccountSecret, phone: Phone): ContactId => `nct_${keyed(secret, 'contact', phone)}`

/** The lead of an originator key and a phone number on one source: sent again it is the same lead. */
export const leadIdOf = (secret: AccountSecret, source: SourceId, originatorKey: string, phone: Phone): LeadId =>
  `led_${keyed(secret, 'lead', source, originatorKey, phone)}`

export const submissionKeyIdOf = (secret: AccountSecret, source: SourceId, key: string): SubmissionKeyId =>
  `sub_${keyed(secret, 'submission', source, key)}`

/** One record per conversion and contact: the pair decides the id. */
export const recordIdOf = (conversion: ConversionId, contact: ContactId): RecordId =>
  `ccv_${plain('record', conversion, contact)}`

/** One delivery per webhook and activity. */
export const deliveryIdOf = (webhook: WebhookId, activityId: string): DeliveryId =>
  `dlv_${plain('delivery', webhook, activityId)}`

/** The id of the `index`-th event that the reaction `name` to the event `cause` writes. */
export const derivedEventId = (cause: string, name: string, index: number): string => v5(`${name}/${index}`, cause)

const keyed = (secret: AccountSecret, ...parts: ReadonlyArray<string>): string =>
  crockford(createHmac('sha256', secret).update(joined(parts)).digest())

const plain = (...parts: ReadonlyArray<string>): string => crockford(createHash('sha256').update(joined(parts)).digest())

/** A part may hold any text, so each is led by its length: ('ab', 'c') and ('a', 'bc') must differ. */
const joined = (parts: ReadonlyArray<string>): string => parts.map((part) => `${part.length}:${part}`).join('')

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'

/** The first 128 bits in 26 letters, the leading one of three bits, as in a ULID. */
const crockford = (digest: Buffer): string => {
  let letters = ''
  let bits = 0
  let count = 2
  for (let index = 0; index < 16; index += 1) {
    bits = ((bits << 8) | (digest[index] ?? 0)) & 0xffff
    count += 8
    while (count >= 5) {
      count -= 5
      letters += alphabet[(bits >> count) & 31] ?? ''
    }
  }
  return letters
}
