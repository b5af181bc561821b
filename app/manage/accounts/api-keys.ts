import { account } from '../../../domain/account.js'
import { decode, optional, t } from '../../../domain/codec.js'
import { ApiKeyId } from '../../../domain/ids.js'
import { E } from '../../../domain/prelude.js'
import type { Endpoint } from '../../http/endpoint.js'
import { invalid, type Problem } from '../../http/problem.js'
import { apiKeyHash, apiKeyOf } from '../../rest/caller.js'
import { LimitPerMinute, PatchedLimit } from '../limit.js'
import { accountOf, type Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const IssueRequest = t.type({ limit_per_minute: optional(LimitPerMinute) })
const LimitRequest = t.type({ limit_per_minute: PatchedLimit })

/** Keys of the REST API: the secret is shown once and stored hashed (design, section 8). */
export const apiKeyEndpoints = ({ commandHandler, commands, ids }: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/api_keys',
    handle: async (request, { actor }) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const body = decode(IssueRequest, request.body ?? {})
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { accountId } = found.right
      const apiKeyId: ApiKeyId = `key_${ids.ulid()}`
      const secret = apiKeyOf(accountId, apiKeyId, ids.secret())
      const limitPerMinute = body.right.limit_per_minute ?? null
      const command = { type: 'IssueApiKey', apiKeyId, secretHash: apiKeyHash(secret), limitPerMinute } as const
      const issued = await commands.execute(account, accountId, command, actor)
      if (E.isLeft(issued)) return issued
      return E.right({ status: 201, body: { api_key: { id: apiKeyId, limit_per_minute: limitPerMinute }, secret } })
    },
  },
  {
    method: 'PATCH',
    path: '/accounts/:account_id/api_keys/:api_key_id',
    handle: async (request, { actor }) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const apiKeyId = request.params['api_key_id']
      if (!ApiKeyId.is(apiKeyId)) return E.left(apiKeyNotFound)
      const body = decode(LimitRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const limitPerMinute = body.right.limit_per_minute
      const command = { type: 'LimitApiKey', apiKeyId, limitPerMinute } as const
      const limited = await commands.execute(account, found.right.accountId, command, actor)
      if (E.isLeft(limited)) return limited
      return E.right({ status: 200, body: { api_key: { id: apiKeyId, limit_per_minute: limitPerMinute } } })
    },
  },
  {
    method: 'DELETE',
    path: '/accounts/:account_id/api_keys/:api_key_id',
    handle: async (request, { actor }) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const apiKeyId = request.params['api_key_id']
      if (!ApiKeyId.is(apiKeyId)) return E.left(apiKeyNotFound)
      const command = { type: 'RevokeApiKey', apiKeyId } as const
      const revoked = await commands.execute(account, found.right.accountId, command, actor)
      return E.isLeft(revoked) ? revoked : E.right({ status: 200, body: { api_key: { id: apiKeyId } } })
    },
  },
]

const apiKeyNotFound: Problem = { kind: 'api-key-not-found' }
