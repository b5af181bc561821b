import test from 'ava'
import { having, sendJson, type Answer } from '../kit/network/http.js'
import { idsOf, manage, openAccount, type Account } from '../kit/service/account.js'
import { isTexted, labelsOf, messagesOf, soon, type ShownMessage } from '../kit/service/conversation.js'
import { instantOf, later } from '../../domain/instant.js'
import { nobody } from '../kit/domain/samples.js'
import { lead as wholeLead, newPhone } from '../kit/service/leads.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { loggedOf } from '../kit/service/logged-events.js'

// An hour of the service's clock is a third of a second.
const site = serviceForFile({ clockRate: 10_000 })

const settings = {
  title: 'Two texts',
  steps: [
    { message: 'Hi {{first_name}}, this is {{account}}. Reply STOP to opt out.', delay_minutes: 0 },
    { message: 'Still there, {{first_name}}?', delay_minutes: 300 },
  ],
  reply_rules: [{ words: ['no thanks'], outcome: 'not_interested' }],
  quiet_hours: null,
  give_up_after_minutes: 120,
}

const textsOf = (messages: ReadonlyArray<ShownMessage>) =>
  messages.map(({ direction, text }) => `${direction}: ${text}`)

/** But what answers the contact. */
const sentAfter = (messages: ReadonlyArray<ShownMessage>, instant: string | undefined) =>
  messages.filter(({ direction, purpose, at }) => direction === 'outbound' && purpose === null && at > (instant ?? ''))

type Entry = { readonly kind: string; readonly label: string; readonly at: string }

const timelineOf = async (account: Account, contactId: string): Promise<ReadonlyArray<Entry>> =>
  having(await account.manage('GET', `/contacts/${contactId}/timeline`), 'timeline') as unknown as ReadonlyArray<Entry>

/** The types of a conversation's events, in the order of the log. */
const eventsOf = async (engagementId: string): Promise<ReadonlyArray<string>> =>
  (await loggedOf(site, engagementId)).map(({ type }) => type)

/**
 * Steps that were begun after the first event of this type, whatever the clocks say: an attempt in flight then may end
 * after it.
 */
const begunAfter = async (engagementId: string, type: string): Promise<ReadonlyArray<string>> => {
  const events = await eventsOf(engagementId)
  const first = events.indexOf(type)
  if (first === -1) throw new Error(`${engagementId} has no ${type}`)
  return events.slice(first).filter((one) => one === 'StepBegun')
}

const hello = 'outbound: Hi Ada, this is Example Agency. Reply STOP to opt out.'
const again = 'outbound: Still there, Ada?'

/** Its only source follows leads up with these settings. */
const following = async (changed: object = {}): Promise<Account> => {
  const account = await openAccount(site)
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, { ...settings, ...changed })
  return account
}

const isErased = ({ body }: Answer): boolean => body.erased === true

/** What has to come over the log, and by the clock of the service within seconds of ours. */
const write = (account: Account, contactId: string, text: string) =>
  account.manage('POST', `/contacts/${contactId}/messages`, { text })

const lead = (phone = newPhone()) => ({ first_name: 'Ada', phone })

test('a lead that never answers gets each message in its turn, and is given up', async (t) => {
  const account = await following()
  const { contact_id } = await account.submitted(lead())
  await soon(async () => (await labelsOf({ account, contact_id })).includes('dormant'))
  t.deepEqual(textsOf(await messagesOf({ account, contact_id })), [hello, again])
  t.deepEqual(await labelsOf({ account, contact_id }), ['started', 'dormant'])
})

test('each event of a conversation that falls silent has an id of its own', async (t) => {
  const account = await following()
  const { contact_id, next_engagement_id } = await account.submitted(lead())
  await soon(async () => (await labelsOf({ account, contact_id })).includes('dormant'))
  const events = await loggedOf(site, next_engagement_id)
  t.deepEqual(
    events.filter(({ id }, index) => events.findIndex((other) => other.id === id) !== index),
    [],
  )
})

