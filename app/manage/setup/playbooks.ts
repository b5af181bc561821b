import { newAggregate } from '../../../domain/aggregate.js'
import { NaturalNumber, optional, refined, t, Text } from '../../../domain/codec.js'
import { PlaybookId } from '../../../domain/ids.js'
import { playbook, standardPlaybook, type PlaybookSettings } from '../../../domain/playbook.js'
import { flow, TE } from '../../../domain/prelude.js'
import { playbookList, type PlaybookDocument } from '../../../projections/read-models/playbook-list.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, bind, execute, pathId, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const TimeOfDay = refined(
  'a time of day, HH:MM',
  (value): value is string => typeof value === 'string' && /^([01]\d|2[0-3]):[0-5]\d$/.test(value),
)

const settings = {
  required_fields: optional(t.readonlyArray(Text, 'a list of field names')),
  steps: optional(t.readonlyArray(t.type({ message: Text, delay_minutes: NaturalNumber }), 'a list of steps')),
  give_up_after_minutes: optional(NaturalNumber),
}

/** Null means that there are none. */
const Quiet = t.union([t.null, t.undefined, t.type({ from: TimeOfDay, to: TimeOfDay })], 'quiet hours or null')

const CreateRequest = t.type({ title: Text, quiet_hours: Quiet, ...settings })
const ChangeRequest = t.type({ title: optional(Text), quiet_hours: Quiet, ...settings })

const path = '/accounts/:account_id/playbooks'

/** Playbooks: required fields, steps, quiet hours. */
export const playbookEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path,
    handle: flow(
      withAccount(ports),
      withBody(CreateRequest),
      TE.let('playbookId', (): PlaybookId => `ply_${ports.ids.ulid()}`),
      TE.let('settings', ({ body }): PlaybookSettings => ({ ...standardPlaybook, ...sent(body) })),
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
      bind('playbooks', ({ account }) => ports.queries.list(playbookList, 'by_account', [account.accountId])),
      answer(200, ({ playbooks }) => ({ playbooks: playbooks.map(shown) })),
    ),
  },
  {
    method: 'PATCH',
    path: `${path}/:playbook_id`,
    handle: flow(
      withAccount(ports),
      pathId('playbook_id', PlaybookId, { kind: 'playbook-not-found' }),
      withBody(ChangeRequest),
      execute(({ account: { accountId }, playbook_id, body, caller }) => {
        const command = { type: 'ChangePlaybook', accountId, settings: sent(body) } as const
        return ports.clientCommands.execute(playbook, playbook_id, command, caller.actor)
      }),
      answer(200, ({ playbook_id, result: { state } }) => ({
        playbook: { id: playbook_id, ...(state.kind === 'created' ? state.settings : {}) },
      })),
    ),
  },
]

const sent = (request: t.TypeOf<typeof ChangeRequest>): Partial<PlaybookSettings> =>
  Object.fromEntries(Object.entries(known(request)).filter(([, value]) => value !== undefined))

const known = ({
  title,
  required_fields,
  steps,
  quiet_hours,
  give_up_after_minutes,
}: t.TypeOf<typeof ChangeRequest>) => ({
  title,
  required_fields,
  steps: steps?.map(({ message, delay_minutes }) => ({ message, delay_minutes })),
  quiet_hours,
  give_up_after_minutes,
})

const shown = ({ account_id: _account, ...document }: PlaybookDocument) => document
