import { newAggregate } from '../../../domain/aggregate.js'
import { decode, NaturalNumber, optional, refined, t, Text } from '../../../domain/codec.js'
import { PlaybookId } from '../../../domain/ids.js'
import { playbook, standardPlaybook, type PlaybookSettings } from '../../../domain/playbook.js'
import { E } from '../../../domain/prelude.js'
import { playbookList, type PlaybookDocument } from '../../../projections/read-models/playbook-list.js'
import type { Endpoint } from '../../http/endpoint.js'
import { invalid } from '../../http/problem.js'
import { accountOf, type Operator } from '../operator.js'
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

/** Playbooks: required fields, steps, quiet hours (design, sections 6 and 8). */
export const playbookEndpoints = ({
  commandHandler,
  commands,
  queries,
  ids,
  clock,
}: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/playbooks',
    handle: async (request, { actor }) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const body = decode(CreateRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { accountId } = found.right
      const playbookId: PlaybookId = `ply_${ids.ulid()}`
      const chosen = { ...standardPlaybook, ...sent(body.right) }
      const command = { type: 'CreatePlaybook', playbookId, accountId, settings: chosen } as const
      const created = await commands.execute(playbook, playbookId, command, actor, newAggregate(playbook))
      if (E.isLeft(created)) return created
      const shownAt = created.right.events.at(0)?.time ?? clock.now()
      return E.right({ status: 201, body: { playbook: { id: playbookId, ...chosen, created_at: shownAt } } })
    },
  },
  {
    method: 'GET',
    path: '/accounts/:account_id/playbooks',
    handle: async (request) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const list = await queries.list(playbookList, 'by_account', [found.right.accountId])
      return E.isLeft(list) ? list : E.right({ status: 200, body: { playbooks: list.right.map(shown) } })
    },
  },
  {
    method: 'PATCH',
    path: '/accounts/:account_id/playbooks/:playbook_id',
    handle: async (request, { actor }) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const playbookId = request.params['playbook_id']
      if (!PlaybookId.is(playbookId)) return E.left({ kind: 'playbook-not-found' })
      const body = decode(ChangeRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { accountId } = found.right
      const command = { type: 'ChangePlaybook', accountId, settings: sent(body.right) } as const
      const changed = await commands.execute(playbook, playbookId, command, actor)
      if (E.isLeft(changed)) return changed
      const { state } = changed.right
      const now = state.kind === 'created' ? state.settings : {}
      return E.right({ status: 200, body: { playbook: { id: playbookId, ...now } } })
    },
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
