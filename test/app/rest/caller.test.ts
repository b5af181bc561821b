import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { newApiKey } from '../../../app/http/api-key.js'
import { rateLimit } from '../../../app/http/rate-limit.js'
import { callerOf } from '../../../app/rest/caller.js'
import type { CurrentStates } from '../../../app/commands/states/current-states.js'
import type { OpenAccount } from '../../../domain/account.js'
import { E, TE } from '../../../domain/prelude.js'
import { openAccountState } from '../../kit/domain/account-state.js'
import { accountId } from '../../kit/domain/samples.js'
import { plainVault } from '../../kit/simulation/plain-vault.js'
import { manualClock } from '../../kit/time/manual-clock.js'

test('a key that another process has just issued opens its account, and so does one of an account just enabled', async (t) => {
  const clock = manualClock()
  const { apiKeyId, apiKey, hash } = newApiKey(randomIds(clock), accountId())
  const apiKeys: OpenAccount['apiKeys'] = new Map([[apiKeyId, { secretHash: hash, limitPerMinute: null }]])
  const now = openAccountState({ apiKeys })
  for (const outdated of [openAccountState(), openAccountState({ apiKeys, enabled: false })]) {
    const get = ((_decider, _id, isAcceptable) =>
      Promise.resolve(E.right(isAcceptable(outdated as never) ? outdated : now))) as CurrentStates['get']
    const call = {
      ...{ method: 'GET', params: {}, query: () => undefined, queryNames: () => [] },
      header: (name: string) => (name === 'authorization' ? `Bearer ${apiKey}` : undefined),
      body: {},
    }
    const authenticate = callerOf({ currentStates: { get }, vault: plainVault, rateLimit: rateLimit(clock) })
    t.like(await authenticate(TE.right({ request: call }))(), { right: { accountId: accountId(), actor: apiKeyId } })
  }
})
