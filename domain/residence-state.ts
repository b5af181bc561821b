import { refined } from './codec.js'
import type { LeadDetails } from './lead.js'

/** A US state or territory, as its two capital letters. */
export type ResidenceState = string

export const ResidenceState = refined(
  'the two letters of a US state or territory',
  (value): value is ResidenceState => typeof value === 'string' && /^[A-Z]{2}$/.test(value),
)

const states = new Set(
  (
    'AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI ' +
    'SC SD TN TX UT VT VA WA WV WI WY DC AS GU MP PR UM VI'
  ).split(' '),
)

/** Undefined where the text names none. */
export const residenceStateFromText = (text: string): ResidenceState | undefined => {
  const letters = text.trim().toUpperCase()
  return states.has(letters) ? letters : undefined
}

/**
 * Where a lead lives (`current_residence_state`); undefined where it does not say so. Without a playbook that asks for the field it
 * may hold any text, which stays where personal values are.
 */
export const residenceStateOf = ({ additional_info }: LeadDetails): ResidenceState | undefined =>
  residenceStateFromText(additional_info['current_residence_state'] ?? '')
