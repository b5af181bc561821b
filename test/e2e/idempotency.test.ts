import test from 'ava'
import { bearer, sendForm, sendJson, type Answer, having } from '../kit/network/http.js'
import { formLead, lead, newPhone, spellings } from '../kit/service/leads.js'
import { operatorKey } from '../kit/service/settings.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { idsOf, openAccount, type Account } from '../kit/service/account.js'

const site = serviceForFile()

const leadIds = async (account: Account, sourceId = account.sourceId): Promise<ReadonlyArray<string>> =>
  having(await account.manage('GET', `/marketing_sources/${sourceId}/leads?limit=500`), 'leads').map(({ id }) => id)

/** What happened with a contact but for deliveries. */
const timelineKinds = async (account: Account, contactId: string): Promise<ReadonlyArray<string>> =>
  having(await account.manage('GET', `/contacts/${contactId}/timeline?limit=500`), 'timeline').map(({ kind }) => kind)

const key = (text: string): Readonly<Record<string, string>> => ({ 'idempotency-key': text })

test('the same Idempotency-Key again gives the answer of the first lead and creates nothing', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const fields = lead({ phone })
  const first = await account.submit(fields, key('order 1'))
  for (const again of [fields, fields, lead(), { ...fields, first_name: 'Grace' }]) {
    const answer = await account.submit(again, key('order 1'))
    t.is(answer.status, 200)
    t.deepEqual(answer.body, first.body)
  }
  t.deepEqual(await leadIds(account), [idsOf(first).lead_id])
  t.deepEqual(await timelineKinds(account, idsOf(first).contact_id), ['lead', 'activity'])
  t.is(having(await account.find(phone), 'contact').first_name, 'Ada')
})

test('a repeated form submission is known by its key too', async (t) => {
  const account = await openAccount(site)
  const fields = formLead()
  const first = await sendForm(account.postUrl, fields, key('form 1'))
  t.is(first.status, 200)
  t.deepEqual((await sendForm(account.postUrl, fields, key('form 1'))).body, first.body)
  t.is((await leadIds(account)).length, 1)
})

test('another key, or none, is another lead', async (t) => {
  const account = await openAccount(site)
  const fields = lead()
  const headers = [key('a'), key('A'), key('a b'), {}, {}]
  const ids = []
  for (const one of headers) ids.push(idsOf(await account.submit(fields, one)).lead_id)
  t.is(new Set(ids).size, headers.length)
})

test('a key counts for one source: on another it is free', async (t) => {
  const account = await openAccount(site)
  const other = await account.addSource()
  const fields = lead()
  const one = idsOf(await account.submit(fields, key('shared')))
  const two = idsOf(await sendJson(other.postUrl, 'POST', fields, key('shared')))
  t.not(one.lead_id, two.lead_id)
  t.is((await leadIds(account, other.id)).length, 1)
})

test('a key of a submission that was refused is still free', async (t) => {
  const account = await openAccount(site)
  t.is((await account.submit(lead({ email: 'nobody' }), key('again'))).status, 400)
  const phone = newPhone()
  t.is((await account.submit(lead({ phone }), key('again'))).status, 200)
  t.is(having(await account.find(phone), 'contact').phone, phone)
})

test('a repeat with a key must be a valid submission', async (t) => {
  const account = await openAccount(site)
  t.is((await account.submit(lead(), key('valid'))).status, 200)
  t.is((await account.submit({}, key('valid'))).status, 400)
})

test('an Idempotency-Key has 1 to 255 characters, else it is 400 and named', async (t) => {
  const account = await openAccount(site)
  t.is((await account.submit(lead(), key('k'.repeat(255)))).status, 200)
  for (const wrong of ['', 'k'.repeat(256)]) {
    const answer = await account.submit(lead(), key(wrong))
    t.is(answer.status, 400, `${wrong.length}`)
    t.regex(answer.body.errors?.join() ?? '', /Idempotency-Key/)
  }
  t.is((await leadIds(account)).length, 1)
})

test('the same originator key and phone on one source is the first lead, in any spelling', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const first = await account.submit(lead({ phone, lead_id: 'L-1' }))
  for (const spelling of spellings(phone)) {
    const again = await account.submit(lead({ phone: spelling, lead_id: ' L-1 ', first_name: 'Grace' }))
    t.is(again.status, 200)
    t.deepEqual(again.body, first.body)
  }
  t.deepEqual(await leadIds(account), [idsOf(first).lead_id])
  t.is(having(await account.find(phone), 'contact').first_name, 'Ada')
})

test('another originator key, another phone or another source is another lead', async (t) => {
  const account = await openAccount(site)
  const other = await account.addSource()
  const phone = newPhone()
  const submissions = [
    account.submit(lead({ phone, lead_id: 'L-1' })),
    account.submit(lead({ phone, lead_id: 'L-2' })),
    account.submit(lead({ phone: newPhone(), lead_id: 'L-1' })),
    account.submit(lead({ phone })),
    sendJson(other.postUrl, 'POST', lead({ phone, lead_id: 'L-1' })),
  ]
  const ids = (await Promise.all(submissions)).map((answer) => idsOf(answer).lead_id)
  t.is(new Set(ids).size, submissions.length)
})

