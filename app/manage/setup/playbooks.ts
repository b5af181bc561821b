import { newAggregate } from '../../../domain/aggregate.js'
import { PlaybookId } from '../../../domain/ids.js'
import { playbook } from '../../../domain/playbook.js'
import { defaultSettings, type PlaybookSettings } from '../../../domain/playbook-settings.js'
import { flow, TE } from '../../../domain/prelude.js'
import { playbookList, type PlaybookDocument } from '../../../projections/read-models/lists/playbook-list.js'
import { sourceList } from '../../../projections/read-models/lists/source-list.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, bind, check, execute, pathId, withBody } from '../../http/steps.js'
import { documentsOfAccount, withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'
import { NewPlaybook, PlaybookChange, sentSettings } from './playbook-settings.js'

const path = '/accounts/:account_id/playbooks'

/** Playbooks: required fields, steps, quiet hours, rules for replies. */
export const playbookEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path,
    handle: flow(
      withAccount(ports),
      withBody(NewPlaybook),
      TE.let('playbookId', (): PlaybookId => `ply_${ports.ids.ulid()}`),
      TE.let('settings', ({ body }): PlaybookSettings => ({ ...defaultSettings, ...sentSettings(body) })),
      execute(({ account: { accountId }, playbookId, settings, caller }) => {
        const command = { type: 'CreatePlaybook', playbookId, accountId, settings } as const
        return ports.clientCommands.execute(playbook, playbookId, command, caller.actor, newAggregate(playbook))
      }),
      answer(201, ({ playbookId, settings, result: { events } }) => ({
        playbook: { id: playbookId, ...settings, created_at: events[0]?.time },
      })),
    ),
  },
  {
    method: 'GET',
    path,
    handle: flow(
      withAccount(ports),
      bind('playbooks', ({ account }) => documentsOfAccount(ports, playbookList, account)),
      answer(200, ({ playbooks }) => ({ playbooks: playbooks.map(shown) })),
    ),
  },
  {
    method: 'PATCH',
    path: `${path}/:playbook_id`,
    handle: flow(
      withAccount(ports),
      pathId('playbook_id', PlaybookId, { kind: 'playbook-not-found' }),
      withBody(PlaybookChange),
      execute(({ account: { accountId }, playbook_id, body, caller }) => {
        const command = { type: 'ChangePlaybook', accountId, settings: sentSettings(body) } as const
        return ports.clientCommands.execute(playbook, playbook_id, command, caller.actor)
      }),
      answer(200, ({ playbook_id, result: { state } }) => ({
        playbook: { id: playbook_id, ...(state.kind === 'created' ? state.settings : {}) },
      })),
    ),
  },
  {
    method: 'DELETE',
    path: `${path}/:playbook_id`,
    handle: flow(
      withAccount(ports),
      pathId('playbook_id', PlaybookId, { kind: 'playbook-not-found' }),
      // Of a source that an older version made the playbook's stream says nothing.
      bind('sources', ({ account }) => documentsOfAccount(ports, sourceList, account)),
      check(({ sources, playbook_id }) =>
        sources.some((source) => source.playbook_id === playbook_id) ? { kind: 'playbook-in-use' } : undefined,
      ),
      execute(({ account: { accountId }, playbook_id, caller }) =>
        ports.clientCommands.execute(playbook, playbook_id, { type: 'DeletePlaybook', accountId }, caller.actor),
      ),
      answer(200, ({ playbook_id }) => ({ playbook: { id: playbook_id } })),
    ),
  },
]

const shown = ({ account_id: _account, ...document }: PlaybookDocument) => document
