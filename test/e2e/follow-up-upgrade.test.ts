import test from 'ava'
import { orThrow } from '../../domain/store-failed.js'
import { anyProjection, collectionOf } from '../../projections/projection.js'
import { followUps } from '../../projections/read-models/follow-ups.js'
import { messages } from '../../projections/read-models/messages.js'
import { eventsAfter } from '../kit/load/streams.js'
import { having, sendJson } from '../kit/network/http.js'
import { idsOf, openAccount, type SubmittedIds } from '../kit/service/account.js'
import { dataDirectoryWithStores } from '../kit/service/data-directory.js'
import { serviceFor } from '../kit/service/in-process-service.js'
import { lead, newPhone, type Fields } from '../kit/service/leads.js'
import { storesAtRest } from '../kit/stores/stores-at-rest.js'
import { until } from '../kit/time/until.js'

const playbook = {
  title: 'Two texts',
  steps: [
    { message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 },
    { message: 'Still there, {{first_name}}?', delay_minutes: 60 },
  ],
  reply_rules: [],
  quiet_hours: null,
  give_up_after_minutes: 60,
}

test('who was engaged before playbooks sent anything gets no message by an upgrade, and later leads do', async (t) => {
  const directory = await dataDirectoryWithStores(t)
  const before = await serviceFor(t, directory)
  let running = before
  const site = {
    get url() {
      return running.url
    },
  }
  const old = await openAccount(site)
  const phone = newPhone()
  const engaged = [await old.submitted({ first_name: 'Ada', phone }), await old.submitted({ first_name: 'Bob' })]
  const started = () => eventsAfter(directory, 0).filter(({ type }) => type === 'EngagementStarted').length
  await until('both are engaged', 30_000, () => started() === engaged.length)
  await before.stop()

  // A playbook without steps leaves the events of the version before, in the same shape: none says what follows.
  const written = eventsAfter(directory, 0)
  t.deepEqual(
    written.filter((event) => 'follow_up' in event.data),
    [],
  )
  // That version had neither of these read models.
  const { documents, close } = await storesAtRest(directory)
  for (const projection of [anyProjection(followUps), anyProjection(messages)])
    orThrow(await documents.drop(collectionOf(projection)))
  await close()

  running = await serviceFor(t, directory, { clockRate: 10_000 })
  t.is((await old.manage('PATCH', `/playbooks/${old.playbookId}`, playbook)).status, 200)
  const submit = async (fields: Fields) =>
    idsOf(await sendJson(old.postUrl.replace(before.url, running.url), 'POST', lead(fields)))
  const later = [await submit({ first_name: 'Ada', phone }), await submit({ first_name: 'Cid' })]
  const since = () => eventsAfter(directory, written.length)
  const ended = () => since().flatMap(({ type, data }) => (type === 'EngagementEnded' ? [data.engagement_id] : []))
  const isEnded = ({ next_engagement_id }: SubmittedIds) => ended().some((id) => id === next_engagement_id)
  await until('the later leads are given up', 60_000, () => later.every(isEnded))

  const wroteFor = since().flatMap(({ type, data }) => (type === 'MessageSent' ? [data.engagement_id] : []))
  t.deepEqual(
    wroteFor.toSorted(),
    later.flatMap(({ next_engagement_id: id }) => [id, id] as ReadonlyArray<string>).toSorted(),
  )
  const streams = new Set(since().map(({ stream }) => stream))
  t.deepEqual(
    engaged.filter(({ next_engagement_id }) => streams.has(`engagement-${next_engagement_id}`)),
    [],
  )
  const shown = having(await old.manage('GET', '/follow_ups?state=running'), 'follow_ups')
  t.deepEqual(shown, [])
})
