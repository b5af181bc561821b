import test from 'ava'
import { instantOf } from '../../domain/instant.js'
import { sendJson } from '../kit/network/http.js'
import { idsOf, openAccount } from '../kit/service/account.js'
import { dataDirectoryWithStores } from '../kit/service/data-directory.js'
import { lead } from '../kit/service/leads.js'
import { addressOf, killed, startService } from '../kit/service/service-process.js'
import { until } from '../kit/time/until.js'
import { number, openTwilioDouble } from '../twilio-double/double.js'

const publicUrl = 'https://leads.example.com'

const playbook = {
  title: 'One text',
  steps: [{ message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 }],
  reply_rules: [],
  quiet_hours: null,
  give_up_after_minutes: 100_000,
}

test('what a provider took of a try whose answer nobody lived to hear is erased with the contact', async (t) => {
  t.timeout(120_000)
  const double = await openTwilioDouble(() => instantOf(Date.UTC(2999, 0)))
  t.teardown(double.close)
  const directory = await dataDirectoryWithStores(t)
  const settings = { CLOCK_RATE: '1000', PUBLIC_URL: publicUrl, SMS_URL: double.url + encodeURIComponent(number) }
  let service = startService(t, directory, settings)
  const site = { url: await addressOf(service) }
  const account = await openAccount(site)
  t.is((await account.manage('PATCH', `/playbooks/${account.playbookId}`, playbook)).status, 200)
  const held = double.held()
  double.fail('late')
  const postUrl = account.postUrl.replace(publicUrl, site.url)
  const { contact_id } = idsOf(await sendJson(postUrl, 'POST', lead({ first_name: 'Ada' })))
  await held
  await killed(service)
  const [taken] = double.taken
  if (taken === undefined) return t.fail('the double has no text')

  // The next process can't find out at once what became of the try, and does not live to ask again.
  double.fail({ status: 503, code: 20500 })
  const before = double.requests.length
  service = startService(t, directory, settings)
  site.url = await addressOf(service)
  await until('the provider is asked', 10_000, () => double.requests.length > before)
  const erase = async (): Promise<boolean> =>
    (await account.manage('POST', `/contacts/${contact_id}/erase`)).body.erased === true
  await until('the contact is erased', 20_000, erase)
  await killed(service)

  service = startService(t, directory, settings)
  await addressOf(service)
  await until('the provider has erased it', 20_000, () => double.erased.has(taken.sid))
  t.deepEqual(double.taken.length, 1)
})
