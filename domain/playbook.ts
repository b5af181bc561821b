import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, PlaybookId } from './ids.js'
import { E, unreachable, type Either } from './prelude.js'

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

const PlaybookStep = t.type({ message: t.string, delay_minutes: t.number }, 'a step')
type PlaybookStep = t.TypeOf<typeof PlaybookStep>

/** `HH:MM` to `HH:MM` in the contact's own time zone. */
const QuietHours = t.type({ from: t.string, to: t.string }, 'quiet hours')

export const PlaybookSettings = t.type(
  {
    title: t.string,
    required_fields: t.readonlyArray(t.string),
    steps: t.readonlyArray(PlaybookStep),
    quiet_hours: t.union([QuietHours, t.null]),
    give_up_after_minutes: t.number,
  },
  'playbook settings',
)
export type PlaybookSettings = t.TypeOf<typeof PlaybookSettings>

export const PlaybookEvent = t.union([
  eventOf('PlaybookCreated', t.type({ playbook_id: PlaybookId, account_id: AccountId, settings: PlaybookSettings })),
  eventOf('PlaybookChanged', t.type({ settings: PlaybookSettings })),
])
export type PlaybookEvent = t.TypeOf<typeof PlaybookEvent>

export type PlaybookState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'created'; readonly accountId: AccountId; readonly settings: PlaybookSettings }

export type PlaybookCommand =
  | {
      readonly type: 'CreatePlaybook'
      readonly playbookId: PlaybookId
      readonly accountId: AccountId
      readonly settings: PlaybookSettings
    }
  | { readonly type: 'ChangePlaybook'; readonly accountId: AccountId; readonly settings: Partial<PlaybookSettings> }

export type PlaybookRefusal = { readonly kind: 'playbook-not-found' }

/** What an account starts with. */
export const standardPlaybook: PlaybookSettings = {
  title: 'Standard qualification',
  required_fields: standardFields,
  steps: [],
  quiet_hours: { from: '21:00', to: '08:00' },
  give_up_after_minutes: 7 * 24 * 60,
}

const evolve = (state: PlaybookState, event: PlaybookEvent): PlaybookState => {
  switch (event.type) {
    case 'PlaybookCreated':
      return { kind: 'created', accountId: event.data.account_id, settings: event.data.settings }
    case 'PlaybookChanged':
      return state.kind === 'unknown' ? state : { ...state, settings: event.data.settings }
    default:
      return unreachable(event)
  }
}

const decide = (
  command: PlaybookCommand,
  state: PlaybookState,
): Either<PlaybookRefusal, ReadonlyArray<PlaybookEvent>> => {
  switch (command.type) {
    case 'CreatePlaybook': {
      if (state.kind === 'created') return E.right([])
      const { playbookId, accountId, settings } = command
      return E.right([{ type: 'PlaybookCreated', data: { playbook_id: playbookId, account_id: accountId, settings } }])
    }
    case 'ChangePlaybook': {
      if (state.kind === 'unknown' || state.accountId !== command.accountId) {
        return E.left({ kind: 'playbook-not-found' })
      }
      const settings = { ...state.settings, ...command.settings }
      const same = JSON.stringify(settings) === JSON.stringify(state.settings)
      return E.right(same ? [] : [{ type: 'PlaybookChanged', data: { settings } }])
    }
    default:
      return unreachable(command)
  }
}

export const playbook: Decider<PlaybookState, PlaybookCommand, PlaybookEvent, PlaybookRefusal> = {
  category: 'playbook',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
