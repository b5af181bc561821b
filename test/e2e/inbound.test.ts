import test from 'ava'
import { inboundOf, isOptedOut, isTexted, labelsOf, messagesOf, soon } from '../kit/service/conversation.js'
import { openTextingStage, type Person } from '../kit/service/texting-stage.js'
import { newPhone } from '../kit/service/leads.js'
import { number, otherNumber } from '../twilio-double/double.js'

const yes = { reply_rules: [{ words: ['yes'], outcome: 'qualified' }] }

test('a YES that the provider marks as START is what it says where nobody opted out, and else opts in again', async (t) => {
  const { following, submit, write } = await openTextingStage(t)
  const [account, ruled] = [await following('Example Agency'), await following('Ruled Agency', yes)]
  for (const [person, label] of [
    [await submit(account), 'interested'],
    [await submit(ruled), 'qualified'],
  ] as const) {
    await isTexted(person)
    t.is(await write(person.phone, number, 'Yes', { OptOutType: 'START' }), 204)
    t.deepEqual(await inboundOf(person), ['Yes'])
    t.true((await labelsOf(person)).includes(label))
    t.is(await write(person.phone, number, 'STOP', { OptOutType: 'STOP' }), 204)
    t.true(await isOptedOut(person.account, person.phone))
    t.is(await write(person.phone, number, 'Yes', { OptOutType: 'START' }), 204)
    t.false(await isOptedOut(person.account, person.phone))
  }
})

test('a text with a NUL is heard as the provider signed it, and shown with U+FFFD in its stead', async (t) => {
  const { following, submit, write } = await openTextingStage(t)
  const person = await submit(await following('Example Agency'))
  await isTexted(person)
  t.is(await write(person.phone, number, 'How\0much?'), 204)
  t.deepEqual(await inboundOf(person), ['How\ufffdmuch?'])
})

test('what the provider marks as HELP is no reply, and is answered by the provider alone', async (t) => {
  const { following, submit, write } = await openTextingStage(t)
  const person = await submit(await following('Example Agency'))
  await isTexted(person)
  t.is(await write(person.phone, number, 'Ayuda', { OptOutType: 'HELP' }), 204)
  t.deepEqual(await labelsOf(person), ['started'])
  t.deepEqual(
    (await messagesOf(person)).map(({ direction }) => direction),
    ['outbound', 'inbound'],
  )
})

test('a reply answers the conversation whose message went out, not one whose message was refused', async (t) => {
  const { double, following, submit, write } = await openTextingStage(t)
  const account = await following('Example Agency')
  const first = await submit(account)
  await isTexted(first)
  double.fail({ status: 400, code: 21617 })
  const second = await submit(account, first.phone)
  await soon(async () => (await messagesOf(first)).some(({ state }) => state === 'failed'))
  t.is((await messagesOf(first)).find(({ state }) => state === 'failed')?.next_engagement_id, second.next_engagement_id)
  t.is(await write(first.phone, number, 'Who is this?'), 204)
  const reply = (await messagesOf(first)).find(({ direction }) => direction === 'inbound')
  t.is(reply?.next_engagement_id, first.next_engagement_id)
})

test('a reply is heard though the provider has reported that the message did not arrive', async (t) => {
  const { double, following, submit, takenFor, write } = await openTextingStage(t)
  const account = await following('Example Agency')
  for (const code of [30008, 30003, 30007]) {
    const person = await submit(account)
    await isTexted(person)
    const [text] = takenFor(person.phone)
    t.true(text !== undefined && (await double.postStatus(text, 'undelivered', code)) < 300)
    t.is(await write(person.phone, number, 'Call me at 5'), 204)
    t.deepEqual(await inboundOf(person), ['Call me at 5'], String(code))
    t.true((await labelsOf(person)).includes('interested'))
    await account.manage('PUT', '/messaging', { sender: null })
  }
})

test('of the accounts that share a sender a reply is for the one whose message arrived, before one whose message did not', async (t) => {
  const { double, following, submit, takenFor, write } = await openTextingStage(t)
  const arrived = await submit(await following('First Agency'))
  await isTexted(arrived)
  const other = await submit(await following('Second Agency'), arrived.phone)
  await isTexted(other)
  const text = takenFor(arrived.phone)[1]
  t.true(text !== undefined && (await double.postStatus(text, 'undelivered', 30008)) < 300)
  t.is(await write(arrived.phone, number, 'Who is this?'), 204)
  t.deepEqual(await inboundOf(arrived), ['Who is this?'])
  t.deepEqual(await inboundOf(other), [])
})

