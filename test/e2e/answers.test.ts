import test from 'ava'
import { having } from '../kit/network/http.js'
import { openAccount, type Account } from '../kit/service/account.js'
import { isTexted, labelsOf, messagesOf, soon } from '../kit/service/conversation.js'
import { newPhone } from '../kit/service/leads.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { until } from '../kit/time/until.js'

const site = serviceForFile()

const answersOf = async (account: Account, contactId: string) =>
  (await messagesOf({ account, contact_id: contactId })).flatMap(({ purpose, state, text }) =>
    purpose === null ? [] : [`${purpose}, ${state}: ${text}`],
  )

/** Whoever submits to it has got the first message, at whatever hour. */
const following = async (title: string) => {
  const account = await openAccount(site, title)
  const steps = [{ message: 'Hi from {{account}}', delay_minutes: 0 }]
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, { steps, quiet_hours: null })
  const phone = newPhone()
  const { contact_id, next_engagement_id } = await account.submitted({ phone })
  await isTexted({ account, contact_id })
  const write = (text: string) => account.manage('POST', `/contacts/${contact_id}/messages`, { text })
  const byHand = (text: string) => account.manage('POST', `/engagements/${next_engagement_id}/messages`, { text })
  const answered = (count: number) =>
    until('the answers', 60_000, async () => {
      const answers = await answersOf(account, contact_id)
      return answers.length === count && answers.every((answer) => /, sent:/.test(answer))
    })
  return { account, phone, contact_id, write, byHand, answered, answers: () => answersOf(account, contact_id) }
}

test('an opt-out is confirmed once, and again after who opted in opts out anew', async (t) => {
  const { account, phone, write, answered, answers } = await following('First Agency')
  await write('STOP')
  await answered(1)
  await write('stop texting me')
  await write('HELP')
  await answered(2)
  await write('START')
  await write('STOP')
  await answered(3)
  t.true(having(await account.find(phone), 'contact').opted_out)
  const stopped = 'confirmation, sent: You will get no more messages from First Agency. Reply START to get them again.'
  const help = 'help, sent: First Agency: we write since you asked us for an offer. Reply STOP to get no more messages.'
  t.deepEqual((await answers()).toSorted(), [stopped, stopped, help])
})

test('whoever opts in and then out again is told of to the receivers as the first time, whichever conversation is open', async (t) => {
  const { account, phone, contact_id, write } = await following('Eighth Agency')
  const optedOut = async () => (await labelsOf({ account, contact_id })).filter((label) => label === 'opted_out').length
  await write('STOP')
  await write('STOP')
  await write('START')
  t.is(await optedOut(), 1)
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, { steps: [] })
  const { next_engagement_id } = await account.submitted({ phone })
  await write('STOP')
  await soon(async () => (await optedOut()) === 2)
  t.true(having(await account.find(phone), 'contact').opted_out)
  t.is((await account.report(next_engagement_id, 'outcome', 'qualified')).status, 409)
})

test('whoever opts in as a new contact, once the old one was erased that had opted out, stays opted in', async (t) => {
  const { account, phone, contact_id, write } = await following('Ninth Agency')
  await write('STOP')
  await account.manage('POST', `/contacts/${contact_id}/erase`)
  const lead = async () => {
    const { contact_id } = await account.submitted({ phone })
    return { contact_id, contact: having(await account.find(phone), 'contact') }
  }
  const first = await lead()
  t.not(first.contact_id, contact_id)
  t.true(first.contact.opted_out)
  await account.manage('POST', `/contacts/${first.contact_id}/messages`, { text: 'START' })
  const second = await lead()
  t.is(second.contact_id, first.contact_id)
  t.false(second.contact.opted_out)
  const labels = await labelsOf({ account, contact_id: second.contact_id })
  t.deepEqual(labels.toSorted(), ['filtered', 'started', 'started'])
})

