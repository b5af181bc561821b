import test from 'ava'
import { activityLabels } from '../../domain/activity.js'
import { send } from '../kit/network/http.js'
import { phoneBrowser } from '../kit/network/phone-browser.js'
import { payloadOf, receiverFor } from '../kit/network/receiver.js'
import { isTexted } from '../kit/service/conversation.js'
import { openTextingStage, type Person } from '../kit/service/texting-stage.js'
import { until } from '../kit/time/until.js'
import { number } from '../twilio-double/double.js'

const settings = {
  steps: [{ message: 'This is {{account}}. {{link:https://www.example.com/quote}} Reply STOP.', delay_minutes: 0 }],
  reply_rules: [
    { words: ['how much'], outcome: 'qualified' },
    { words: ['i rent'], outcome: 'unqualified' },
    { words: ['no thanks'], outcome: 'not_interested' },
  ],
}

/** What telephony reports. */
const calls = activityLabels.filter((label) => label.startsWith('phone_call'))

test('each label of the contract has something that fires it, and reaches the webhook (contract 6.4)', async (t) => {
  const { following, submit, takenFor, write, here, double } = await openTextingStage(t, { clockRate: 1_000 })
  const receiver = await receiverFor(t)
  const silent = await following('Silent Agency', { ...settings, give_up_after_minutes: 60 })
  const account = await following('Example Agency', settings)
  for (const { manage } of [silent, account])
    t.is(
      (await manage('POST', '/webhooks', { url: receiver.url, token: 'hook-token', events: activityLabels })).status,
      201,
    )

  const texted = async (): Promise<Person> => {
    const person = await submit(account)
    // A text of somebody to whom no message is shown yet is nobody's.
    await isTexted(person)
    return person
  }
  await submit(silent)
  for (const text of ['How much?', 'I rent', 'No thanks', 'STOP']) {
    const { phone } = await texted()
    t.is(await write(phone, number, text), 204, text)
    if (text === 'STOP') await submit(account, phone)
  }

  const unreachable = await texted()
  const [text] = takenFor(unreachable.phone)
  t.is(text && (await double.postStatus(text, 'undelivered', 30005)), 204)

  const clicking = await texted()
  const [link] = /https:\S+\/l\/\w+/.exec(takenFor(clicking.phone)[0]?.form.get('Body') ?? '') ?? []
  t.is((await send(here(link ?? ''), { headers: { 'user-agent': phoneBrowser } })).status, 302)

  const called = await texted()
  for (const label of calls) t.is((await account.report(called.next_engagement_id, 'event', label)).status, 201, label)

  const { quoted, sold } = await account.standardConversions()
  const renewed = await account.addConversion('Renewed', 100)
  for (const conversion of [quoted, sold, renewed])
    t.is((await account.record(conversion, { contact_id: (await texted()).contact_id })).status, 201)

  const told = (): ReadonlyArray<string> =>
    [...new Set(receiver.requests.map((request) => payloadOf(request).activity?.label ?? 'none'))].toSorted()
  const all = [...activityLabels].toSorted()
  t.deepEqual(await until('all labels', 30_000, told, ({ length }) => length >= all.length), all)
})
