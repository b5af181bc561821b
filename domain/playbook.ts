import { NaturalNumber, t, type Mismatch } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, PlaybookId } from './ids.js'
import {
  hourMismatches,
  nameMismatches,
  PlaybookSettings,
  settingsIn,
  StoredSettings,
  templateMismatches,
} from './playbook-settings.js'
import { E, unreachable, type Either } from './prelude.js'

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
export type CreatedPlaybook = Extract<PlaybookState, { readonly kind: 'created' }>

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