test('a running engagement keeps the playbook that it started with, and later leads get the new one', async (t) => {
  const account = await following()
  const { contact_id: earlier } = await account.submitted(lead())
  const steps = [{ message: 'Hello {{first_name}}, {{account}} here. Reply STOP to opt out.', delay_minutes: 0 }]
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, { steps })
  const { contact_id: later } = await account.submitted(lead())
  const isGivenUp = async (contactId: string) =>
    (await labelsOf({ account, contact_id: contactId })).includes('dormant')
  await soon(async () => (await isGivenUp(earlier)) && (await isGivenUp(later)))
  t.deepEqual(textsOf(await messagesOf({ account, contact_id: earlier })), [hello, again])
  const changed = 'outbound: Hello Ada, Example Agency here. Reply STOP to opt out.'
  t.deepEqual(textsOf(await messagesOf({ account, contact_id: later })), [changed])
})

test('a reply fires interested and holds the steps back, and a rule tells its outcome', async (t) => {
  const account = await following({ give_up_after_minutes: 100_000 })
  const { contact_id, next_engagement_id } = await account.submitted(lead())
  await soon(async () => (await messagesOf({ account, contact_id })).length >= 1)
  t.is((await write(account, contact_id, 'Who is this?')).status, 201)
  t.deepEqual(await labelsOf({ account, contact_id }), ['started', 'interested'])
  t.is(having(await account.manage('GET', '/follow_ups?state=paused'), 'follow_ups').length, 1)
  t.is((await write(account, contact_id, 'No thanks!')).status, 201)
  t.deepEqual(await labelsOf({ account, contact_id }), ['started', 'interested', 'not_interested'])
  t.deepEqual(await begunAfter(next_engagement_id, 'ContactReplied'), [])
  t.is((await write(account, contact_id, 'Really')).status, 201)
  t.deepEqual((await labelsOf({ account, contact_id })).length, 3, 'after an outcome a text fires nothing')
})

test('a step whose message is blank is skipped, and the list says so', async (t) => {
  const steps = [{ message: '{{last_name}}', delay_minutes: 0 }, ...settings.steps]
  const account = await following({ steps, required_fields: ['first_name'], give_up_after_minutes: 100_000 })
  const { contact_id } = await account.submitted({ ...lead(), last_name: '' })
  await soon(async () => (await messagesOf({ account, contact_id })).length === 2)
  t.deepEqual(textsOf(await messagesOf({ account, contact_id })), [hello, again])
  const { body } = await account.manage('GET', '/follow_ups')
  const [shown] = (body as { readonly follow_ups: ReadonlyArray<{ readonly [name: string]: unknown }> }).follow_ups
  t.deepEqual(shown?.['steps_skipped'], [{ step: 0, reason: 'the message is blank' }])
})

test('STOP opts out at once, of all that is open, and a later lead of the number gets nothing', async (t) => {
  const account = await following()
  const phone = newPhone()
  const { contact_id, next_engagement_id: open } = await account.submitted(lead(phone))
  await soon(async () => (await messagesOf({ account, contact_id })).length >= 1)
  await write(account, contact_id, 'Stop.')
  t.true(having(await account.find(phone), 'contact').opted_out)
  const { next_engagement_id: later } = await account.submitted(lead(phone))
  t.deepEqual(await labelsOf({ account, contact_id }), ['started', 'opted_out', 'started', 'filtered'])
  const other = await following()
  const { contact_id: elsewhere } = await other.submitted(lead(phone))
  await soon(async () => (await labelsOf({ account: other, contact_id: elsewhere })).includes('dormant'))
  t.deepEqual(await begunAfter(open, 'EngagementEnded'), [])
  t.false((await eventsOf(later)).includes('StepBegun'))
})

test('who writes START after a STOP is written to again', async (t) => {
  const account = await following()
  const phone = newPhone()
  const { contact_id } = await account.submitted(lead(phone))
  await soon(async () => (await messagesOf({ account, contact_id })).length >= 1)
  await write(account, contact_id, 'STOP')
  await write(account, contact_id, 'start')
  t.false(having(await account.find(phone), 'contact').opted_out)
  const { next_engagement_id } = await account.submitted(lead(phone))
  await soon(async () => {
    const messages = having(await account.manage('GET', `/contacts/${contact_id}/messages`), 'messages')
    return messages.some((message) => message['next_engagement_id'] === next_engagement_id)
  })
})