test('with both, a new key of a known originator and phone gives the first lead', async (t) => {
  const account = await openAccount(site)
  const fields = lead({ lead_id: 'L-1' })
  const first = await account.submit(fields, key('one'))
  t.deepEqual((await account.submit(fields, key('two'))).body, first.body)
  t.deepEqual((await account.submit(fields)).body, first.body)
  t.deepEqual((await account.submit(lead({ lead_id: 'L-9' }), key('two'))).body, first.body)
  t.is((await leadIds(account)).length, 1)
})

const allAlike = (answers: ReadonlyArray<Answer>): boolean =>
  answers.every(({ status, text }) => status === 200 && text === answers[0]?.text)

test('one key sent twenty times at once is one lead with one answer', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const twenty = Array.from({ length: 20 }, (_, n) => lead({ phone, first_name: `Ada ${n}` }))
  const answers = await Promise.all(twenty.map((fields) => account.submit(fields, key('at once'))))
  t.true(allAlike(answers))
  t.is((await leadIds(account)).length, 1)
  t.deepEqual(await timelineKinds(account, having(await account.find(phone), 'contact').id), ['lead', 'activity'])
})

test('one originator and phone sent twenty times at once is one lead with one answer', async (t) => {
  const account = await openAccount(site)
  const phone = newPhone()
  const twenty = Array.from({ length: 20 }, () => lead({ phone, external_id: 'E-1' }))
  const answers = await Promise.all(twenty.map((fields) => account.submit(fields)))
  t.true(allAlike(answers))
  t.is((await leadIds(account)).length, 1)
  t.deepEqual(await timelineKinds(account, having(await account.find(phone), 'contact').id), ['lead', 'activity'])
})

test('one key with different leads at once is one of them', async (t) => {
  const account = await openAccount(site)
  const phones = Array.from({ length: 12 }, newPhone)
  const answers = await Promise.all(
    phones.map((phone, n) => account.submit(lead({ phone, lead_id: `L-${n}` }), key('contested'))),
  )
  t.true(allAlike(answers))
  t.is((await leadIds(account)).length, 1)
  const found = await Promise.all(phones.map((phone) => account.find(phone)))
  t.is(found.filter(({ status }) => status === 200).length, 1)
})

/** Reports an activity under an Idempotency-Key. */
const reportUnder = (account: Account, engagementId: string, name: string, fields: object): Promise<Answer> => {
  const path = `/manage/v1/accounts/${account.id}/engagements/${engagementId}/activities`
  return sendJson(`${site.url}${path}`, 'POST', fields, { ...bearer(operatorKey), ...key(name) })
}

test('an activity report that is repeated under its Idempotency-Key is recorded once, and answered as the first time', async (t) => {
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const call = { type: 'event', label: 'phone_call_missed', note: 'No answer' }
  const first = await reportUnder(account, next_engagement_id, 'call 1', call)
  t.is(first.status, 201)
  for (const again of [call, call, { ...call, label: 'phone_call_completed' }]) {
    const answer = await reportUnder(account, next_engagement_id, 'call 1', again)
    t.is(answer.status, 200)
    t.deepEqual(answer.body, first.body)
  }
  t.deepEqual(await timelineKinds(account, contact_id), ['lead', 'activity', 'activity'])
  t.is((await reportUnder(account, next_engagement_id, 'call 2', call)).status, 201)
  t.is((await account.report(next_engagement_id, 'event', 'phone_call_missed')).status, 201)
  t.is((await timelineKinds(account, contact_id)).length, 5)
})

test('an outcome that is reported again under its Idempotency-Key is no conflict, although it ended the engagement', async (t) => {
  const account = await openAccount(site)
  const { next_engagement_id } = await account.submitted()
  const outcome = { type: 'outcome', label: 'dormant' }
  const first = await reportUnder(account, next_engagement_id, 'end', outcome)
  const again = await reportUnder(account, next_engagement_id, 'end', outcome)
  t.deepEqual([first.status, again.status], [201, 200])
  t.deepEqual(again.body, first.body)
  t.is((await reportUnder(account, next_engagement_id, 'another', outcome)).status, 409)
})

test('a message of a member that is asked for again under its Idempotency-Key is no conflict, although nobody may write any more', async (t) => {
  const account = await openAccount(site)
  const { sold } = await account.standardConversions()
  const ends = [
    (contactId: string) => account.record(sold, { contact_id: contactId }),
    (contactId: string) => account.manage('POST', `/contacts/${contactId}/messages`, { text: 'STOP' }),
  ]
  for (const end of ends) {
    const { contact_id, next_engagement_id } = await account.submitted()
    const write = (name: string) =>
      account.manage('POST', `/engagements/${next_engagement_id}/messages`, { text: 'See you at noon' }, key(name))
    const first = await write('noon')
    t.is((await end(contact_id)).status, 201)
    const again = await write('noon')
    t.deepEqual([first.status, again.status], [201, 200])
    t.deepEqual(again.body, first.body)
    t.is((await write('another')).status, 409)
  }
})

test('activity reports that are repeated at the same moment are recorded once', async (t) => {
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const call = { type: 'event', label: 'phone_call_missed' }
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => reportUnder(account, next_engagement_id, 'one', call)),
  )
  t.is(answers.filter(({ status }) => status === 201).length, 1)
  t.is(answers.filter(({ status }) => status === 200).length, 7)
  t.deepEqual(await timelineKinds(account, contact_id), ['lead', 'activity', 'activity'])
})
