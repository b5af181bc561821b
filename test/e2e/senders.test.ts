import test from 'ava'
import { having } from '../kit/network/http.js'
import { textOf } from '../kit/network/mail-text.js'
import type { Account } from '../kit/service/account.js'
import { inboundOf, isOptedOut, messagesOf, soon } from '../kit/service/conversation.js'
import { openTextingStage } from '../kit/service/texting-stage.js'
import { number, otherNumber } from '../twilio-double/double.js'

const messagingIn = ({ text }: { readonly text: string }) =>
  (JSON.parse(text) as { readonly messaging: Readonly<Record<string, unknown>> }).messaging

test('a sender that a carrier filters is shown and mailed once, holds up no other account, and goes on once a text arrives', async (t) => {
  const { following, submit, takenFor, double, mails } = await openTextingStage(t, { clockRate: 1_000 })
  const [filtered, other] = [await following('Filtered Agency'), await following('Other Agency')]
  for (const account of [filtered, other])
    await account.manage('POST', '/members', { email: 'ada@example.org', role: 'admin' })
  const lead = await submit(filtered)
  await soon(() => takenFor(lead.phone).length === 1)
  const [taken] = takenFor(lead.phone)
  if (taken === undefined) throw new Error('the double has no text')
  t.is(await double.postStatus(taken, 'undelivered', 30007), 204)
  const heldOf = async (account: Account) => messagingIn(await account.manage('GET', '/messaging'))['held']
  const held = { reason: 'the carrier filters this sender (Twilio 30007)' }
  t.like(await heldOf(filtered), held)
  t.is(await heldOf(other), null)
  await filtered.manage('PUT', '/messaging', messagingIn(await filtered.manage('GET', '/messaging')))
  t.like(await heldOf(filtered), held, 'its sender is the one that it was')
  await soon(() => mails().length > 0)
  const neighbour = await submit(other)
  await soon(() => takenFor(neighbour.phone).length === 1)
  await soon(() => takenFor(lead.phone).length === 2)
  const [, again] = takenFor(lead.phone)
  t.is(again && (await double.postStatus(again, 'delivered')), 204)
  t.is(await heldOf(filtered), null)
  t.is(mails().length, 1)
  t.regex(textOf(mails()[0] ?? ''), /^Why: the carrier filters this sender \(Twilio 30007\)$/m)
})

test('an account with a sender of its own sends from it, and a STOP to it concerns no other account', async (t) => {
  const { following, submit, takenFor, write } = await openTextingStage(t, { clockRate: 1_000 })
  const [own, shared] = [await following('Own Agency'), await following('Shared Agency')]
  const sender = { from: otherNumber, messages_per_second: 10 }
  t.is((await own.manage('PUT', '/messaging', { sender })).status, 200)
  const answered = messagingIn(await own.manage('GET', '/messaging'))
  t.is((await own.manage('PUT', '/messaging', answered)).status, 200, 'what was answered can be sent back')
  t.is((await own.manage('PUT', '/messaging', { held: null })).status, 400)
  const first = await submit(own)
  await soon(() => takenFor(first.phone).length === 1)
  const second = await submit(shared, first.phone)
  await soon(() => takenFor(first.phone).length === 2)
  t.deepEqual(
    takenFor(first.phone).map(({ form }) => form.get('From')),
    [otherNumber, number],
  )
  t.is(await write(first.phone, otherNumber, 'Who is this?'), 204)
  t.deepEqual(await inboundOf(first), ['Who is this?'], 'though the other account wrote later')
  t.deepEqual(await inboundOf(second), [])
  t.is(await write(first.phone, otherNumber, 'STOP'), 204)
  t.true(await isOptedOut(own, first.phone))
  t.false(await isOptedOut(shared, first.phone))
  t.is((await own.manage('PUT', '/messaging', { sender: null })).status, 200)
  const third = await submit(own)
  await soon(() => takenFor(third.phone).length === 1)
  t.is(takenFor(third.phone)[0]?.form.get('From'), number)
})

test('a STOP to the sender that an account had before still counts for it', async (t) => {
  const { following, submit, takenFor, write } = await openTextingStage(t, { clockRate: 1_000 })
  const account = await following('Moving Agency')
  const { phone, contact_id } = await submit(account)
  await soon(async () => {
    const [sent] = having(await account.manage('GET', `/contacts/${contact_id}/messages`), 'messages')
    return takenFor(phone).length === 1 && sent?.['state'] === 'sent'
  })
  await account.manage('PUT', '/messaging', { sender: { from: otherNumber, messages_per_second: null } })
  t.is(await write(phone, number, 'STOP'), 204)
  t.true(await isOptedOut(account, phone))
})

