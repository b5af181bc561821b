import test from 'ava'
import { having } from '../kit/network/http.js'
import { openAccount, type Account } from '../kit/service/account.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { newPhone } from '../kit/service/leads.js'
import { until } from '../kit/time/until.js'

const site = serviceForFile()

/** An account, and the month in which its only lead got the first message. */
const texted = async (text: string) => {
  const account = await openAccount(site)
  const steps = [{ message: text, delay_minutes: 0 }]
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, { steps, quiet_hours: null })
  const { contact_id } = await account.submitted({})
  let month = ''
  await until('the first message', 30_000, async () => {
    const [sent] = having(await account.manage('GET', `/contacts/${contact_id}/messages`), 'messages')
    month = String(sent?.['at']).slice(0, 7)
    return sent?.['state'] === 'sent'
  })
  return { account, contact_id, month }
}

const usageOf = async (account: Account, month?: string) =>
  JSON.parse((await account.manage('GET', `/usage${month === undefined ? '' : `?month=${month}`}`)).text) as unknown

test('messages and segments of an account are counted by month, after an erasure too, and those of no other', async (t) => {
  const { account, contact_id, month } = await texted('x'.repeat(200))
  const { account: other } = await texted('Hi')
  const usage = { months: [{ month, messages: 1, segments: 2 }] }
  t.deepEqual(await usageOf(account, month), usage)
  t.deepEqual(await usageOf(other, month), { months: [{ month, messages: 1, segments: 1 }] })
  t.deepEqual(await usageOf(account, '2020-02'), { months: [{ month: '2020-02', messages: 0, segments: 0 }] })
  await account.manage('POST', `/contacts/${contact_id}/messages`, { text: 'Hello' })
  t.deepEqual(await usageOf(account, month), usage, 'what a contact writes is not counted')
  await until('the erasure', 30_000, async () => {
    const { body } = await account.manage('POST', `/contacts/${contact_id}/erase`)
    return body.erased === true
  })
  t.deepEqual(await usageOf(account, month), usage)
})

test('where no month is asked for the last twelve are told, newest first', async (t) => {
  const { account, month } = await texted('x'.repeat(200))
  const { months } = (await usageOf(account)) as {
    readonly months: ReadonlyArray<{ readonly month: string; readonly messages: number; readonly segments: number }>
  }
  t.is(months.length, 12)
  t.deepEqual(
    months.filter(({ messages }) => messages > 0),
    [{ month, messages: 1, segments: 2 }],
  )
  const names = months.map(({ month: name }) => name)
  t.deepEqual(names, [...new Set(names)].toSorted().toReversed())
})

test('a month that is none is refused', async (t) => {
  const account = await openAccount(site)
  for (const month of ['2026-13', '2026', '2026-1', 'x']) {
    const { status, body } = await account.manage('GET', `/usage?month=${month}`)
    t.is(status, 400)
    t.deepEqual(body.errors, ['month must be a month such as 2026-01'])
  }
})

test('what waits for a limit of the month, or for a disabled account, goes on when that is over, hours before it is looked at again', async (t) => {
  const { account, contact_id: first } = await texted('Hi {{first_name}}')
  const sentTo = async (contactId: string): Promise<ReadonlyArray<unknown>> =>
    having(await account.manage('GET', `/contacts/${contactId}/messages`), 'messages')
      .filter(({ state }) => state === 'sent')
      .map(({ text }) => text)
  const sentAtLast = (what: string, contactId: string, ...texts: ReadonlyArray<string>) =>
    until(
      what,
      30_000,
      () => sentTo(contactId),
      (sent) => sent.join() === texts.join(),
    )

  t.is((await account.manage('PUT', '/messaging', { segments_per_month: 1 })).status, 200)
  const { contact_id, next_engagement_id } = await account.submitted({ phone: newPhone() })
  const [followUp] = await until(
    'the step waits',
    30_000,
    async () => having(await account.manage('GET', '/follow_ups'), 'follow_ups'),
    ([newest]) => String(newest?.['next_step_at']) > String(newest?.['started_at']),
  )
  t.is(followUp?.['next_engagement_id'], next_engagement_id)
  t.deepEqual(
    Object.keys(followUp ?? {}).filter((name) => name.startsWith('waits')),
    [],
  )
  t.is((await account.manage('PUT', '/messaging', { segments_per_month: null })).status, 200)
  await sentAtLast('the step', contact_id, 'Hi Ada')

  await account.manage('PATCH', '', { enabled: false })
  t.is((await account.manage('POST', `/engagements/${next_engagement_id}/messages`, { text: 'By hand' })).status, 201)
  await until('what the member wrote waits', 30_000, async () => {
    const shown = having(await account.manage('GET', `/contacts/${contact_id}/messages`), 'messages')
    return shown.some(({ reason }) => reason === 'the account is disabled')
  })
  await account.manage('PATCH', '', { enabled: true })
  await sentAtLast('what the member wrote', contact_id, 'Hi Ada', 'By hand')
  t.deepEqual(await sentTo(first), ['Hi Ada'])
})
