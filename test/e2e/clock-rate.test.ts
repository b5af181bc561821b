import test from 'ava'
import { having, sendJson } from '../kit/network/http.js'
import { idsOf, openAccount } from '../kit/service/account.js'
import { dataDirectory } from '../kit/service/data-directory.js'
import { serviceFor } from '../kit/service/in-process-service.js'
import { lead } from '../kit/service/leads.js'
import { until } from '../kit/time/until.js'

const playbook = {
  steps: [
    { message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 },
    { message: 'Still there, {{first_name}}?', delay_minutes: 10 * 24 * 60 },
  ],
  quiet_hours: null,
  give_up_after_minutes: 100_000,
}

test('after a restart a fast clock goes on from the newest event', async (t) => {
  const directory = dataDirectory(t)
  const fast = { clockRate: 1_000_000 }
  const before = await serviceFor(t, directory, fast)
  let running = before
  const site = {
    get url() {
      return running.url
    },
  }
  const account = await openAccount(site)
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, playbook)
  const { contact_id } = await account.submitted({ first_name: 'Ada' })
  const sent = async () => having(await account.manage('GET', `/contacts/${contact_id}/messages`), 'messages')
  await until('ten days have passed', 30_000, async () => (await sent())[1]?.['state'] === 'sent')
  await before.stop()
  running = await serviceFor(t, directory, fast)
  const postUrl = account.postUrl.replace(before.url, running.url)
  const later = idsOf(await sendJson(postUrl, 'POST', lead({ first_name: 'Bob' })))
  const { created_at } = having(await account.rest(`/contacts/${later.contact_id}`), 'contact')
  t.true(created_at > String((await sent())[1]?.['at']))
})
