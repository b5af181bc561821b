import { consentFields } from './consent.js'
import { contactIdOf, leadIdOf, type AccountSecret } from './derived-id.js'
import { EmailAddress } from './email-address.js'
import type { ContactId, EngagementId, ErasureId, LeadId } from './ids.js'
import { isRealDate, type Instant } from './instant.js'
import type { LeadDetails, LeadFacts, Originator } from './lead.js'
import type { CreatedSource } from './marketing-source.js'
import { fieldsOf, type FieldValues } from './message-template.js'
import { phoneFromText, type Phone } from './phone.js'
import { E, pipe, type Either } from './prelude.js'
import { ResidenceState, residenceStateFromText } from './residence-state.js'
import { webAddressFromText } from './web-address.js'

/** A lead's fields as a vendor sent them, checked (contract 4.6). */
export type Submission = {
  readonly details: LeadDetails
  readonly consent: { readonly tcpa_opt_in_token: string; readonly tcpa_opt_in_url: string }
  /** Every field that holds a text, by its own name. */
  readonly fields: Readonly<Record<string, string>>
}

const mostFields = 500
const longestField = 10_000

/**
 * Asked for whatever the playbook says: no contact without a number, no outreach without consent (contract 4.6, rule
 * 1).
 */
const alwaysRequired = ['phone', ...consentFields] as const

/** What a playbook may ask for besides: with more no submission could have all that is required. */
export const mostRequiredFields = mostFields - alwaysRequired.length

/** Fields that have a place of their own in a submission; all others stand in `additional_info`. */
const ownFields: ReadonlySet<string> = new Set(['first_name', 'last_name', 'email', 'phone', ...consentFields])

/** Fields whose format counts wherever they are sent; that of any other counts where the field is asked for. */
const checkedWhereverSent: ReadonlySet<string> = new Set(['email'])

/**
 * Reads a submission, or says everything that is wrong with it at once: one sentence a problem, each naming its field
 * and none holding a value. `now` decides which dates are past. `phoneFrom`: in a form a number is written otherwise.
 */
export const decodeSubmission = (
  required: ReadonlyArray<string>,
  now: Instant,
  body: unknown,
  phoneFrom = phoneFromText,
): Either<ReadonlyArray<string>, Submission> => {
  if (!isObject(body)) return E.left(['the submission must be an object of fields'])
  const sent = Object.entries(body)
  if (sent.length > mostFields) return E.left([`a submission has at most ${mostFields} fields`])

  const problems: Array<string> = []
  const reported = new Set<string>()
  const asked = new Set([...required, ...alwaysRequired])
  const fields = new Map<string, string>()
  for (const [name, value] of sent) {
    const text = textOf(value)
    if (text === undefined || text.trim() === '') continue
    if (typeof value === 'object' && (asked.has(name) || ownFields.has(name))) {
      // A form with a field that comes twice is read as a list.
      const isRepeated = Array.isArray(value) && value.length > 1
      problems.push(`${name} must be a text${isRepeated ? ', and be given once' : ''}`)
      reported.add(name)
    } else if (text.length > longestField) {
      const named = asked.has(name) ? name : shown(name)
      problems.push(`${named} must have at most ${longestField.toLocaleString('en-US')} characters`)
      reported.add(name)
    } else {
      fields.set(name, text)
    }
  }

  for (const name of asked) {
    if (!fields.has(name) && !reported.has(name)) problems.push(`${name} is required`)
  }
  const sentPhone = fields.get('phone')
  const phone = sentPhone === undefined ? undefined : phoneFrom(sentPhone)
  // The number is named first: without it there is no contact.
  if (sentPhone !== undefined && phone === undefined) problems.push('phone must be a phone number')
  for (const [name, text] of fields) {
    const format = asked.has(name) || checkedWhereverSent.has(name) ? formats.get(name) : undefined
    if (format?.accepts(text, now) === false) problems.push(`${name} must be ${format.name}`)
  }
  return phone === undefined || problems.length > 0 ? E.left(problems) : E.right(submissionOf(fields, phone))
}

const submissionOf = (fields: ReadonlyMap<string, string>, phone: Phone): Submission => {
  const field = (name: string): string => fields.get(name)?.trim() ?? ''
  const additional_info = Object.fromEntries([...fields].filter(([name]) => !ownFields.has(name)))
  return {
    details: {
      first_name: field('first_name'),
      last_name: field('last_name'),
      email: field('email'),
      phone,
      additional_info,
    },
    consent: { tcpa_opt_in_token: field('tcpa_opt_in_token'), tcpa_opt_in_url: field('tcpa_opt_in_url') },
    fields: Object.fromEntries(fields),
  }
}

/** A lead for a preview, which nobody submits: its fields as a message names them, and the URL of its consent. */
type Sample = { readonly fields: FieldValues; readonly consentUrl: string | undefined }

