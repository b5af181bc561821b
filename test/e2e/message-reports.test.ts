import test from 'ava'
import { isOptedOut, labelsOf, messagesOf, soon } from '../kit/service/conversation.js'
import { openTextingStage } from '../kit/service/texting-stage.js'
import { number, service } from '../twilio-double/double.js'

const table = [
  { codes: [21610], state: 'failed', labels: ['started', 'opted_out'], isHeld: false },
  { codes: [21211, 21614, 30005, 30006], state: 'failed', labels: ['started', 'undeliverable'], isHeld: false },
  { codes: [30001, 30003, 30008], state: 'waiting', labels: ['started'], isHeld: false },
  { codes: [30007, 30034, 21606, 20003, 30002], state: 'waiting', labels: ['started'], isHeld: true },
] as const

test('what each error code does to a message, its engagement and its sender, and to no other account', async (t) => {
  const { following, submit, takenFor, double } = await openTextingStage(t, { sender: service })
  const isHeldIn = async ({ manage }: Awaited<ReturnType<typeof following>>) => {
    const { text } = await manage('GET', '/messaging')
    return (JSON.parse(text) as { readonly messaging: { readonly held: unknown } }).messaging.held !== null
  }
  const neighbour = await following('Neighbour Agency')
  for (const { codes, state, labels, isHeld } of table) {
    for (const code of codes) {
      const account = await following(`Agency ${code}`)
      const person = await submit(account)
      await soon(async () => (await messagesOf(person))[0]?.state === 'sent')
      const [taken] = takenFor(person.phone)
      t.is(taken && (await double.postStatus(taken, 'undelivered', code)), 204)
      const [message] = await messagesOf(person)
      t.is(message?.state, state, `${code}`)
      t.regex(message?.reason ?? '', new RegExp(`Twilio ${code}`))
      t.deepEqual(await labelsOf(person), labels, `${code}`)
      t.is(await isHeldIn(account), isHeld, `${code}`)
    }
  }
  t.false(await isHeldIn(neighbour))
  const other = await submit(neighbour)
  await soon(() => takenFor(other.phone).length === 1)
})

test('that a number opted out, as a report tells after a sale, counts for its contact and for no other account', async (t) => {
  const { following, submit, takenFor, double } = await openTextingStage(t, { sender: service })
  const [account, neighbour] = [await following('Example Agency'), await following('Neighbour Agency')]
  const person = await submit(account)
  await soon(() => takenFor(person.phone).length === 1)
  await account.record((await account.standardConversions()).sold, { contact_id: person.contact_id })
  const other = await submit(neighbour, person.phone)
  const [taken] = takenFor(person.phone)
  t.is(taken && (await double.postStatus(taken, 'undelivered', 21610)), 204)
  t.true(await isOptedOut(account, person.phone))
  t.deepEqual(await labelsOf(person), ['started', 'sold', 'opted_out'])
  t.deepEqual(await labelsOf(await submit(account, person.phone)), [
    ...['started', 'sold', 'opted_out'],
    ...['started', 'filtered'],
  ])
  t.false(await isOptedOut(neighbour, other.phone))
})

test('that a number opted out, as the provider answers after an opt-in, is told again, and once', async (t) => {
  const { following, submit, takenFor, double, write } = await openTextingStage(t)
  const account = await following('Example Agency')
  await account.manage('PUT', '/messaging', { provider_answers_keywords: false })
  const person = await submit(account)
  await soon(() => takenFor(person.phone).length === 1)
  const [first] = takenFor(person.phone)
  await write(person.phone, number, 'STOP')
  await soon(() => takenFor(person.phone).length === 2)
  await write(person.phone, number, 'START')
  t.is(first && (await double.postStatus(first, 'undelivered', 21610)), 204)
  t.deepEqual(await labelsOf(person), ['started', 'opted_out'], 'a report of a text from before is late')
  t.false(await isOptedOut(account, person.phone))
  double.optOut(person.phone)
  for (const count of [1, 2]) {
    await write(person.phone, number, 'HELP')
    await soon(async () => (await messagesOf(person)).filter(({ state }) => state === 'failed').length === count + 1)
    await soon(() => isOptedOut(account, person.phone))
    t.deepEqual(await labelsOf(person), ['started', 'opted_out', 'opted_out'])
  }
})

test('that a number opted out, as a report tells of a text that was sent after an opt-in, is told again, and once', async (t) => {
  const { following, submit, takenFor, double, write } = await openTextingStage(t)
  const account = await following('Example Agency')
  await account.manage('PUT', '/messaging', { provider_answers_keywords: false })
  const person = await submit(account)
  await soon(() => takenFor(person.phone).length === 1)
  await write(person.phone, number, 'STOP')
  await soon(() => takenFor(person.phone).length === 2)
  await write(person.phone, number, 'START')
  await write(person.phone, number, 'HELP')
  await soon(() => takenFor(person.phone).length === 3)
  const help = takenFor(person.phone)[2]
  for (const _ of [1, 2]) {
    t.is(help && (await double.postStatus(help, 'undelivered', 21610)), 204)
    t.true(await isOptedOut(account, person.phone))
    t.deepEqual(await labelsOf(person), ['started', 'opted_out', 'opted_out'])
  }
})

test('reports that come before the answer, out of order and twice count at once, and the text is not sent again', async (t) => {
  const { following, submit, takenFor, double } = await openTextingStage(t, { sender: service })
  double.fail('late')
  const held = double.held()
  const person = await submit(await following('Example Agency'))
  await held
  const [taken] = takenFor(person.phone)
  if (taken === undefined) return t.fail('the double has no text')
  for (const status of ['delivered', 'sent', 'delivered', 'queued']) {
    t.is(await double.postStatus(taken, status), 204)
    t.is((await messagesOf(person))[0]?.state, 'delivered')
  }
  t.is(await double.postStatus(taken, 'undelivered', 30005), 204)
  t.is((await messagesOf(person))[0]?.state, 'delivered', 'a state never goes back')
  t.deepEqual(await labelsOf(person), ['started'])
  t.is(taken.form.get('MessagingServiceSid'), service)
  t.is(takenFor(person.phone).length, 1)
})
