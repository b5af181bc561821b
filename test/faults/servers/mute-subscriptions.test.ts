import test from 'ava'
import { systemClock } from '../../../adapters/node/clock.js'
import { randomIds } from '../../../adapters/node/ids.js'
import { account as accounts } from '../../../domain/account.js'
import type { AccountId, ApiKeyId, SourceId } from '../../../domain/ids.js'
import { marketingSource } from '../../../domain/marketing-source.js'
import { startDouble } from '../../eventstoredb-double/double.js'
import { bearer, send, sendJson } from '../../kit/network/http.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { rightOf } from '../../kit/right-of.js'
import { openAccount } from '../../kit/service/account.js'
import { lead } from '../../kit/service/leads.js'
import { addressOf, startService } from '../../kit/service/service-process.js'
import { storeAt } from '../../kit/stores/eventstoredb.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'
import { sleep } from '../../kit/time/until.js'

/** In milliseconds: from the answer to a revocation to the first request that no process may accept any more. */
const longestTrust = 1_000

/**
 * A process of the service whose subscriptions give nothing any more, and another process that writes to the same log.
 */
test('a second after a revocation, a suspension or a disabling a process that hears nothing of it refuses too', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const service = startService(t, temporaryDirectory(t), { EVENTSTORE_URL: double.url })
  const site = { url: await addressOf(service) }
  const account = await openAccount(site)
  const disabled = await openAccount(site)
  const issued = await account.issueKey()
  const apiKeyId = issued.id as ApiKeyId
  const headers = bearer(issued.secret)
  const clock = systemClock(1)
  const elsewhere = sharedHandler(storeAt(t, double.url), clock)
  const envelope = { actor: 'operator', eventId: randomIds(clock).uuid } as const

  const requests = [
    () => send(`${site.url}/api/v3/conversions`, { headers }),
    () => sendJson(account.postUrl, 'POST', lead()),
    () => disabled.rest('/conversions'),
    () => sendJson(disabled.postUrl, 'POST', lead()),
  ]
  const statuses = async (): Promise<ReadonlyArray<number>> => {
    const answers = []
    for (const request of requests) answers.push((await request()).status)
    return answers
  }
  t.deepEqual(await statuses(), [200, 200, 200, 200])

  double.faults.muteSubscriptions()
  const id = account.id as AccountId
  rightOf(await elsewhere.execute(accounts, id, { type: 'RevokeApiKey', apiKeyId }, envelope))
  const suspend = { type: 'SuspendSource', accountId: id } as const
  rightOf(await elsewhere.execute(marketingSource, account.sourceId as SourceId, suspend, envelope))
  rightOf(await elsewhere.execute(accounts, disabled.id as AccountId, { type: 'DisableAccount' }, envelope))
  await sleep(longestTrust)

  t.deepEqual(await statuses(), [403, 403, 403, 403])
})
