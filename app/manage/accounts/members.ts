import { account, Role } from '../../../domain/account.js'
import { decode, refined, t } from '../../../domain/codec.js'
import { MemberId } from '../../../domain/ids.js'
import { E } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import { invalid } from '../../http/problem.js'
import { accountOf, type Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const Email = refined(
  'an e-mail address',
  (value): value is string => typeof value === 'string' && /^[^\s@]+@[^\s@]+$/.test(value),
)
const AddRequest = t.type({ email: Email, role: Role })

/** Who works in an account; admins and managers are told when a webhook is turned off (contract 6.6.4). */
export const memberEndpoints = ({ commandHandler, commands, ids }: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/members',
    handle: async (request, { actor }) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const body = decode(AddRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const memberId: MemberId = `mbr_${ids.ulid()}`
      const command = { type: 'AddMember', memberId, ...body.right } as const
      const added = await commands.execute(account, found.right.accountId, command, actor)
      return E.isLeft(added) ? added : E.right({ status: 201, body: { member: { id: memberId, ...body.right } } })
    },
  },
  {
    method: 'DELETE',
    path: '/accounts/:account_id/members/:member_id',
    handle: async (request, { actor }) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const memberId = request.params['member_id']
      if (!MemberId.is(memberId)) return E.left({ kind: 'member-not-found' })
      const removed = await commands.execute(account, found.right.accountId, { type: 'RemoveMember', memberId }, actor)
      return E.isLeft(removed) ? removed : E.right({ status: 200, body: { member: { id: memberId } } })
    },
  },
]
