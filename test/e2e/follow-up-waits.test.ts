import test from 'ava'
import { having } from '../kit/network/http.js'
import { openAccount, type Account } from '../kit/service/account.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { lead } from '../kit/service/leads.js'
import { loggedOf, type LoggedEvent } from '../kit/service/logged-events.js'
import { californianTime } from '../kit/time/wall-clock.js'
import { until } from '../kit/time/until.js'

// A day of the service's clock is 1.7 seconds.
const site = serviceForFile({ clockRate: 50_000 })

const minute = 60_000
const day = 24 * 60 * minute

const hello = { message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 }
const again = { message: 'Still there?', delay_minutes: 30 }

const following = async (changed: object): Promise<Account> => {
  const account = await openAccount(site)
  const settings = { steps: [hello, again], reply_rules: [], quiet_hours: null, give_up_after_minutes: 100_000 }
  having(await account.manage('PATCH', `/playbooks/${account.playbookId}`, { ...settings, ...changed }), 'playbook')
  return account
}

type Message = { readonly at: number }

/** Of a contact, once there are `count`; `at` in milliseconds. */
const messagesOf = async (account: Account, contactId: string, count: number): Promise<ReadonlyArray<Message>> => {
  let messages: ReadonlyArray<Message> = []
  await until(`${count} messages`, 60_000, async () => {
    const shown = having(await account.manage('GET', `/contacts/${contactId}/messages`), 'messages')
    messages = shown.map(({ at }) => ({ at: Date.parse(String(at)) }))
    return messages.length >= count
  })
  return messages
}

/**
 * From the first event of this type on to the first step that was begun after it, as the log has them, whatever the
 * clocks say.
 */
const heldBy = async (engagementId: string, type: string) => {
  let held: readonly [LoggedEvent, LoggedEvent] | undefined
  await until(`a step after ${type}`, 60_000, async () => {
    const events = await loggedOf(site, engagementId)
    const from = events.findIndex((event) => event.type === type)
    const [hold, step] = [events[from], events.slice(from).find((event) => event.type === 'StepBegun')]
    held = from === -1 || hold === undefined || step === undefined ? undefined : [hold, step]
    return held !== undefined
  })
  if (held === undefined) throw new Error('nothing was held')
  const [hold, step] = held
  return { hold, begunAt: Date.parse(step.at) }
}

/** For seven weeks, so that some are left whenever something comes in between. */
const daily = { steps: [hello, ...Array.from({ length: 49 }, () => ({ ...again, delay_minutes: 24 * 60 }))] }

test('where a member who took over forgets it, the playbook goes on after seven days', async (t) => {
  const account = await following(daily)
  const { contact_id, next_engagement_id } = await account.submitted(lead())
  const [first] = await messagesOf(account, contact_id, 1)
  t.is((await account.manage('POST', `/engagements/${next_engagement_id}/pause`)).status, 200)
  const { hold, begunAt } = await heldBy(next_engagement_id, 'EngagementPaused')
  const heldUntil = Date.parse(String(hold.data['until']))
  t.true(heldUntil - (first?.at ?? Number.NaN) >= 7 * day)
  t.true(begunAt >= heldUntil)
})

test('a reply holds the steps back for a day, after which the playbook goes on', async (t) => {
  const account = await following(daily)
  const { contact_id, next_engagement_id } = await account.submitted(lead())
  const [first] = await messagesOf(account, contact_id, 1)
  t.is((await account.manage('POST', `/contacts/${contact_id}/messages`, { text: 'Who is this?' })).status, 201)
  const { hold, begunAt } = await heldBy(next_engagement_id, 'ContactReplied')
  const heldUntil = Date.parse(String(hold.data['paused_until']))
  t.true(heldUntil - (first?.at ?? Number.NaN) >= day)
  t.true(begunAt >= heldUntil)
})

test('a step that falls into the night of the contact waits for its morning', async (t) => {
  const account = await following({})
  const [shown] = having(await account.manage('POST', `/playbooks/${account.playbookId}/preview`), 'messages')
  const from = Date.parse(String(shown?.['at'])) + 6 * 60 * minute
  const quiet_hours = { from: californianTime(from), to: californianTime(from + 14 * 60 * minute) }
  // It is due in the middle of the night.
  const steps = [hello, { ...again, delay_minutes: 13 * 60 }]
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, { quiet_hours, steps })
  const fields = { phone: '+14155550142', current_residence_state: 'CA', current_residence_zip: '94110' }
  const { contact_id } = await account.submitted(lead(fields))
  const [, second] = await messagesOf(account, contact_id, 2)
  t.true((second?.at ?? 0) >= from + 14 * 60 * minute - minute)
})
