import test from 'ava'
import { having } from '../kit/network/http.js'
import { payloadOf, receiverFor, type Receiver } from '../kit/network/receiver.js'
import type { Account } from '../kit/service/account.js'
import { isTexted } from '../kit/service/conversation.js'
import { openTextingStage, type Person } from '../kit/service/texting-stage.js'
import { californianTime } from '../kit/time/wall-clock.js'
import { until } from '../kit/time/until.js'
import { number } from '../twilio-double/double.js'

const hour = 60 * 60_000

const hello = { message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 }
const stepsEvery = (delay_minutes: number) => [
  hello,
  { message: 'Still there, {{first_name}}?', delay_minutes },
  { message: 'Goodbye, {{first_name}}.', delay_minutes },
]

/** Nothing but what a contact does ends a conversation within a test. */
const lively = {
  steps: stepsEvery(50_000),
  reply_rules: [{ words: ['no thanks'], outcome: 'not_interested' }],
  give_up_after_minutes: 500_000,
}

/**
 * Its labels by conversation, each in the order of their times, as the webhook of an account was told them, once or
 * again.
 */
const toldTo = (receiver: Receiver, account: Account): Readonly<Record<string, ReadonlyArray<string>>> => {
  const activities = receiver.requests
    .filter(({ path }) => path.endsWith(account.id))
    .flatMap((request) => payloadOf(request).activity ?? [])
    .map(({ next_engagement_id, created_at, label }) => `${next_engagement_id} ${created_at} ${label}`)
  const told: Record<string, Array<string>> = {}
  for (const activity of [...new Set(activities)].toSorted()) {
    const [engagement = '', , label = ''] = activity.split(' ')
    told[engagement] = [...(told[engagement] ?? []), label]
  }
  return told
}

test('whatever becomes of a lead, the webhook of its account is told, and that of no other', async (t) => {
  // An hour of the service's clock is a third of a second.
  const { following, submit, takenFor, write } = await openTextingStage(t, { clockRate: 10_000 })
  const receiver = await receiverFor(t)
  const opened = async (title: string, settings: object): Promise<Account> => {
    const account = await following(title, settings)
    const webhook = { url: `${receiver.url}/${account.id}`, token: 'hook-token' }
    t.is((await account.manage('POST', '/webhooks', webhook)).status, 201)
    return account
  }
  const quick = await opened('Quick Agency', { steps: stepsEvery(60), give_up_after_minutes: 60 })
  const [one, other] = [await opened('Lively Agency', lively), await opened('Sharing Agency', lively)]
  const texted = async (account: Account, phone?: string): Promise<Person> => {
    const person = await submit(account, phone)
    await isTexted(person)
    return person
  }
  const expected = new Map<Account, Record<string, ReadonlyArray<string>>>()
  const expect = ({ account, next_engagement_id }: Person, ...labels: ReadonlyArray<string>): void =>
    void expected.set(account, { ...expected.get(account), [next_engagement_id]: labels })

  const silent = await submit(quick)
  expect(silent, 'started', 'dormant')

  const replying = await texted(one)
  t.is(await write(replying.phone, number, 'Who is this?'), 204)
  expect(replying, 'started', 'interested')

  const refusing = await texted(one)
  t.is(await write(refusing.phone, number, 'Ah, no thanks!'), 204)
  expect(refusing, 'started', 'not_interested')

  const buying = await texted(one)
  await one.record((await one.standardConversions()).sold, { contact_id: buying.contact_id })
  expect(buying, 'started', 'sold')

  const stopping = await texted(one)
  const elsewhere = await texted(other, stopping.phone)
  t.is(await write(stopping.phone, number, 'STOP'), 204)
  expect(stopping, 'started', 'opted_out')
  expect(elsewhere, 'started', 'opted_out')
  expect(await submit(one, stopping.phone), 'started', 'filtered')

  const [shown] = having(await quick.manage('POST', `/playbooks/${quick.playbookId}/preview`), 'messages')
  const now = Date.parse(String(shown?.['at']))
  const night = { from: californianTime(now - hour), to: californianTime(now + 12 * hour) }
  const nightly = await opened('Nightly Agency', { steps: [hello], quiet_hours: night, give_up_after_minutes: 60 })
  const sleeping = await submit(nightly, '+14155550142')
  expect(sleeping, 'started', 'dormant')

  for (const [account, labels] of expected) {
    const count = Object.values(labels).flat().length
    const told = () => toldTo(receiver, account)
    t.deepEqual(await until('the activities', 60_000, told, (all) => Object.values(all).flat().length >= count), labels)
  }
  const textsTo = ({ phone }: Person) => takenFor(phone).map(({ form }) => form.get('Body'))
  t.deepEqual(textsTo(silent), [
    'Hi Ada, this is Quick Agency. Reply STOP to opt out.',
    'Still there, Ada?',
    'Goodbye, Ada.',
  ])
  t.deepEqual(
    [replying, refusing, buying].map(textsTo),
    Array(3).fill(['Hi Ada, this is Lively Agency. Reply STOP to opt out.']),
  )
  t.is(textsTo(stopping).length, 2)
  const [sent] = having(await nightly.manage('GET', `/contacts/${sleeping.contact_id}/messages`), 'messages')
  t.true(Date.parse(String(sent?.['at'])) >= now + 12 * hour - 60_000)
})
