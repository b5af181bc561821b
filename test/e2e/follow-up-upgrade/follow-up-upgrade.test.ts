import { writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import test from 'ava'
import { eventsAfter } from '../../kit/load/streams.js'
import { having, sendJson } from '../../kit/network/http.js'
import { idsOf, manage, type SubmittedIds } from '../../kit/service/account.js'
import { serviceFor } from '../../kit/service/in-process-service.js'
import { lead, type Fields } from '../../kit/service/leads.js'
import { secretKey } from '../../kit/service/settings.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'
import { until } from '../../kit/time/until.js'

/**
 * What the last version that sent nothing left in its data folder: three leads of its first account, of Ada, Bob and
 * Cid, and a sale to Cid. It was begun with the secret key of the tests.
 */
const stored = join('test', 'e2e', 'follow-up-upgrade', 'leadloop.db.gz')
const phoneOfAda = '415-555-0123'

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
  const directory = temporaryDirectory(t)
  writeFileSync(join(directory, 'leadloop.db'), gunzipSync(await readFile(stored)))
  const written = eventsAfter(directory, 0)
  const engaged = written.flatMap(({ type, data }) => (type === 'EngagementStarted' ? [data.engagement_id] : []))
  t.is(engaged.length, 3)
  const [created] = written.flatMap(({ type, data }) => (type === 'MarketingSourceCreated' ? [data] : []))
  if (created === undefined) throw new Error('there is no source')
  const { account_id, source_id, playbook_id } = created

  const service = await serviceFor(t, directory, { clockRate: 10_000, secretKey })
  const account = `/accounts/${account_id}`
  t.is((await manage(service, 'PATCH', `${account}/playbooks/${playbook_id}`, playbook)).status, 200)
  const postUrl = `${service.url}/marketing_sources/${account_id}/${source_id}`
  const submit = async (fields: Fields) => idsOf(await sendJson(postUrl, 'POST', lead(fields)))
  const later = [await submit({ first_name: 'Ada', phone: phoneOfAda }), await submit({ first_name: 'Dee' })]
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
    engaged.filter((id) => streams.has(`engagement-${id}`)),
    [],
  )
  const running = async () => having(await manage(service, 'GET', `${account}/follow_ups?state=running`), 'follow_ups')
  // The list follows the log.
  t.deepEqual(await until('nobody is followed up', 60_000, running, ({ length }) => length === 0), [])
  const { contact_id } = later[0] ?? {}
  const timeline = having(await manage(service, 'GET', `${account}/contacts/${contact_id}/timeline`), 'timeline')
  t.is(timeline.filter(({ kind }) => kind === 'lead').length, 2, 'what was there before is shown with what came since')
})
