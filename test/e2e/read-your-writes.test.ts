import test from 'ava'
import fc from 'fast-check'
import { strict as assert } from 'node:assert'
import { sendJson, having } from '../kit/network/http.js'
import { lead, newPhone } from '../kit/service/leads.js'
import { holdsAsync } from '../kit/domain/property.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { idsOf, openAccount, type Account } from '../kit/service/account.js'

const site = serviceForFile()

/** One write of a client's, then the very next request, which must see it. */
type Step = (account: Account) => Promise<void>

const timelineOf = async (account: Account, contactId: string) =>
  having(await account.manage('GET', `/contacts/${contactId}/timeline?limit=500`), 'timeline')

const steps: Readonly<Record<string, Step>> = {
  'a new lead is found by its number': async (account) => {
    const phone = newPhone()
    const { contact_id } = await account.submitted({ phone })
    assert.equal(having(await account.find(phone), 'contact').id, contact_id)
  },
  'a new lead is there by its id': async (account) => {
    const { contact_id, lead_id } = await account.submitted()
    assert.equal(having(await account.rest(`/contacts/${contact_id}`), 'contact').referral['lead_id'], lead_id)
  },
  'a lead of a known number changes its contact': async (account) => {
    const phone = newPhone()
    await account.submitted({ phone })
    await account.submitted({ phone, first_name: 'Grace', colour: 'blue' })
    const { first_name, additional_info } = having(await account.find(phone), 'contact')
    assert.deepEqual([first_name, additional_info['colour']], ['Grace', 'blue'])
  },
  'a new lead has begun on the timeline': async (account) => {
    const { contact_id, lead_id } = await account.submitted()
    const [first, second] = await timelineOf(account, contact_id)
    assert.deepEqual([first?.['lead_id'], second?.['label']], [lead_id, 'started'])
  },
  'a lead of a known number has begun on the timeline': async (account) => {
    const phone = newPhone()
    await account.submitted({ phone })
    const { contact_id, next_engagement_id } = await account.submitted({ phone })
    const timeline = await timelineOf(account, contact_id)
    const begun = timeline.filter(({ label }) => label === 'started').map((entry) => entry['next_engagement_id'])
    assert.equal(begun.at(-1), next_engagement_id)
  },
  'a new lead is on the list of its source': async (account) => {
    const { id, postUrl } = await account.addSource()
    const { lead_id } = idsOf(await sendJson(postUrl, 'POST', lead()))
    const leads = having(await account.manage('GET', `/marketing_sources/${id}/leads`), 'leads')
    assert.equal(leads[0]?.id, lead_id)
  },
  'a new lead can be converted and talked about': async (account) => {
    const { contact_id, next_engagement_id } = await account.submitted()
    assert.equal((await account.report(next_engagement_id, 'event', 'interested')).status, 201)
    const { quoted } = await account.standardConversions()
    assert.equal((await account.record(quoted, { contact_id })).status, 201)
  },
  'a record is on the timeline, and has ended the conversation': async (account) => {
    const { contact_id, next_engagement_id } = await account.submitted()
    const { sold } = await account.standardConversions()
    const { id } = having(await account.record(sold, { contact_id }), 'conversion_contact')
    const timeline = await timelineOf(account, contact_id)
    assert.ok(timeline.some((entry) => entry.id === id))
    assert.ok(timeline.some(({ label }) => label === 'sold'))
    assert.equal((await account.report(next_engagement_id, 'outcome', 'qualified')).status, 409)
  },
  'a record that others report at the same time is on the timeline for each of them': async (account) => {
    const { contact_id } = await account.submitted()
    const { sold } = await account.standardConversions()
    const seen = async () => {
      const { id } = having(await account.record(sold, { contact_id }), 'conversion_contact')
      const timeline = await timelineOf(account, contact_id)
      assert.ok(timeline.some((entry) => entry.id === id))
      assert.ok(timeline.some(({ label }) => label === 'sold'))
    }
    await Promise.all(Array.from({ length: 5 }, seen))
  },
  'an opt-out shows in the contact': async (account) => {
    const { contact_id, next_engagement_id } = await account.submitted()
    assert.equal((await account.report(next_engagement_id, 'outcome', 'opted_out')).status, 201)
    assert.equal(having(await account.rest(`/contacts/${contact_id}`), 'contact').opted_out, true)
  },
  'a lead after an opt-out is filtered at once': async (account) => {
    const phone = newPhone()
    const { next_engagement_id } = await account.submitted({ phone })
    await account.report(next_engagement_id, 'outcome', 'opted_out')
    const later = await account.submitted({ phone })
    const labels = (await timelineOf(account, later.contact_id)).map(({ label }) => label)
    assert.equal(labels.at(-1), 'filtered')
  },
  'a new conversion is listed and can be recorded': async (account) => {
    const id = await account.addConversion('Renewed', 5)
    assert.ok(having(await account.rest('/conversions'), 'conversions').some((one) => one.id === id))
    const { contact_id } = await account.submitted()
    assert.equal((await account.record(id, { contact_id })).status, 201)
  },
  'a new source is listed and takes leads': async (account) => {
    const { id, postUrl } = await account.addSource({ title: 'Another' })
    const sources = having(await account.manage('GET', '/marketing_sources'), 'marketing_sources')
    assert.equal(sources.find((one) => one.id === id)?.['post_url'], postUrl)
    assert.equal((await sendJson(postUrl, 'POST', lead())).status, 200)
  },
  'a suspended source is listed so and takes none': async (account) => {
    const { id, postUrl } = await account.addSource()
    await account.manage('PATCH', `/marketing_sources/${id}`, { suspended: true })
    const sources = having(await account.manage('GET', '/marketing_sources'), 'marketing_sources')
    assert.equal(sources.find((one) => one.id === id)?.['suspended'], true)
    assert.equal((await sendJson(postUrl, 'POST', lead())).status, 403)
  },
  'a new playbook is listed, and so is its change': async (account) => {
    const { id } = having(await account.manage('POST', '/playbooks', { title: 'Boats' }), 'playbook')
    const listed = async () =>
      having(await account.manage('GET', '/playbooks'), 'playbooks').find((one) => one.id === id)
    assert.equal((await listed())?.['title'], 'Boats')
    await account.manage('PATCH', `/playbooks/${id}`, { title: 'Ships' })
    assert.equal((await listed())?.['title'], 'Ships')
  },
  'a new webhook is listed, changed and gone': async (account) => {
    const id = await account.addWebhook({ url: 'http://127.0.0.1:9/hook', token: 'secret', events: ['sold'] })
    const listed = async () => having(await account.manage('GET', '/webhooks'), 'webhooks').find((one) => one.id === id)
    assert.deepEqual((await listed())?.['events'], ['sold'])
    await account.manage('PATCH', `/webhooks/${id}`, { events: ['quoted'] })
    assert.deepEqual((await listed())?.['events'], ['quoted'])
    await account.manage('DELETE', `/webhooks/${id}`)
    assert.equal(await listed(), undefined)
  },
  'a revoked key is refused': async (account) => {
    const { id } = await account.issueKey()
    assert.equal((await account.manage('DELETE', `/api_keys/${id}`)).status, 200)
    assert.equal((await account.manage('DELETE', `/api_keys/${id}`)).status, 404)
  },
}

for (const [title, step] of Object.entries(steps)) {
  test.serial(`${title} with the next request`, async (t) => {
    const account = await openAccount(site)
    for (let times = 0; times < 5; times += 1) await t.notThrowsAsync(step(account))
  })
}

test.serial('whatever clients do side by side, each sees its own write with the next request', async (t) => {
  const account = await openAccount(site)
  const step = fc.constantFrom(...Object.keys(steps))
  const clients = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 2, maxLength: 8 })
  const property = fc.asyncProperty(clients, async (sequences) => {
    const client = async (names: ReadonlyArray<string>): Promise<void> => {
      for (const name of names) await steps[name]?.(account)
    }
    await Promise.all(sequences.map(client))
  })
  await holdsAsync(t, property, { numRuns: 25, endOnFailure: true, includeErrorInReport: true })
})
