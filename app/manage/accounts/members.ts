import { account, MemberRole } from '../../../domain/account.js'
import { objectWith } from '../../../domain/codec.js'
import { EmailAddress } from '../../../domain/email-address.js'
import { MemberId } from '../../../domain/ids.js'
import { flow, TE } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, execute, pathId, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const AddRequest = objectWith({ email: EmailAddress, role: MemberRole })

/** Who works in an account; admins and managers are told when a webhook is turned off (contract 6.6.4). */
export const memberEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/members',
    handle: flow(
      withAccount(ports),
      withBody(AddRequest),
      TE.let('memberId', (): MemberId => `mbr_${ports.ids.ulid()}`),
      execute(({ account: { accountId }, body, memberId, caller }) =>
        ports.clientCommands.execute(account, accountId, { type: 'AddMember', memberId, ...body }, caller.actor),
      ),
      answer(201, ({ memberId, body }) => ({ member: { id: memberId, ...body } })),
    ),
  },
  {
    method: 'DELETE',
    path: '/accounts/:account_id/members/:member_id',
    handle: flow(
      withAccount(ports),
      pathId('member_id', MemberId, { kind: 'member-not-found' }),
      execute(({ account: { accountId }, member_id, caller }) =>
        ports.clientCommands.execute(account, accountId, { type: 'RemoveMember', memberId: member_id }, caller.actor),
      ),
      answer(200, ({ member_id }) => ({ member: { id: member_id } })),
    ),
  },
]
