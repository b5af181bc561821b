import { refined, Text, type t } from './codec.js'
import { isRealDate, type Instant } from './instant.js'
import type { LeadDetails, Originator } from './lead.js'
import { phoneFromText, type Phone } from './phone.js'
import { E, type Either } from './prelude.js'

/** A lead's fields as a vendor sent them, checked (contract 4.6). */
export type Submission = {
  readonly details: LeadDetails
  readonly consent: { readonly tcpa_opt_in_token: string; readonly tcpa_opt_in_url: string }
  /** Every field that holds a text, by its own name. */
  readonly fields: Readonly<Record<string, string>>
}

const maximalFields = 500
const maximalLength = 10_000

/** Asked for whatever the playbook says: no contact without a number, no outreach without consent (contract 4.6, rule 1). */
const alwaysRequired = ['phone', 'tcpa_opt_in_token', 'tcpa_opt_in_url'] as const

/** Fields that stand elsewhere than in a contact's additional_info. */
const ownFields: ReadonlySet<string> = new Set(['first_name', 'last_name', 'email', ...alwaysRequired])

/**
 * Reads a submission, or says everything that is wrong with it at once: one sentence a problem, each naming its field and
 * none holding a value. `now` decides which dates are past.
 */
export const decodeSubmission = (
  required: ReadonlyArray<string>,
  now: Instant,
  body: unknown,
): Either<ReadonlyArray<string>, Submission> => {
  if (!isObject(body)) return E.left(['the submission must be an object of fields'])
  const sent = Object.entries(body)
  if (sent.length > maximalFields) return E.left([`a submission has at most ${maximalFields} fields`])

  const problems: Array<string> = []
  const reported = new Set<string>()
  const asked = new Set([...required, ...alwaysRequired])
  const fields = new Map<string, string>()
  for (const [name, value] of sent) {
    const text = textOf(value)
    if (text === undefined || text.trim() === '') continue
    if (typeof value === 'object' && (asked.has(name) || ownFields.has(name))) {
      problems.push(`${shown(name)} must be a text`)
      reported.add(name)
    } else if (text.length > maximalLength) {
      problems.push(`${shown(name)} must have at most ${maximalLength.toLocaleString('en-US')} characters`)
      reported.add(name)
    } else {
      fields.set(name, text)
    }
  }

  for (const name of asked) {
    if (!fields.has(name) && !reported.has(name)) problems.push(`${shown(name)} is required`)
  }
  const phone = phoneFromText(fields.get('phone') ?? '')
  if (fields.has('phone') && phone === undefined) problems.push('phone must be a phone number')
  for (const [name, text] of fields) {
    const format = asked.has(name) || ownFields.has(name) ? formatOf(name, now) : undefined
    if (format?.is(text.trim()) === false) problems.push(`${shown(name)} must be ${format.name}`)
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

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const textOf = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  return value === null || value === undefined ? undefined : JSON.stringify(value)
}

/** A name is the vendor's own word: where a form was sent as something else, it may be the whole lead. */
const shown = (name: string): string => (/^[\w.[\] -]{1,100}$/.test(name) ? name : 'a field')

const EmailText = refined(
  'an e-mail address',
  (value): value is string => typeof value === 'string' && /^[^\s@]+@[^\s@]+$/.test(value),
)

const states = new Set(
  (
    'AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI ' +
    'SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR UM VI'
  ).split(' '),
)

const StateText = refined(
  'the two letters of a US state or territory',
  (value): value is string => typeof value === 'string' && states.has(value.toUpperCase()),
)

const WebAddress = refined('an http or https URL', (value): value is string => {
  if (typeof value !== 'string' || !URL.canParse(value)) return false
  return ['http:', 'https:'].includes(new URL(value).protocol)
})

const pastDate = (now: Instant): t.Type<string> =>
  refined(
    'a past date, YYYY-MM-DD',
    (value): value is string => typeof value === 'string' && isRealDate(value) && value < now.slice(0, 10),
  )

const formatOf = (name: string, now: Instant): t.Type<string> => {
  switch (name) {
    case 'email':
      return EmailText
    case 'date_of_birth':
      return pastDate(now)
    case 'current_residence_state':
      return StateText
    case 'tcpa_opt_in_url':
      return WebAddress
    default:
      return Text
  }
}
