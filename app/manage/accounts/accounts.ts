import { newAggregate } from '../../../domain/aggregate.js'
import { account } from '../../../domain/account.js'
import { decode, t, Text } from '../../../domain/codec.js'
import type { AccountId, ApiKeyId, ConversionId, PlaybookId } from '../../../domain/ids.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import { invalid, type Problem } from '../../http/problem.js'
import { apiKeyHash, apiKeyOf } from '../../rest/caller.js'
import { accountOf, type Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const OpenRequest = t.type({ title: Text })
const ChangeRequest = t.type({ enabled: t.boolean })

export type OpenedAccount = {
  /** False where another process opened it first: then the key here is none of its keys. */
  readonly isNew: boolean
  readonly accountId: AccountId
  /** Shown once: only its hash is stored. */
  readonly apiKey: string
  readonly playbookId: PlaybookId
  readonly soldId: ConversionId
}

/** Opens an account with Quoted, Sold, a standard playbook and one API key. */
export const openAccount = async (
  { commands, vault, ids }: ManagePorts,
  accountId: AccountId,
  title: string,
  actor: string,
): Promise<Either<Problem, OpenedAccount>> => {
  const apiKeyId: ApiKeyId = `key_${ids.ulid()}`
  const playbookId: PlaybookId = `ply_${ids.ulid()}`
  const quotedId: ConversionId = `cnv_${ids.ulid()}`
  const soldId: ConversionId = `cnv_${ids.ulid()}`
  const apiKey = apiKeyOf(accountId, apiKeyId, ids.secret())
  const secrets = { sealedSecret: vault.seal(ids.secret()), apiKeyHash: apiKeyHash(apiKey) }
  const command = { type: 'OpenAccount', accountId, title, playbookId, quotedId, soldId, apiKeyId, ...secrets } as const
  const opened = await commands.execute(account, accountId, command, actor, newAggregate(account))
  if (E.isLeft(opened)) return opened
  return E.right({ isNew: opened.right.events.length > 0, accountId, apiKey, playbookId, soldId })
}

/** Opening an account, and enabling or disabling it (design, section 8). */
export const accountEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts',
    handle: async (request, { actor }) => {
      const body = decode(OpenRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { title } = body.right
      const opened = await openAccount(ports, `acc_${ports.ids.ulid()}`, title, actor)
      if (E.isLeft(opened)) return opened
      const { accountId, apiKey, playbookId } = opened.right
      return E.right({
        status: 201,
        body: { account: { id: accountId, title, enabled: true }, api_key: apiKey, playbook: { id: playbookId } },
      })
    },
  },
  {
    method: 'PATCH',
    path: '/accounts/:account_id',
    handle: async (request, { actor }) => {
      const found = await accountOf(ports.commandHandler, request)
      if (E.isLeft(found)) return found
      const body = decode(ChangeRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { accountId } = found.right
      const type = body.right.enabled ? 'EnableAccount' : 'DisableAccount'
      const changed = await ports.commands.execute(account, accountId, { type }, actor)
      if (E.isLeft(changed)) return changed
      return E.right({ status: 200, body: { account: { id: accountId, enabled: body.right.enabled } } })
    },
  },
]
