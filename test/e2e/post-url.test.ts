import test from 'ava'
import { randomUUID } from 'node:crypto'
import { randomIds } from '../../adapters/node/ids.js'
import { openStores } from '../../app/composition/stores.js'
import type { AccountId, PlaybookId, SourceId } from '../../domain/ids.js'
import { marketingSource } from '../../domain/marketing-source.js'
import { E } from '../../domain/prelude.js'
import { having, sendJson } from '../kit/network/http.js'
import { cachedHandler } from '../kit/parts/command-handlers.js'
import { recordingLogger } from '../kit/parts/recording-logger.js'
import { rightOf } from '../kit/right-of.js'
import { manage, openAccount } from '../kit/service/account.js'
import { dataDirectory } from '../kit/service/data-directory.js'
import { openService, serviceFor } from '../kit/service/in-process-service.js'
import { lead } from '../kit/service/leads.js'
import { storesOf } from '../kit/stores/servers.js'
import { manualClock } from '../kit/time/manual-clock.js'

test('whoever holds one post URL can not guess another that was made in the same millisecond', async (t) => {
  const account = await openAccount(await serviceFor(t, dataDirectory(t), { clockRate: 1e-9 }))
  const ids: Array<string> = []
  for (let n = 0; n < 8; n += 1) ids.push((await account.addSource()).id)
  // Of ULIDs the first ten letters would be the time, the same of all, and the others go up by one.
  for (let letter = 5; letter < 30; letter += 1) {
    t.true(new Set(ids.map((id) => id[letter])).size > 1, `letter ${letter} of ${ids.join(' ')}`)
  }
})

test('a post URL that an earlier version gave out goes on working, and its playbook stays', async (t) => {
  const dataDir = dataDirectory(t)
  const before = await openService(dataDir)
  const account = await openAccount(before)
  const { id } = account
  const { id: playbookId } = having(await account.manage('POST', '/playbooks', { title: 'Short' }), 'playbook')
  await before.stop()

  const clock = manualClock()
  const sourceId: SourceId = `mks_${randomIds(clock).ulid()}`
  const { EVENTSTORE_URL: eventStoreUrl, MONGODB_URL: mongoUrl } = await storesOf(dataDir)
  const means = { newId: randomUUID, logger: recordingLogger() }
  const stores = await openStores({ dataDir, eventStoreUrl, mongoUrl }, means)
  if (E.isLeft(stores)) throw new Error(stores.left)
  const { store, close } = stores.right
  const created = {
    type: 'CreateSource',
    sourceId,
    accountId: id as AccountId,
    title: 'Search ads',
    playbookId: playbookId as PlaybookId,
    originatorField: null,
  } as const
  const envelope = { actor: 'operator', eventId: () => randomUUID() }
  rightOf(await cachedHandler(store, clock).execute(marketingSource, sourceId, created, envelope))
  await close()

  const service = await serviceFor(t, dataDir)
  t.is((await sendJson(`${service.url}/marketing_sources/${id}/${sourceId}`, 'POST', lead())).status, 200)
  // No event in the playbook's stream says that a source uses it.
  t.is((await manage(service, 'DELETE', `/accounts/${id}/playbooks/${playbookId}`)).status, 409)
})
