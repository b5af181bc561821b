import test from 'ava'
import { inboundOf, isOptedOut, isTexted, labelsOf, messagesOf, soon } from '../kit/service/conversation.js'
import { oneText, openTextingStage } from '../kit/service/texting-stage.js'
import { newPhone } from '../kit/service/leads.js'
import { number, otherNumber, service } from '../twilio-double/double.js'

const shared = { sender: { from: number, messages_per_second: null } }

test('an account that names the shared sender as its own shares it still: a STOP counts for all, a reply for who wrote last', async (t) => {
  const { following, submit, write } = await openTextingStage(t)
  const [named, other] = [await following('Naming Agency'), await following('Other Agency')]
  await named.manage('PUT', '/messaging', shared)
  const first = await submit(named)
  await isTexted(first)
  const second = await submit(other, first.phone)
  await isTexted(second)
  t.is(await write(first.phone, number, 'Who is this?'), 204)
  t.deepEqual(await inboundOf(first), [])
  t.deepEqual(await inboundOf(second), ['Who is this?'])
  t.is(await write(first.phone, number, 'STOP'), 204)
  t.true(await isOptedOut(named, first.phone))
  t.true(await isOptedOut(other, first.phone))
})

test('of the accounts that share a sender the one that wrote last confirms a STOP, and no other', async (t) => {
  const { following, submit, takenFor, write } = await openTextingStage(t)
  const [silent, loud] = [await following('Silent Agency'), await following('Loud Agency')]
  for (const account of [silent, loud]) await account.manage('PUT', '/messaging', { provider_answers_keywords: false })
  const first = await submit(silent)
  await isTexted(first)
  const second = await submit(loud, first.phone)
  await isTexted(second)
  t.is(await write(first.phone, number, 'STOP'), 204)
  for (const { account, phone } of [first, second]) t.true(await isOptedOut(account, phone))
  await soon(async () => (await messagesOf(second)).at(-1)?.state === 'sent')
  t.deepEqual(
    takenFor(first.phone).map(
      ({ form }) => /^You will get no more messages from (.*?)\./.exec(form.get('Body') ?? '')?.[1],
    ),
    [undefined, undefined, 'Loud Agency'],
  )
  const asked = (await messagesOf(first)).filter(({ purpose }) => purpose === 'confirmation')
  t.deepEqual(asked, [], 'nor is another one asked for')
})

test('a Messaging Service sends for all accounts but those with a number of their own, and each hears what is said to it', async (t) => {
  const { following, submit, takenFor, write } = await openTextingStage(t, { sender: service })
  const [pooled, own] = [await following('Pooled Agency'), await following('Own Agency')]
  await own.manage('PUT', '/messaging', { sender: { from: otherNumber, messages_per_second: null } })
  const first = await submit(pooled)
  await isTexted(first)
  const second = await submit(own, first.phone)
  await isTexted(second)
  t.deepEqual(
    takenFor(first.phone).map(({ form }) => [form.get('MessagingServiceSid'), form.get('From')]),
    [
      [service, null],
      [null, otherNumber],
    ],
  )
  t.is(await write(first.phone, otherNumber, 'Hello, own'), 204)
  t.is(await write(first.phone, '+14155550177', 'Hello, pool', { MessagingServiceSid: service }), 204)
  t.is(await write(first.phone, '+14155550178', 'Hello, number of the pool'), 204)
  t.deepEqual(await inboundOf(first), ['Hello, pool', 'Hello, number of the pool'])
  t.deepEqual(await inboundOf(second), ['Hello, own'])
  const otherService = { MessagingServiceSid: `MG${'0'.repeat(31)}2` }
  t.is(await write(first.phone, '+14155550179', 'STOP', otherService), 204)
  t.false(await isOptedOut(pooled, first.phone))
  t.is(await write(first.phone, '+14155550177', 'STOP', { MessagingServiceSid: service }), 204)
  t.true(await isOptedOut(pooled, first.phone))
  t.false(await isOptedOut(own, first.phone))
  const third = await submit(pooled)
  await isTexted(third)
  await isTexted(await submit(own, third.phone))
  t.is(await write(third.phone, otherNumber, 'STOP'), 204)
  t.true(await isOptedOut(own, third.phone))
  t.false(await isOptedOut(pooled, third.phone), 'that number is none of the pool')
})

const own = { sender: { from: otherNumber, messages_per_second: null } }