test('what the contact writes is answered as the first time where the request is repeated under its key', async (t) => {
  const { account, phone, contact_id, write } = await following('Seventh Agency')
  await write('STOP')
  const path = `/contacts/${contact_id}/messages`
  const yes = () => account.manage('POST', path, { text: 'YES' }, { 'idempotency-key': 'the same' })
  const first = await yes()
  t.is(first.status, 201)
  t.like(first.body, { message: { meaning: 'opted_in' } })
  const { next_engagement_id } = await account.submitted({ phone })
  await until('the later message', 60_000, async () =>
    (await messagesOf({ account, contact_id })).some((one) => one.next_engagement_id === next_engagement_id),
  )
  const again = await yes()
  t.is(again.status, 200)
  t.deepEqual(again.body, first.body)
  const stop = () => account.manage('POST', path, { text: 'STOP' }, { 'idempotency-key': 'a stop' })
  t.is((await stop()).status, 201)
  await write('START')
  t.is((await stop()).status, 200)
  t.false(having(await account.find(phone), 'contact').opted_out, 'what was taken back since')
})

test('HELP is answered with the text of the account, and of no other one', async (t) => {
  const { account, write, answered, answers } = await following('Second Agency')
  const other = await following('Third Agency')
  const text = 'Second Agency, 555-0100. Reply STOP to end.'
  const changed = await account.manage('PUT', '/messaging', { help_text: text })
  t.like(changed.body, { messaging: { accepted_consent_hosts: null, help_text: text } })
  await write('Help!')
  await other.write('info')
  await answered(1)
  await other.answered(1)
  t.deepEqual(await answers(), [`help, sent: ${text}`])
  t.regex((await other.answers())[0] ?? '', /Third Agency: we write/)
  t.is((await account.manage('PUT', '/messaging', { help_text: ' ' })).status, 400)
  t.is((await account.manage('PUT', '/messaging', {})).status, 400)
  t.like((await account.manage('PUT', '/messaging', { help_text: null })).body, { messaging: { help_text: null } })
})

test('where the provider answers STOP and HELP the service does not', async (t) => {
  const { account, write, answered, answers } = await following('Sixth Agency')
  const set = await account.manage('PUT', '/messaging', { provider_answers_keywords: true })
  t.like(set.body, { messaging: { provider_answers_keywords: true, help_text: null } })
  await write('HELP')
  await account.manage('PUT', '/messaging', { provider_answers_keywords: false })
  await write('STOP')
  await answered(1)
  t.regex((await answers())[0] ?? '', /^confirmation/)
})

test('a STOP that a request brings concerns the accounts that name the same sender, and without one its own alone', async (t) => {
  const sender = { from: '+14155550123', messages_per_second: null }
  const pairs = [
    [{ sender }, true],
    [{ help_text: null }, false],
  ] as const
  for (const [messaging, isShared] of pairs) {
    const [first, second] = [await following('Eighth Agency'), await openAccount(site, 'Ninth Agency')]
    for (const account of [first.account, second]) {
      t.is((await account.manage('PUT', '/messaging', messaging)).status, 200)
    }
    await second.submitted({ phone: first.phone })
    const isOptedOut = async () => having(await second.find(first.phone), 'contact').opted_out
    await first.write('STOP')
    t.true(having(await first.account.find(first.phone), 'contact').opted_out)
    t.is(await isOptedOut(), isShared)
    await first.write('START')
    t.false(await isOptedOut())
  }
})

test('a member writes by hand, in an open engagement to who has not opted out', async (t) => {
  const { account, byHand, write, answered, answers } = await following('Fourth Agency')
  const other = await following('Fifth Agency')
  t.is((await byHand('See you at noon')).status, 201)
  await answered(1)
  t.deepEqual(await answers(), ['member, sent: See you at noon'])
  t.is((await byHand('')).status, 400)
  const { contact_id, next_engagement_id } = await account.submitted()
  t.is((await other.account.manage('POST', `/engagements/${next_engagement_id}/messages`, { text: 'x' })).status, 404)
  await account.record((await account.standardConversions()).sold, { contact_id })
  t.is((await account.manage('POST', `/engagements/${next_engagement_id}/messages`, { text: 'x' })).status, 409)
  await write('STOP')
  t.is((await byHand('Please come back')).status, 409)
})
