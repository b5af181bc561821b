import { account } from '../../../domain/account.js'
import { objectWith, t, Title } from '../../../domain/codec.js'
import { flow } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, execute, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'
import { openAccount } from './account-opening.js'

const OpenRequest = objectWith({ title: Title })
const ChangeRequest = objectWith({ enabled: t.boolean })

/** Opening an account, and enabling or disabling it. */
export const accountEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts',
    handle: flow(
      withBody(OpenRequest),
      execute(({ body, caller }) => openAccount(ports, `acc_${ports.ids.ulid()}`, body.title, caller.actor)),
      answer(201, ({ body: { title }, result: { accountId, apiKey, playbookId } }) => ({
        account: { id: accountId, title, enabled: true },
        api_key: apiKey,
        playbook: { id: playbookId },
      })),
    ),
  },
  {
    method: 'PATCH',
    path: '/accounts/:account_id',
    handle: flow(
      withAccount(ports),
      withBody(ChangeRequest),
      execute(({ account: { accountId }, body, caller }) => {
        const type = body.enabled ? 'EnableAccount' : 'DisableAccount'
        return ports.clientCommands.execute(account, accountId, { type }, caller.actor)
      }),
      answer(200, ({ account, body }) => ({ account: { id: account.accountId, enabled: body.enabled } })),
    ),
  },
]