test('a sale between two steps ends the conversation', async (t) => {
  const account = await following()
  const { contact_id, next_engagement_id } = await account.submitted(lead())
  const silent = await account.submitted(lead())
  await isTexted({ account, contact_id })
  await account.record((await account.standardConversions()).sold, { contact_id })
  const when201 = await eventsOf(next_engagement_id)
  t.true(when201.includes('EngagementEnded'))
  await soon(async () => (await labelsOf({ account, contact_id: silent.contact_id })).includes('dormant'))
  // Whatever the clocks say: an attempt that was in flight when the sale came in may end after it.
  t.deepEqual(await eventsOf(next_engagement_id), when201, 'no step was begun any more')
})

test('of two leads of one contact only the newest is followed up', async (t) => {
  const account = await following()
  const phone = newPhone()
  const { contact_id, next_engagement_id: older } = await account.submitted(lead(phone))
  await account.submitted(lead(phone))
  await soon(async () => (await labelsOf({ account, contact_id })).filter((label) => label === 'dormant').length === 2)
  const second = (await timelineOf(account, contact_id)).filter(({ kind }) => kind === 'lead').at(-1)
  const later = sentAfter(await messagesOf({ account, contact_id }), second?.at)
  // The first message of the older one may have been on its way.
  const ofOlder = later.filter(({ next_engagement_id, step }) => next_engagement_id === older && step === 1)
  t.deepEqual(ofOlder, [])
  t.true(textsOf(later).includes(again))
})

test('a member who takes over is not interrupted, until the engagement is resumed', async (t) => {
  const account = await following({
    steps: [settings.steps[0], { message: 'Still there, {{first_name}}?', delay_minutes: 2_000 }],
  })
  const { contact_id, next_engagement_id } = await account.submitted(lead())
  await soon(async () => (await messagesOf({ account, contact_id })).length >= 1)
  t.is((await account.manage('POST', `/engagements/${next_engagement_id}/pause`)).status, 200)
  const paused = await account.manage('GET', '/follow_ups?state=paused')
  const [shown] = (paused.body as { readonly follow_ups: ReadonlyArray<{ readonly [name: string]: unknown }> })
    .follow_ups
  t.truthy(shown?.['paused_until'])
  t.is(shown?.['next_step_at'], shown?.['paused_until'])
  t.false('taken_over_until' in (shown ?? {}), 'what the list is made of')
  const other = await following()
  t.is((await other.manage('POST', `/engagements/${next_engagement_id}/resume`)).status, 404)
  t.is((await account.manage('POST', `/engagements/${next_engagement_id}/resume`)).status, 200)
  await soon(async () => (await messagesOf({ account, contact_id })).length === 2)
  t.is((await write(other, contact_id, 'Hello')).status, 404)
})

test('what is followed up can be listed by playbook and state, and no other account sees it', async (t) => {
  const account = await following({ give_up_after_minutes: 100_000 })
  const { id: second } = having(
    await account.manage('POST', '/playbooks', { ...settings, title: 'Second' }),
    'playbook',
  )
  const { id: unused } = having(await account.manage('POST', '/playbooks', { title: 'Unused' }), 'playbook')
  const { postUrl } = await account.addSource({ playbook_id: second })
  const first = await account.submitted(lead())
  const elsewhere = idsOf(await sendJson(postUrl, 'POST', wholeLead(lead())))
  const listed = async (query: string): Promise<ReadonlyArray<unknown>> => {
    const rows = having(await account.manage('GET', `/follow_ups?${query}`), 'follow_ups')
    return (rows as unknown as ReadonlyArray<ShownMessage>).map(({ next_engagement_id }) => next_engagement_id)
  }
  t.deepEqual(await listed(`playbook_id=${account.playbookId}`), [first.next_engagement_id])
  t.deepEqual(await listed(`playbook_id=${second}`), [elsewhere.next_engagement_id])
  t.deepEqual(await listed(`playbook_id=${unused}`), [])
  t.is((await account.manage('POST', `/engagements/${first.next_engagement_id}/pause`)).status, 200)
  t.deepEqual(await listed(`playbook_id=${account.playbookId}&state=paused`), [first.next_engagement_id])
  t.deepEqual(await listed(`playbook_id=${second}&state=paused`), [])
  const other = await following()
  t.is((await other.manage('GET', `/follow_ups?playbook_id=${account.playbookId}`)).status, 404)
  t.is((await account.manage('GET', `/follow_ups?playbook_id=${nobody('ply')}`)).status, 404)
  const malformed = await account.manage('GET', '/follow_ups?playbook_id=first')
  t.is(malformed.status, 400)
  t.deepEqual(malformed.body, { errors: ['playbook_id must be a playbook id'] })
})

