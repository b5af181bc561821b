import { NaturalNumber, t, type Mismatch } from './codec.js'
import { consentFields } from './consent.js'
import { largestDetails } from './contact-details.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, PlaybookId } from './ids.js'
import { templateProblem } from './message-template.js'
import { instantOf } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'
import { nextAllowed, sendingHoursOf } from './quiet-hours.js'
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

const Weekdays = {
  monday: null,
  tuesday: null,
  wednesday: null,
  thursday: null,
  friday: null,
  saturday: null,
  sunday: null,
}
export const Weekday = t.keyof(Weekdays, 'a day of the week in English')
type Weekday = t.TypeOf<typeof Weekday>

const everyDay = Object.keys(Weekdays) as ReadonlyArray<Weekday>

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
const StoredSettings = t.intersection([t.type(settings), t.partial(laterSettings)], 'playbook settings')
type StoredSettings = t.TypeOf<typeof StoredSettings>

const PlaybookSettings = t.type({ ...settings, ...laterSettings }, 'playbook settings')
export type PlaybookSettings = t.TypeOf<typeof PlaybookSettings>

/** Where a stored playbook names no days it sends on all. */
export const settingsIn = (stored: StoredSettings): PlaybookSettings => ({ reply_rules: [], days: everyDay, ...stored })

export const PlaybookEvent = t.union([
  eventOf('PlaybookCreated', t.type({ playbook_id: PlaybookId, account_id: AccountId, settings: StoredSettings })),
  eventOf('PlaybookChanged', t.type({ settings: StoredSettings })),
  /**
   * Before the first source on it is made: it is not deleted any more. A crash between the two leaves a playbook that
   * stays. Older versions did not write it.
   */
  eventOf('PlaybookUsed', t.type({})),
  /** No source begins to use it. */
  eventOf('PlaybookDeleted', t.type({})),
])
export type PlaybookEvent = t.TypeOf<typeof PlaybookEvent>

const PlaybookState = t.union([
  t.type({ kind: t.literal('unknown') }),
  t.type({
    kind: t.literal('created'),
    accountId: AccountId,
    settings: PlaybookSettings,
    used: t.boolean,
    deleted: t.boolean,
    /** Counts its settings from 1: an engagement keeps those that it began with. */
    version: NaturalNumber,
  }),
])
export type PlaybookState = t.TypeOf<typeof PlaybookState>

export type PlaybookCommand =
  | {
      readonly type: 'CreatePlaybook'
      readonly playbookId: PlaybookId
      readonly accountId: AccountId
      readonly settings: PlaybookSettings
    }
  | { readonly type: 'ChangePlaybook'; readonly accountId: AccountId; readonly settings: Partial<PlaybookSettings> }
  | { readonly type: 'UsePlaybook'; readonly accountId: AccountId }
  | { readonly type: 'DeletePlaybook'; readonly accountId: AccountId }

export type PlaybookRefusal =
  | { readonly kind: 'playbook-not-found' }
  | { readonly kind: 'playbook-in-use' }
  | { readonly kind: 'playbook-invalid'; readonly mismatches: ReadonlyArray<Mismatch> }

