import { oneOf, t, type Mismatch } from './codec.js'
import { consentFields } from './consent.js'
import { largestDetails } from './contact-details.js'
import { templateProblem } from './message-template.js'
import { instantOf } from './instant.js'
import { nextAllowed, sendingHoursOf, weekdays } from './quiet-hours.js'
import { whereaboutsOf } from './whereabouts.js'

/** The required fields of a standard qualification playbook (contract 4.6), the two TCPA fields apart. */
export const standardFields: ReadonlyArray<string> = [
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
]

/** `delay_minutes` counts from when the step before really went out. */
const PlaybookStep = t.type({ message: t.string, delay_minutes: t.number }, 'a step')

/** `HH:MM` to `HH:MM` in the contact's own time zone: when nothing is sent. */
const QuietHours = t.type({ from: t.string, to: t.string }, 'quiet hours')

export const Weekday = oneOf(weekdays, 'a day of the week in English')

/** What a reply with one of these words, or phrases, makes of its engagement. The first rule that matches counts. */
export const ReplyOutcome = t.keyof(
  { qualified: null, unqualified: null, not_interested: null, opted_out: null },
  'qualified, unqualified, not_interested or opted_out',
)
const ReplyRule = t.type({ words: t.readonlyArray(t.string), outcome: ReplyOutcome }, 'a reply rule')

const settings = {
  title: t.string,
  required_fields: t.readonlyArray(t.string),
  steps: t.readonlyArray(PlaybookStep),
  quiet_hours: t.union([QuietHours, t.null]),
  give_up_after_minutes: t.number,
}

/** `days`: on which something is sent. */
const laterSettings = { reply_rules: t.readonlyArray(ReplyRule), days: t.readonlyArray(Weekday) }

/** Older versions wrote neither rules nor days. */
export const StoredSettings = t.intersection([t.type(settings), t.partial(laterSettings)], 'playbook settings')
type StoredSettings = t.TypeOf<typeof StoredSettings>

export const PlaybookSettings = t.type({ ...settings, ...laterSettings }, 'playbook settings')
export type PlaybookSettings = t.TypeOf<typeof PlaybookSettings>

/** Where a stored playbook names no days it sends on all. */
export const settingsIn = (stored: StoredSettings): PlaybookSettings => ({ reply_rules: [], days: weekdays, ...stored })

/** What a playbook leaves open: it sends only what somebody has written. */
export const defaultSettings: PlaybookSettings = {
  title: 'Standard qualification',
  required_fields: standardFields,
  steps: [],
  quiet_hours: { from: '21:00', to: '08:00' },
  give_up_after_minutes: 7 * 24 * 60,
  reply_rules: [],
  days: weekdays,
}

/** What an account starts with: each message fits into one segment where name and title are short. */
export const standardPlaybook: PlaybookSettings = {
  ...defaultSettings,
  steps: [
    {
      message:
        'Hi {{first_name}}, this is {{account}}. Thank you for your request! When is a good time to talk? Reply STOP to opt out.',
      delay_minutes: 0,
    },
    {
      message:
        'Hi {{first_name}}, {{account}} again. Do you have questions about your request? Just answer here. Reply STOP to opt out.',
      delay_minutes: 24 * 60,
    },
    {
      message:
        'Hi {{first_name}}, this is the last message from {{account}}. Are you still interested? Reply STOP to opt out.',
      delay_minutes: 24 * 60,
    },
  ],
  reply_rules: [
    {
      words: ['not interested', 'no thanks', 'no thank you', 'no me interesa', 'no gracias'],
      outcome: 'not_interested',
    },
  ],
}

const notKept: ReadonlySet<string> = new Set(consentFields)

/**
 * The names that a message may hold: fields that each lead of the playbook has, or a standard playbook asks for, as far
 * as they are kept with the contact, and the account's title.
 */
const knownNames = ({ required_fields }: PlaybookSettings): ReadonlySet<string> =>
  new Set(['account', ...standardFields, ...required_fields.filter((name) => !notKept.has(name))])

export const templateMismatches = (settings: PlaybookSettings): ReadonlyArray<Mismatch> =>
  settings.steps.flatMap(({ message }, index) => {
    const expected = templateProblem(message, knownNames(settings))
    return expected === undefined ? [] : { path: `steps.${index}.message`, expected }
  })

/** Of a contact of whom nothing is known, the whole continental US must be awake. */
const anywhere = whereaboutsOf({ zip: undefined, state: undefined, phone: undefined })

export const hourMismatches = (settings: PlaybookSettings): ReadonlyArray<Mismatch> => {
  if (settings.days.length === 0) return [{ path: 'days', expected: 'a list of at least one day of the week' }]
  if (nextAllowed(sendingHoursOf(settings, anywhere), instantOf(0)) !== undefined) return []
  return [{ path: 'quiet_hours', expected: 'hours that leave some in which the whole continental US is awake' }]
}

/** Half of what a lead may have, so that there is room for the values. */
const mostBytesOfNames = largestDetails.bytes / 2

export const nameMismatches = ({ required_fields }: PlaybookSettings): ReadonlyArray<Mismatch> => {
  const bytes = required_fields.reduce((sum, name) => sum + Buffer.byteLength(name), 0)
  const expected = `field names that have at most ${mostBytesOfNames / 1024} kB of UTF-8 in all`
  return bytes > mostBytesOfNames ? [{ path: 'required_fields', expected }] : []
}