test('a late report of the sender that an account had before neither holds nor releases the one that it has now', async (t) => {
  const { following, submit, takenFor, double, mails } = await openTextingStage(t, { clockRate: 1_000 })
  const account = await following('Moving Agency')
  await account.manage('POST', '/members', { email: 'ada@example.org', role: 'admin' })
  const setSender = (from: string | undefined) =>
    account.manage('PUT', '/messaging', { sender: from === undefined ? null : { from, messages_per_second: null } })
  const held = async () => messagingIn(await account.manage('GET', '/messaging'))['held']
  const textTo = async () => {
    const { phone } = await submit(account)
    await soon(() => takenFor(phone).length === 1)
    const [taken] = takenFor(phone)
    if (taken === undefined) throw new Error('the double has no text')
    return taken
  }
  await setSender(otherNumber)
  const [filtered, arrived] = [await textTo(), await textTo()]
  await setSender(undefined)
  t.is(await double.postStatus(filtered, 'undelivered', 30007), 204)
  t.is(await held(), null)
  t.is(await double.postStatus(await textTo(), 'undelivered', 30007), 204)
  t.like(await held(), { reason: 'the carrier filters this sender (Twilio 30007)' })
  t.is(await double.postStatus(arrived, 'delivered'), 204)
  t.like(await held(), { reason: 'the carrier filters this sender (Twilio 30007)' })
  await soon(() => mails().length > 0)
  t.is(mails().length, 1)
})

test('trouble of the sender that an account had before holds up nothing of the one that it takes', async (t) => {
  const { following, submit, takenFor, double } = await openTextingStage(t, { clockRate: 1_000 })
  const account = await following('Moving Agency')
  const held = async () => messagingIn(await account.manage('GET', '/messaging'))['held']
  const filtered = await submit(account)
  await soon(() => takenFor(filtered.phone).length === 1)
  const [taken] = takenFor(filtered.phone)
  t.is(taken && (await double.postStatus(taken, 'undelivered', 30007)), 204)
  t.like(await held(), { reason: 'the carrier filters this sender (Twilio 30007)' })
  await account.manage('PUT', '/messaging', { sender: { from: otherNumber, messages_per_second: null } })
  t.is(await held(), null)
  const { phone } = await submit(account)
  await soon(() => takenFor(phone).length === 1)
  t.is(takenFor(phone)[0]?.form.get('From'), otherNumber)
})

test('the provider answers STOP by itself, unless the account says that it does not', async (t) => {
  // By a clock that is faster the five minutes of a confirmation would be over in a moment.
  const { following, submit, takenFor, write } = await openTextingStage(t)
  const [silent, loud] = [await submit(await following('Silent Agency')), await submit(await following('Loud Agency'))]
  for (const { phone } of [silent, loud]) await soon(() => takenFor(phone).length === 1)
  await loud.account.manage('PUT', '/messaging', { provider_answers_keywords: false })
  for (const { phone } of [silent, loud]) t.is(await write(phone, number, 'STOP'), 204)
  await soon(() => takenFor(loud.phone).length === 2)
  t.regex(takenFor(loud.phone)[1]?.form.get('Body') ?? '', /no more messages from Loud Agency/)
  const directions = (await messagesOf(silent)).map(({ direction }) => direction)
  t.deepEqual(directions, ['outbound', 'inbound'])
})

test('a sender without a rate sends as fast as the provider takes it', async (t) => {
  const { following } = await openTextingStage(t, { clockRate: 1_000 })
  const account = await following('Example Agency')
  for (const sender of [{ from: otherNumber }, { from: number, messages_per_second: 10 }, { from: number }]) {
    const changed = await account.manage('PUT', '/messaging', { sender })
    t.like(messagingIn(changed), { sender: { messages_per_second: null, ...sender } })
  }
})

test('a sender or a limit that is none is refused, and the field is named', async (t) => {
  const { following } = await openTextingStage(t, { clockRate: 1_000 })
  const account = await following('Example Agency')
  for (const [body, message] of [
    [{ sender: { from: '415', messages_per_second: null } }, /^sender\.from must be a number such as/],
    [{ sender: { from: number, messages_per_second: 0 } }, /^sender\.messages_per_second must be/],
    [{ segments_per_month: -1 }, /^segments_per_month must be/],
  ] as const) {
    const { status, body: answer } = await account.manage('PUT', '/messaging', body)
    t.is(status, 400)
    t.regex(String((answer.errors as ReadonlyArray<string>)[0]), message)
  }
  const limited = await account.manage('PUT', '/messaging', { segments_per_month: 1_000 })
  t.like(messagingIn(limited), { segments_per_month: 1_000, sender: null })
})