test('a STOP to a sender holds for an account that is opened later, until a START', async (t) => {
  const { following, submit, takenFor, write } = await openTextingStage(t)
  const first = await submit(await following('First Agency'))
  await isTexted(first)
  t.is(await write(first.phone, number, 'STOP'), 204)
  const second = await submit(await following('Second Agency'), first.phone)
  t.deepEqual(await labelsOf(second), ['started', 'filtered'])
  t.true(await isOptedOut(second.account, first.phone))
  const elsewhere = await following('Own Agency')
  await elsewhere.manage('PUT', '/messaging', own)
  await isTexted(await submit(elsewhere, first.phone))
  t.is(takenFor(first.phone).length, 2)
  t.is(await write(first.phone, number, 'START'), 204)
  t.false(await isOptedOut(second.account, first.phone))
  await isTexted(await submit(second.account, first.phone))
  await isTexted(await submit(await following('Third Agency'), first.phone))
})

test('a STOP to a sender holds also for an account whose playbook sends nothing', async (t) => {
  const { following, submit, write } = await openTextingStage(t)
  const first = await submit(await following('First Agency'))
  await isTexted(first)
  t.is(await write(first.phone, number, 'STOP'), 204)
  const second = await submit(await following('Silent Agency', { steps: [] }), first.phone)
  t.deepEqual(await labelsOf(second), ['started', 'filtered'])
  t.true(await isOptedOut(second.account, first.phone))
})

test('a STOP to a sender holds for an account that begins to use it later, and ends its steps', async (t) => {
  const { following, submit, takenFor, write } = await openTextingStage(t, { clockRate: 1_000 })
  const later = { message: 'Are you still interested?', delay_minutes: 60 }
  const { steps } = oneText
  const account = await following('Moving Agency', { steps: [...steps, later] })
  await account.manage('PUT', '/messaging', own)
  const person = await submit(account)
  await isTexted(person)
  t.is(await write(person.phone, number, 'STOP'), 204)
  t.false(await isOptedOut(account, person.phone))
  await account.manage('PUT', '/messaging', { sender: null })
  await soon(() => isOptedOut(account, person.phone))
  await soon(async () => (await labelsOf(person)).includes('filtered'))
  t.is(takenFor(person.phone).length, 1)
})

test('what a member writes goes to nobody who opted out of the sender before the account used it', async (t) => {
  const { following, submit, takenFor, write } = await openTextingStage(t)
  const account = await following('Moving Agency')
  await account.manage('PUT', '/messaging', own)
  const person = await submit(account)
  await isTexted(person)
  t.is(await write(person.phone, number, 'STOP'), 204)
  await account.manage('PUT', '/messaging', { sender: null })
  await account.manage('POST', `/engagements/${person.next_engagement_id}/messages`, { text: 'It is Bob' })
  await soon(async () => (await messagesOf(person)).at(-1)?.state === 'failed')
  t.is((await messagesOf(person)).at(-1)?.reason, 'the contact opted out')
  t.is(takenFor(person.phone).length, 1)
})

test('a YES after a STOP opts in again in every account that shares the sender', async (t) => {
  const { following, submit, write } = await openTextingStage(t)
  const first = await submit(await following('First Agency'))
  await isTexted(first)
  const second = await submit(await following('Second Agency'), first.phone)
  await isTexted(second)
  t.is(await write(first.phone, number, 'Yes'), 204)
  t.deepEqual(await labelsOf(second), ['started', 'interested'])
  t.is(await write(first.phone, number, 'STOP'), 204)
  t.is(await write(first.phone, number, 'Yes!'), 204)
  for (const { account, phone } of [first, second]) t.false(await isOptedOut(account, phone))
})

test('a STOP that comes again after a START is the one that it was, also where another STOP came before it', async (t) => {
  const { following, submit, nextSid, write } = await openTextingStage(t)
  const [account, phone] = [await following('Example Agency'), newPhone()]
  const stops = [{ MessageSid: nextSid() }, { MessageSid: nextSid() }]
  for (const stop of stops) t.is(await write(phone, number, 'STOP', stop), 204)
  t.is(await write(phone, number, 'START'), 204)
  for (const stop of stops) t.is(await write(phone, number, 'STOP', stop), 204)
  await isTexted(await submit(account, phone))
})

for (const word of ['START', 'Yes']) {
  test(`a ${word} that came before a STOP, and comes again after it, takes nothing back`, async (t) => {
    const { following, submit, nextSid, write } = await openTextingStage(t)
    const person = await submit(await following('Example Agency'))
    await isTexted(person)
    const before = { MessageSid: nextSid() }
    t.is(await write(person.phone, number, word, before), 204)
    t.is(await write(person.phone, number, 'STOP'), 204)
    t.is(await write(person.phone, number, word, before), 204)
    t.true(await isOptedOut(person.account, person.phone))
    const later = await submit(await following('Later Agency'), person.phone)
    t.deepEqual(await labelsOf(later), ['started', 'filtered'])
  })
}
