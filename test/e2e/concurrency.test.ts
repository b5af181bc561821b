import test from 'ava'
import { newPhone, lead, spellings } from '../kit/service/leads.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { having } from '../kit/network/http.js'
import { idsOf, openAccount } from '../kit/service/account.js'

const site = serviceForFile()

test('forty submissions of one number in five spellings at once: forty leads, one contact (contract 2.1)', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const written = spellings(phone)
  const forty = Array.from({ length: 40 }, (_, n) => lead({ phone: written[n % 5], first_name: `Ada ${n}` }))
  const answers = (await Promise.all(forty.map((fields) => account.submit(fields)))).map(idsOf)
  t.is(new Set(answers.map(({ lead_id }) => lead_id)).size, 40)
  t.is(new Set(answers.map(({ next_engagement_id }) => next_engagement_id)).size, 40)
  const contact = having(await account.find(phone), 'contact')
  t.true(answers.every(({ contact_id }) => contact_id === contact.id))

  const leads = having(await account.manage('GET', `/marketing_sources/${account.sourceId}/leads?limit=500`), 'leads')
  t.deepEqual(leads.map(({ id }) => id).sort(), answers.map(({ lead_id }) => lead_id).sort())
  const timeline = having(await account.manage('GET', `/contacts/${contact.id}/timeline?limit=500`), 'timeline')
  const started = timeline.filter(({ label }) => label === 'started')
  t.is(timeline.filter(({ kind }) => kind === 'lead').length, 40)
  t.is(started.length, 40)
  t.is(new Set(started.map(({ at }) => at)).size, 40, 'receivers tell activities apart by their time (contract 6.6.5)')
})

test('the contact has the values of one whole lead, and the first referral of the one that made it', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const twenty = Array.from({ length: 20 }, (_, n) =>
    lead({ phone, first_name: `First ${n}`, last_name: `Last ${n}`, email: `n${n}@example.com`, extra: `${n}` }),
  )
  const answers = (await Promise.all(twenty.map((fields) => account.submit(fields)))).map(idsOf)
  const contact = having(await account.find(phone), 'contact')
  const n = contact.first_name.replace('First ', '')
  t.like(contact, { last_name: `Last ${n}`, email: `n${n}@example.com` })
  t.is(contact.additional_info['extra'], n)
  t.true(answers.some(({ lead_id }) => lead_id === contact.referral['lead_id']))
})

test('twenty records of one conversion at once: one 201, nineteen 200, one record (contract 4.5.4)', async (t) => {
  const account = await openAccount(site)
  const { contact_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const twenty = Array.from({ length: 20 }, (_, n) => account.record(sold, { contact_id, custom_value: n }))
  const answers = await Promise.all(twenty)
  t.is(answers.filter(({ status }) => status === 201).length, 1)
  t.is(answers.filter(({ status }) => status === 200).length, 19)
  t.is(new Set(answers.map(({ text }) => text)).size, 1)
  const timeline = having(await account.manage('GET', `/contacts/${contact_id}/timeline?limit=500`), 'timeline')
  t.is(timeline.filter(({ kind }) => kind === 'conversion').length, 1)
  t.is(timeline.filter(({ label }) => label === 'sold').length, 1)
})

test('leads and conversions of one contact at once leave one record and every lead', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const { contact_id } = await account.submitted({ phone })
  const { quoted, sold } = await account.standardConversions()
  const leads = Array.from({ length: 10 }, () => account.submit(lead({ phone })))
  const records = [quoted, sold, quoted, sold].map((conversion) => account.record(conversion, { contact_id }))
  t.true((await Promise.all(leads)).every(({ status }) => status === 200))
  const statuses = (await Promise.all(records)).map(({ status }) => status)
  t.deepEqual([...statuses].sort(), [200, 200, 201, 201])
  const timeline = having(await account.manage('GET', `/contacts/${contact_id}/timeline?limit=500`), 'timeline')
  t.is(timeline.filter(({ kind }) => kind === 'lead').length, 11)
  t.is(timeline.filter(({ label }) => label === 'started').length, 11)
  t.deepEqual(
    timeline
      .filter(({ type }) => type === 'conversion')
      .map(({ label }) => label)
      .sort(),
    ['quoted', 'sold'],
  )
})

test('an outcome that is reported twenty times at once ends the conversation once', async (t) => {
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const twenty = Array.from({ length: 20 }, () => account.report(next_engagement_id, 'outcome', 'qualified'))
  const statuses = (await Promise.all(twenty)).map(({ status }) => status)
  t.is(statuses.filter((status) => status === 201).length, 1)
  t.is(statuses.filter((status) => status === 409).length, 19)
  const timeline = having(await account.manage('GET', `/contacts/${contact_id}/timeline`), 'timeline')
  t.is(timeline.filter(({ label }) => label === 'qualified').length, 1)
})
