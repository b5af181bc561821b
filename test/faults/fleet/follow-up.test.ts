import test from 'ava'
import type { MessageId } from '../../../domain/ids.js'
import { instantOf } from '../../../domain/instant.js'
import { onServers, openFleet } from '../../kit/load/fleet.js'
import { messageStory, wronglySent } from '../../kit/load/message-story.js'
import { eventsAfter } from '../../kit/load/streams.js'
import { bearer, sendJson } from '../../kit/network/http.js'
import { idsOf, manage, openAccount } from '../../kit/service/account.js'
import { lead } from '../../kit/service/leads.js'
import { addressOf, killed, type ServiceProcess } from '../../kit/service/service-process.js'
import { until } from '../../kit/time/until.js'
import { number, openTwilioDouble } from '../../twilio-double/double.js'

const publicUrl = 'https://leads.example.com'

const playbook = {
  title: 'Three texts',
  steps: [
    { message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 },
    { message: 'Still there, {{first_name}}?', delay_minutes: 10 },
    { message: 'Goodbye, {{first_name}}.', delay_minutes: 20 },
  ],
  reply_rules: [],
  quiet_hours: null,
  give_up_after_minutes: 10,
}

const kills = 3
const leadsBetween = 6

onServers('follow-up by processes that come and go', () => {
  test('no message is lost or sent twice, and none follows a sale, while processes come and go', async (t) => {
    t.timeout(300_000)
    const fleet = await openFleet(t)
    // The clock of the service runs ahead: what the provider has taken must not seem to be older than the try.
    const double = await openTwilioDouble(() => instantOf(Date.UTC(2999, 0)))
    t.teardown(double.close)
    // Ten minutes of the service's clock are a second.
    const settings = { CLOCK_RATE: '600', PUBLIC_URL: publicUrl, SMS_URL: double.url + encodeURIComponent(number) }
    const start = () => fleet.start(settings)
    let running: ReadonlyArray<ServiceProcess> = [start(), start()]
    const addresses = () => Promise.all(running.map(addressOf))
    const [first = ''] = await addresses()
    const account = await openAccount({ url: first }, 'Example Agency')
    const changed = await manage(
      { url: first },
      'PATCH',
      `/accounts/${account.id}/playbooks/${account.playbookId}`,
      playbook,
    )
    t.is(changed.status, 200)
    const path = new URL(account.postUrl).pathname
    const submit = async (site: string) => idsOf(await sendJson(site + path, 'POST', lead({ first_name: 'Ada' })))
    const { sold: conversion } = await account.standardConversions()
    const sold: Array<string> = []

    for (let kill = 0; kill <= kills; kill += 1) {
      const sites = await addresses()
      const submitted = await Promise.all(
        Array.from({ length: leadsBetween }, (_, nth) => submit(sites[nth % sites.length] ?? first)),
      )
      const [one] = submitted
      if (one !== undefined) {
        const body = { conversion_contact: { contact_id: one.contact_id } }
        const [site = first] = sites
        const url = `${site}/api/v3/conversions/${conversion}/events`
        t.is((await sendJson(url, 'POST', body, bearer(account.apiKey))).status, 201)
        sold.push(one.next_engagement_id)
      }
      if (kill === kills) break
      const [oldest, ...others] = running
      if (oldest !== undefined) await killed(oldest)
      running = [...others, start()]
    }

    const story = () => messageStory(eventsAfter(fleet.directory, 0))
    const leads = (kills + 1) * leadsBetween
    const stillOpen = () => {
      const { leads: begun, ended, steps, problems } = story()
      const open = [...begun].filter((id) => !ended.has(id))
      const stepsOf = (id: string) => [...steps.keys()].filter((step) => step.endsWith(id)).length
      return { lacking: leads - begun.size, open: open.map((id) => `${id}, ${stepsOf(id)} steps`), problems }
    }
    const isNone = ({ lacking, open }: ReturnType<typeof stillOpen>) => lacking + open.length === 0
    await until('every engagement has ended', 240_000, stillOpen, isNone)
    const told = story()
    t.deepEqual(told.problems, [])
    t.is(told.leads.size, leads)
    const ofSold = new Set<MessageId>()
    for (const [step, id] of told.steps) if (sold.some((engagement) => step.endsWith(engagement))) ofSold.add(id)
    t.deepEqual(wronglySent(told, double.taken, ofSold), [])
    const whole = [...told.leads].filter((id) => !sold.includes(id))
    const lacking = whole.filter((id) => playbook.steps.some((_, step) => !told.steps.has(`step ${step} of ${id}`)))
    t.deepEqual(lacking, [])
    t.log(`${told.leads.size} leads, ${told.tries.size} messages, ${double.taken.length} taken, ${sold.length} sold`)
  })
})
