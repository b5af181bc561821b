import { account } from '../../../domain/account.js'
import { objectWith, optional } from '../../../domain/codec.js'
import { ApiKeyId } from '../../../domain/ids.js'
import { flow, TE } from '../../../domain/prelude.js'
import { newApiKey } from '../../http/api-key.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, execute, pathId, withBody } from '../../http/steps.js'
import { withAccount } from '../account-in-path.js'
import { ChangedLimit, LimitPerMinute } from '../limit-per-minute.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const IssueRequest = objectWith({ limit_per_minute: optional(LimitPerMinute) })
const LimitRequest = objectWith({ limit_per_minute: ChangedLimit })

const notFound: Problem = { kind: 'api-key-not-found' }

/** Keys of the REST API: a key is shown once and stored hashed. */
export const apiKeyEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/api_keys',
    handle: flow(
      withAccount(ports),
      withBody(IssueRequest),
      TE.let('key', ({ account }) => newApiKey(ports.ids, account.accountId)),
      TE.let('limit', ({ body }) => body.limit_per_minute ?? null),
      execute(({ account: { accountId }, key: { apiKeyId, hash }, limit, caller }) => {
        const command = { type: 'IssueApiKey', apiKeyId, secretHash: hash, limitPerMinute: limit } as const
        return ports.clientCommands.execute(account, accountId, command, caller.actor)
      }),
      answer(201, ({ key: { apiKeyId, apiKey }, limit }) => ({
        api_key: { id: apiKeyId, limit_per_minute: limit },
        secret: apiKey,
      })),
    ),
  },
  {
    method: 'PATCH',
    path: '/accounts/:account_id/api_keys/:api_key_id',
    handle: flow(
      withAccount(ports),
      pathId('api_key_id', ApiKeyId, notFound),
      withBody(LimitRequest),
      execute(({ account: { accountId }, api_key_id, body, caller }) => {
        const command = { type: 'LimitApiKey', apiKeyId: api_key_id, limitPerMinute: body.limit_per_minute } as const
        return ports.clientCommands.execute(account, accountId, command, caller.actor)
      }),
      answer(200, ({ api_key_id, body: { limit_per_minute } }) => ({ api_key: { id: api_key_id, limit_per_minute } })),
    ),
  },
  {
    method: 'DELETE',
    path: '/accounts/:account_id/api_keys/:api_key_id',
    handle: flow(
      withAccount(ports),
      pathId('api_key_id', ApiKeyId, notFound),
      execute(({ account: { accountId }, api_key_id, caller }) =>
        ports.clientCommands.execute(account, accountId, { type: 'RevokeApiKey', apiKeyId: api_key_id }, caller.actor),
      ),
      answer(200, ({ api_key_id }) => ({ api_key: { id: api_key_id } })),
    ),
  },
]