/** Reads a sample of a lead as `decodeSubmission` reads a lead, but that it may lack any field. */
export const decodeSample = (
  required: ReadonlyArray<string>,
  now: Instant,
  sample: Readonly<Record<string, unknown>>,
): Either<ReadonlyArray<string>, Sample> => {
  const sent = Object.entries(sample).filter(([, value]) => (textOf(value) ?? '').trim() !== '')
  const given = new Set(sent.map(([name]) => name))
  const asked = required.filter((name) => given.has(name))
  const lacking = Object.entries(standIns).filter(([name]) => !given.has(name))
  return pipe(
    decodeSubmission(asked, now, Object.fromEntries([...sent, ...lacking])),
    E.map(({ details, consent }) => ({
      fields: { ...fieldsOf(details), ...(given.has('phone') ? {} : { phone: undefined }) },
      consentUrl: given.has('tcpa_opt_in_url') ? consent.tcpa_opt_in_url : undefined,
    })),
  )
}

/** What every lead has, for a sample that lacks it. */
const standIns = { phone: '+14155550123', tcpa_opt_in_token: 'sample', tcpa_opt_in_url: 'https://example.com' }

/** The customer's own lead id, under the field that the source names, else `lead_id`, else `external_id`. */
export const originatorsOf = (
  source: { readonly title: string; readonly originatorField: string | null },
  fields: Readonly<Record<string, string>>,
): ReadonlyArray<Originator> => {
  const names = source.originatorField === null ? ['lead_id', 'external_id'] : [source.originatorField]
  const name = names.find((candidate) => Object.hasOwn(fields, candidate))
  const key = name === undefined ? undefined : fields[name]?.trim()
  return key === undefined ? [] : [{ origin: source.title, key }]
}

/** A marketing source that takes leads, and the secret of its account. */
type Acceptor = {
  readonly source: CreatedSource
  readonly secret: AccountSecret
}

/** The contact that a number has or would have, and whether it had opted out as one that was erased. */
export type CurrentContact = { readonly id: ContactId; readonly optedOutBefore: boolean }

/**
 * The lead that a submission becomes. One with an originator becomes the same lead whenever it comes again with its
 * phone number; any other becomes a lead of its own, `newLeadId`.
 */
export const leadFactsOf = (
  { source, secret }: Acceptor,
  { details, consent, fields }: Submission,
  newLeadId: LeadId,
  engagementId: EngagementId,
  { id: contactId, optedOutBefore }: CurrentContact = { id: contactIdOf(secret, details.phone), optedOutBefore: false },
): LeadFacts => {
  const originators = originatorsOf(source, fields)
  const [originator] = originators
  return {
    lead_id: originator === undefined ? newLeadId : leadIdOf(secret, source.sourceId, originator.key, details.phone),
    account_id: source.accountId,
    source_id: source.sourceId,
    source_title: source.title,
    playbook_id: source.playbookId,
    contact_id: contactId,
    engagement_id: engagementId,
    details,
    consent,
    originators,
    ...(optedOutBefore ? { opted_out_before: true } : {}),
  }
}

/** The facts again where the lead that its originator stands for was erased: it comes back as another one. */
export const afterErasure = (
  facts: LeadFacts,
  { source, secret }: Acceptor,
  newLeadId: LeadId,
  erasure: ErasureId,
): LeadFacts => {
  const [originator] = facts.originators
  const { phone } = facts.details
  const lead_id =
    originator === undefined ? newLeadId : leadIdOf(secret, source.sourceId, originator.key, phone, erasure)
  return { ...facts, lead_id }
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return value === null || value === undefined ? undefined : JSON.stringify(value)
}

/**
 * A name that the playbook does not ask for is the vendor's own word: where a form was sent as something else, it may
 * be the whole lead.
 */
const shown = (name: string): string => (/^[\w.[\] -]{1,100}$/.test(name) ? name : 'a field')

/** `name` completes "must be …"; `now` decides which dates are past. */
type Format = { readonly name: string; readonly accepts: (text: string, now: Instant) => boolean }

/** The fields besides `phone` that have a format. In any other a text that is not blank will do. */
const formats: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['email', { name: EmailAddress.name, accepts: (text) => EmailAddress.is(text.trim()) }],
  [
    'date_of_birth',
    {
      name: 'a past date, YYYY-MM-DD',
      accepts: (text, now) => isRealDate(text.trim()) && text.trim() < now.slice(0, 10),
    },
  ],
  [
    'current_residence_state',
    {
      name: ResidenceState.name,
      accepts: (text) => residenceStateFromText(text) !== undefined,
    },
  ],
  [
    'tcpa_opt_in_url',
    { name: 'an http or https URL', accepts: (text) => webAddressFromText(text.trim()) !== undefined },
  ],
])
