import { exampleLead } from '../../../app/composition/start/first-account.js'

export type Fields = Readonly<Record<string, unknown>>

const person = { ...exampleLead, current_insurance_carrier: 'Example Mutual' }

/** The fields that a standard qualification playbook requires (contract 4.6). */
export const requiredFields = [
  'first_name',
  'last_name',
  'email',
  'phone',
  'date_of_birth',
  'gender',
  'marital_status',
  'current_residence_address',
  'current_residence_city',
  'current_residence_state',
  'current_residence_zip',
  'current_insurance_carrier',
  'current_insurance_coverage',
  'credit_rating',
  'tcpa_opt_in_token',
  'tcpa_opt_in_url',
] as const

let numbers = 0

/** A phone number that no other lead of this test file has, in E.164 format. */
export const newPhone = (): string => {
  numbers += 1
  return `+1${200 + Math.floor(numbers / 10_000)}555${String(numbers % 10_000).padStart(4, '0')}`
}

/** A valid lead on a number of its own. */
export const lead = (changed: Fields = {}): Fields => ({ ...person, phone: newPhone(), ...changed })

/** A valid lead whose values are all texts, as a form carries them. */
export const formLead = (changed: Readonly<Record<string, string>> = {}): Readonly<Record<string, string>> => ({
  ...person,
  phone: newPhone(),
  ...changed,
})

export const without = (fields: Fields, ...names: ReadonlyArray<string>): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))

/** The JSON of a valid lead with one more field, whose JSON is given as it is. */
export const withExtra = (field: string): string => JSON.stringify(lead()).replace(/}$/, `,${field}}`)

/** The JSON of lists in lists, so many of them. */
export const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

/** One number in the spellings that people and systems use: `+12025550123`. */
export const spellings = (e164: string): ReadonlyArray<string> => {
  const [, area = '', exchange = '', line = ''] = /^\+1(\d{3})(\d{3})(\d{4})$/.exec(e164) ?? []
  return [
    e164,
    `${area}${exchange}${line}`,
    `(${area}) ${exchange}-${line}`,
    `1-${area}-${exchange}-${line}`,
    ` ${area}.${exchange}.${line} `,
  ]
}
