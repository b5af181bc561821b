import type { AccountId, PlaybookId } from '../../domain/ids.js'
import { playbook, type PlaybookState } from '../../domain/playbook.js'
import { ownState } from '../commands/states/own-state.js'
import type { Problem } from '../http/problem.js'
import type { ManagePorts } from './ports.js'

/** A playbook of this account, which may be previewed, and to which a webhook may be limited. */
export const ownPlaybook = (commandHandler: ManagePorts['commandHandler'], accountId: AccountId, id: PlaybookId) => {
  const own = (state: PlaybookState) =>
    state.kind === 'created' && !state.deleted && state.accountId === accountId ? state : undefined
  return ownState(commandHandler, playbook, id, own, { kind: 'playbook-not-found' } satisfies Problem)
}