test('a telephone that answers by itself is heard before the provider has said that it took the message', async (t) => {
  const { double, following, submit, write } = await openTextingStage(t)
  const account = await following('Example Agency')
  for (let n = 1; n <= 20; n += 1) {
    const phone = newPhone()
    const [person] = await Promise.all([
      submit(account, phone),
      double.taking().then(() => write(phone, number, 'I am driving')),
    ])
    t.deepEqual(await inboundOf(person), ['I am driving'])
  }
})

const confirmations = async (person: Person): Promise<number> =>
  (await messagesOf(person)).filter(({ purpose }) => purpose === 'confirmation').length

test('an opt-out in words that the provider does not know is confirmed by the service, once; its own keywords are not', async (t) => {
  const { following, submit, takenFor, write } = await openTextingStage(t)
  const rules = { reply_rules: [{ words: ['leave it'], outcome: 'opted_out' }] }
  const account = await following('Example Agency', rules)
  for (const [text, confirmed] of [
    ['stop texting me', 1],
    ['opt out', 1],
    ['ALTO', 1],
    ['Leave it', 1],
    ['Please stop', 1],
    ['STOP - Bob', 1],
    [' stop\n', 0],
    ['OPTOUT', 0],
  ] as const) {
    const person = await submit(account)
    await isTexted(person)
    t.is(await write(person.phone, number, text), 204)
    t.is(await write(person.phone, number, text), 204)
    t.true(await isOptedOut(account, person.phone))
    t.is(await confirmations(person), confirmed, text)
    await soon(() => takenFor(person.phone).length === 1 + confirmed)
  }
})

test('a thumb up on a message that says how to stop is a reply', async (t) => {
  const { following, submit, write } = await openTextingStage(t)
  const text = 'Hi, this is Example Agency. Reply STOP to get no more messages.'
  const account = await following('Example Agency', { steps: [{ message: text, delay_minutes: 0 }] })
  const person = await submit(account)
  await isTexted(person)
  t.is(await write(person.phone, number, `Liked “${text}”`), 204)
  t.false(await isOptedOut(account, person.phone))
  t.deepEqual(await labelsOf(person), ['started', 'interested'])
})

test('what a request says for a contact it says to the sender: a STOP and a YES count in all of its accounts', async (t) => {
  const { following, submit, takenFor } = await openTextingStage(t)
  const [first, second, elsewhere] = [
    await following('First Agency'),
    await following('Second Agency'),
    await following('Own Agency'),
  ]
  await elsewhere.manage('PUT', '/messaging', { sender: { from: otherNumber, messages_per_second: null } })
  const person = await submit(first)
  const { phone } = person
  await isTexted(person)
  const other = await submit(second, phone)
  await isTexted(other)
  await isTexted(await submit(elsewhere, phone))
  const write = (text: string, key: string) =>
    first.manage('POST', `/contacts/${person.contact_id}/messages`, { text }, { 'idempotency-key': key })
  t.is((await write('Who is this?', 'a question')).status, 201)
  t.deepEqual(await inboundOf(other), [], 'a reply is for the account alone')
  t.is((await write('STOP', 'a stop')).status, 201)
  t.deepEqual(await Promise.all([first, second, elsewhere].map((one) => isOptedOut(one, phone))), [true, true, false])
  t.deepEqual(await labelsOf(await submit(await following('Later Agency'), phone)), ['started', 'filtered'])
  await soon(() => takenFor(phone).length === 4)
  t.deepEqual([await confirmations(person), await confirmations(other)], [1, 0])
  t.is((await write('Yes', 'a yes')).status, 201)
  t.deepEqual(await Promise.all([first, second].map((one) => isOptedOut(one, phone))), [false, false])
  t.is((await write('STOP', 'a stop')).status, 200)
  t.deepEqual(await Promise.all([first, second].map((one) => isOptedOut(one, phone))), [false, false], 'a repeat')
})

test('a confirmation of an opt-out that the provider would take only after five minutes is not sent any more', async (t) => {
  // A minute of the service's clock is a tenth of a second.
  const { double, following, submit, takenFor, write } = await openTextingStage(t, { clockRate: 600 })
  const account = await following('Example Agency')
  const person = await submit(account)
  await isTexted(person)
  double.fail({ status: 429, code: 20429, headers: { 'Retry-After': '301' } })
  t.is(await write(person.phone, number, 'stop texting me'), 204)
  await soon(async () =>
    (await messagesOf(person)).some(({ purpose, state }) => purpose === 'confirmation' && state === 'failed'),
  )
  t.is(takenFor(person.phone).length, 1)
})