test('a call that was scheduled holds the steps back whatever is reported of calls before, until a member resumes', async (t) => {
  const account = await following()
  const { contact_id, next_engagement_id } = await account.submitted(lead())
  await soon(async () => (await messagesOf({ account, contact_id })).length >= 1)
  const properties = { at: later(instantOf(Date.now()), 300 * 24 * 60 * 60_000) }
  t.is((await account.report(next_engagement_id, 'event', 'phone_call_scheduled', { properties })).status, 201)
  await account.report(next_engagement_id, 'event', 'phone_call_missed')
  const { length } = await messagesOf({ account, contact_id })
  const witness = await account.submitted(lead())
  await soon(async () => (await labelsOf({ account, contact_id: witness.contact_id })).includes('dormant'))
  t.is((await messagesOf({ account, contact_id })).length, length)
  t.is((await account.manage('POST', `/engagements/${next_engagement_id}/resume`)).status, 200)
  await soon(async () => (await labelsOf({ account, contact_id })).includes('dormant'))
  t.deepEqual(textsOf(await messagesOf({ account, contact_id })), [hello, again])
})

test('a call that is scheduled for what is no time is refused, and nothing is recorded', async (t) => {
  const account = await following()
  const { contact_id, next_engagement_id } = await account.submitted(lead())
  const schedule = (at: unknown) =>
    account.report(next_engagement_id, 'event', 'phone_call_scheduled', { properties: { at } })
  for (const at of ['tomorrow', 5, '']) {
    const { status, body } = await schedule(at)
    t.is(status, 400)
    t.deepEqual(body, { errors: ['properties.at must be an ISO 8601 timestamp'] })
  }
  for (const at of ['2099-01-01T10:00:00Z', '9999-12-31T23:59:59Z'])
    t.deepEqual((await schedule(at)).body, { errors: ['properties.at must be at most a year from now'] })
  t.false((await labelsOf({ account, contact_id })).includes('phone_call_scheduled'))
  t.is((await schedule(null)).status, 201)
})

test('nothing is sent while the account is disabled', async (t) => {
  const account = await following()
  const silent = await following()
  const { contact_id } = await account.submitted(lead())
  await soon(async () => (await messagesOf({ account, contact_id })).length >= 1)
  await account.manage('PATCH', '', { enabled: false })
  const { length } = await messagesOf({ account, contact_id })
  const { contact_id: witness } = await silent.submitted(lead())
  await soon(async () => (await labelsOf({ account: silent, contact_id: witness })).includes('dormant'))
  t.is((await messagesOf({ account, contact_id })).length, length)
  await account.manage('PATCH', '', { enabled: true })
  await soon(async () => (await messagesOf({ account, contact_id })).length === 2)
})

test('a source that is suspended takes no new lead, and those that came before are followed up as if it were not', async (t) => {
  const account = await following()
  const { contact_id } = await account.submitted(lead())
  const suspended = await account.manage('PATCH', `/marketing_sources/${account.sourceId}`, { suspended: true })
  t.is(suspended.status, 200)
  t.is((await account.submit(lead())).status, 403)
  await soon(async () => (await labelsOf({ account, contact_id })).includes('dormant'))
  t.deepEqual(textsOf(await messagesOf({ account, contact_id })), [hello, again])
})

test('who is erased leaves no text behind, and is written to no more', async (t) => {
  const account = await following({ give_up_after_minutes: 100_000 })
  const { contact_id } = await account.submitted(lead())
  await soon(async () => (await messagesOf({ account, contact_id })).length === 2)
  await write(account, contact_id, 'My secret')
  await soon(async () => isErased(await account.manage('POST', `/contacts/${contact_id}/erase`)))
  const shown = await account.manage('GET', '/follow_ups?state=ended')
  t.is(having(shown, 'follow_ups').length, 0)
  t.is((await account.manage('GET', `/contacts/${contact_id}/messages`)).status, 404)
  const events = await manage(site, 'GET', `/events?account=${account.id}&personal=true`)
  t.regex(events.text, /MessageErased/)
  t.notRegex(events.text, /My secret|outbound: /)
})
