import test from 'ava'
import { randomUUID } from 'node:crypto'
import type { AccountId, ContactId, EngagementId } from '../../domain/ids.js'
import { remark } from '../../domain/remark.js'
import { having } from '../kit/network/http.js'
import { cachedHandler } from '../kit/parts/command-handlers.js'
import { rightOf } from '../kit/right-of.js'
import { openAccount } from '../kit/service/account.js'
import { dataDirectory } from '../kit/service/data-directory.js'
import { openService, serviceFor } from '../kit/service/in-process-service.js'
import { storesAtRest } from '../kit/stores/stores-at-rest.js'
import { manualClock } from '../kit/time/manual-clock.js'

/** As no client can ask for it yet. */
const eraseRemarks = async (
  dataDir: string,
  engagementId: EngagementId,
  accountId: AccountId,
  contactId: ContactId,
) => {
  const { store, close } = await storesAtRest(dataDir)
  const { execute } = cachedHandler(store, manualClock())
  const command = { type: 'EraseRemarks', engagementId, accountId, contactId } as const
  rightOf(await execute(remark, engagementId, command, { actor: 'test', eventId: () => randomUUID() }))
  await close()
}

test('the timeline tells what was said of each activity until that is erased, and then nobody can say more', async (t) => {
  const dataDir = dataDirectory(t)
  const site = { url: '' }
  const before = await openService(dataDir)
  site.url = before.url
  const account = await openAccount(site)
  const [first, second] = [await account.submitted(), await account.submitted()]
  const said = [{ note: 'By phone', properties: { seconds: 5 } }, { note: 'Again' }, {}, { properties: { last: true } }]
  const told = async (contactId: string) =>
    having(await account.manage('GET', `/contacts/${contactId}/timeline`), 'timeline').flatMap(
      ({ label, note, properties, remark: revision }) =>
        label === 'interested' ? [[note, properties, revision] as const] : [],
    )
  for (const words of said) await account.report(first.next_engagement_id, 'event', 'interested', words)
  await account.report(second.next_engagement_id, 'event', 'interested', { note: 'Another' })
  t.deepEqual(await told(first.contact_id), [
    ['By phone', { seconds: 5 }, undefined],
    ['Again', {}, undefined],
    [null, {}, undefined],
    [null, { last: true }, undefined],
  ])
  await before.stop()

  const ids = [first.next_engagement_id, account.id, first.contact_id] as [EngagementId, AccountId, ContactId]
  await eraseRemarks(dataDir, ...ids)
  site.url = (await serviceFor(t, dataDir)).url
  t.deepEqual(
    await told(first.contact_id),
    said.map(() => [null, {}, undefined] as const),
  )
  t.deepEqual(await told(second.contact_id), [['Another', {}, undefined]])
  const more = await account.report(first.next_engagement_id, 'event', 'interested', { note: 'More' })
  t.is(more.status, 409)
  t.regex(more.body.errors?.[0] ?? '', /note and properties/)
  t.is((await account.report(first.next_engagement_id, 'event', 'interested')).status, 201)
})