/** What a playbook leaves open: it sends only what somebody has written. */
export const defaultSettings: PlaybookSettings = {
  title: 'Standard qualification',
  required_fields: standardFields,
  steps: [],
  quiet_hours: { from: '21:00', to: '08:00' },
  give_up_after_minutes: 7 * 24 * 60,
  reply_rules: [],
  days: everyDay,
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

const evolve = (state: PlaybookState, event: PlaybookEvent): PlaybookState => {
  switch (event.type) {
    case 'PlaybookCreated':
      return {
        kind: 'created',
        accountId: event.data.account_id,
        settings: settingsIn(event.data.settings),
        used: false,
        deleted: false,
        version: 1,
      }
    case 'PlaybookChanged':
      return state.kind === 'unknown'
        ? state
        : { ...state, settings: settingsIn(event.data.settings), version: state.version + 1 }
    case 'PlaybookUsed':
      return state.kind === 'unknown' ? state : { ...state, used: true }
    case 'PlaybookDeleted':
      return state.kind === 'unknown' ? state : { ...state, deleted: true }
    default:
      return unreachable(event)
  }
}

const notKept: ReadonlySet<string> = new Set(consentFields)

/**
 * The names that a message may hold: fields that each lead of the playbook has, or a standard playbook asks for, as far
 * as they are kept with the contact, and the account's title.
 */
const knownNames = ({ required_fields }: PlaybookSettings): ReadonlySet<string> =>
  new Set(['account', ...standardFields, ...required_fields.filter((name) => !notKept.has(name))])

const templateMismatches = (settings: PlaybookSettings): ReadonlyArray<Mismatch> =>
  settings.steps.flatMap(({ message }, index) => {
    const expected = templateProblem(message, knownNames(settings))
    return expected === undefined ? [] : { path: `steps.${index}.message`, expected }
  })

/** Of a contact of whom nothing is known, the whole continental US must be awake. */
const anywhere = whereaboutsOf({ zip: undefined, state: undefined, phone: undefined })

const hourMismatches = (settings: PlaybookSettings): ReadonlyArray<Mismatch> => {
  if (settings.days.length === 0) return [{ path: 'days', expected: 'a list of at least one day of the week' }]
  if (nextAllowed(sendingHoursOf(settings, anywhere), instantOf(0)) !== undefined) return []
  return [{ path: 'quiet_hours', expected: 'hours that leave some in which the whole continental US is awake' }]
}

/** Half of what a lead may have, so that there is room for the values. */
const mostBytesOfNames = largestDetails.bytes / 2

const nameMismatches = ({ required_fields }: PlaybookSettings): ReadonlyArray<Mismatch> => {
  const bytes = required_fields.reduce((sum, name) => sum + Buffer.byteLength(name), 0)
  const expected = `field names that have at most ${mostBytesOfNames / 1024} kB of UTF-8 in all`
  return bytes > mostBytesOfNames ? [{ path: 'required_fields', expected }] : []
}

const decide = (
  command: PlaybookCommand,
  state: PlaybookState,
): Either<PlaybookRefusal, ReadonlyArray<PlaybookEvent>> => {
  if (command.type === 'CreatePlaybook') {
    if (state.kind === 'created') return E.right([])
    const { playbookId, accountId, settings } = command
    const mismatches = [...nameMismatches(settings), ...templateMismatches(settings), ...hourMismatches(settings)]
    if (mismatches.length > 0) return E.left({ kind: 'playbook-invalid', mismatches })
    return E.right([{ type: 'PlaybookCreated', data: { playbook_id: playbookId, account_id: accountId, settings } }])
  }
  if (state.kind === 'unknown' || state.accountId !== command.accountId) return E.left({ kind: 'playbook-not-found' })
  switch (command.type) {
    case 'ChangePlaybook': {
      if (state.deleted) return E.left({ kind: 'playbook-not-found' })
      const settings = { ...state.settings, ...command.settings }
      // What was stored before its names were checked stands until they may change.
      const requiresOthers = command.settings.required_fields !== undefined
      const mayChange = command.settings.steps !== undefined || requiresOthers
      const mismatches = [
        ...(requiresOthers ? nameMismatches(settings) : []),
        ...(mayChange ? templateMismatches(settings) : []),
        ...hourMismatches(settings),
      ]
      if (mismatches.length > 0) return E.left({ kind: 'playbook-invalid', mismatches })
      const same = JSON.stringify(settings) === JSON.stringify(state.settings)
      return E.right(same ? [] : [{ type: 'PlaybookChanged', data: { settings } }])
    }
    case 'UsePlaybook':
      if (state.deleted) return E.left({ kind: 'playbook-not-found' })
      return E.right(state.used ? [] : [{ type: 'PlaybookUsed', data: {} }])
    case 'DeletePlaybook':
      if (state.used) return E.left({ kind: 'playbook-in-use' })
      return E.right(state.deleted ? [] : [{ type: 'PlaybookDeleted', data: {} }])
    default:
      return unreachable(command)
  }
}

export const playbook: Decider<PlaybookState, PlaybookCommand, PlaybookEvent, PlaybookRefusal> = {
  category: 'playbook',
  initial: { kind: 'unknown' },
  evolve,
  snapshot: { version: 2, codec: PlaybookState },
  decide,
}
