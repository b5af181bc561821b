import { refined } from './codec.js'
import type { LeadDetails } from './lead.js'

/** A US state or territory, as its two capital letters. */
export type ResidenceState = string

export const ResidenceState = refined(
  'the two letters of a US state or territory',
  (value): value is ResidenceState => typeof value === 'string' && /^[A-Z]{2}$/.test(value),
)

const names: ReadonlyArray<readonly [ResidenceState, string]> = [
  ['AL', 'Alabama'],
  ['AK', 'Alaska'],
  ['AZ', 'Arizona'],
  ['AR', 'Arkansas'],
  ['CA', 'California'],
  ['CO', 'Colorado'],
  ['CT', 'Connecticut'],
  ['DE', 'Delaware'],
  ['FL', 'Florida'],
  ['GA', 'Georgia'],
  ['HI', 'Hawaii'],
  ['ID', 'Idaho'],
  ['IL', 'Illinois'],
  ['IN', 'Indiana'],
  ['IA', 'Iowa'],
  ['KS', 'Kansas'],
  ['KY', 'Kentucky'],
  ['LA', 'Louisiana'],
  ['ME', 'Maine'],
  ['MD', 'Maryland'],
  ['MA', 'Massachusetts'],
  ['MI', 'Michigan'],
  ['MN', 'Minnesota'],
  ['MS', 'Mississippi'],
  ['MO', 'Missouri'],
  ['MT', 'Montana'],
  ['NE', 'Nebraska'],
  ['NV', 'Nevada'],
  ['NH', 'New Hampshire'],
  ['NJ', 'New Jersey'],
  ['NM', 'New Mexico'],
  ['NY', 'New York'],
  ['NC', 'North Carolina'],
  ['ND', 'North Dakota'],
  ['OH', 'Ohio'],
  ['OK', 'Oklahoma'],
  ['OR', 'Oregon'],
  ['PA', 'Pennsylvania'],
  ['RI', 'Rhode Island'],
  ['SC', 'South Carolina'],
  ['SD', 'South Dakota'],
  ['TN', 'Tennessee'],
  ['TX', 'Texas'],
  ['UT', 'Utah'],
  ['VT', 'Vermont'],
  ['VA', 'Virginia'],
  ['WA', 'Washington'],
  ['WV', 'West Virginia'],
  ['WI', 'Wisconsin'],
  ['WY', 'Wyoming'],
  ['DC', 'District of Columbia'],
  ['DC', 'Washington DC'],
  ['AA', 'Armed Forces Americas'],
  ['AE', 'Armed Forces Europe'],
  ['AP', 'Armed Forces Pacific'],
  ['AS', 'American Samoa'],
  ['FM', 'Micronesia'],
  ['GU', 'Guam'],
  ['MH', 'Marshall Islands'],
  ['MP', 'Northern Mariana Islands'],
  ['PW', 'Palau'],
  ['PR', 'Puerto Rico'],
  ['UM', 'US Minor Outlying Islands'],
  ['VI', 'US Virgin Islands'],
  ['VI', 'Virgin Islands'],
]

const states: ReadonlySet<ResidenceState> = new Set(names.map(([state]) => state))
const byName: ReadonlyMap<string, ResidenceState> = new Map(names.map(([state, name]) => [name.toUpperCase(), state]))

/** Undefined where the text is none as the contract has it, in two letters. */
export const residenceStateFromText = (text: string): ResidenceState | undefined => {
  const letters = text.trim().toUpperCase()
  return states.has(letters) ? letters : undefined
}

/** The same where the text may write it out: a playbook that does not ask for the field takes any text in it. */
export const residenceStateNamed = (text: string): ResidenceState | undefined => {
  const plain = text.replaceAll(/[.,]/g, '').replaceAll(/\s+/g, ' ').trim()
  return residenceStateFromText(plain) ?? byName.get(plain.toUpperCase())
}

/**
 * Where a lead lives (`current_residence_state`); undefined where it does not say so. Without a playbook that asks for
 * the field it may hold any text, which stays where personal values are.
 */
export const residenceStateOf = ({ additional_info }: LeadDetails): ResidenceState | undefined =>
  residenceStateFromText(additional_info['current_residence_state'] ?? '')
