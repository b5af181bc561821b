import { type Answer, having } from '../../kit/network/http.js'
import { lead, newPhone, type Fields } from '../../kit/service/leads.js'
import { idsOf, openAccount, type Account, type SubmittedIds } from '../../kit/service/account.js'
import { nobody } from '../../kit/domain/samples.js'
import { json } from '../../kit/network/http.js'
import { callsOf, delivering, inWords, listing, type Calls, type Stage } from './stage.js'

type Hooks = { readonly agent: string; readonly flat: string; readonly boats: string }

type Loop = {
  readonly calls: Calls
  readonly account: Account
  readonly hooks: Hooks
  readonly boats: string
  readonly delivered: (more: number) => Promise<void>
}

const playWebhooks = async ({ receiver }: Stage, calls: Calls, boats: string): Promise<Hooks> => {
  const added = async (name: keyof Hooks, fields: Fields): Promise<string> => {
    const asked = { url: `${receiver.url}/${name}`, token: `hook-token-${name}`, ...fields }
    return having(await calls.manage(`the webhook ${name}`, 'POST', '/webhooks', asked), 'webhook').id
  }
  await calls.manage('no webhooks', 'GET', '/webhooks')
  const hooks = {
    agent: await added('agent', {}),
    flat: await added('flat', { format: 'flat', events: [] }),
    boats: await added('boats', { events: ['custom_conversion', 'started', 'started'], playbook_id: boats }),
  }
  for (const name of ['agent', 'flat', 'boats'] as const) {
    await calls.manage(`a test of ${name}`, 'POST', `/webhooks/${hooks[name]}/test`)
  }
  return hooks
}

/** Webhooks that come and go again: nothing is delivered to them. */
const playSettings = async ({ receiver, answers }: Stage, { manage }: Calls): Promise<void> => {
  const asked = { url: 'http://127.0.0.1:1/hook', token: 'hook-token-zz', events: ['link_clicked'] }
  const { id } = having(await manage('a webhook that leads nowhere', 'POST', '/webhooks', asked), 'webhook')
  const path = `/webhooks/${id}`
  await manage('a test that leads nowhere', 'POST', `${path}/test`)
  answers.set('/hook/refusing', 500)
  const changes = [
    { url: `${receiver.url}/refusing`, format: 'flat' },
    { token: 'hook-token-yy', events: ['link_clicked', 'link_clicked', 'dormant'] },
    { format: 'flat' },
    {},
    { url: null, token: null, events: null, format: null },
    { url: 'nowhere' },
    { token: 'a b', events: ['bought'], format: 'xml' },
    { url: 'http://user@127.0.0.1/' },
  ]
  for (const change of changes) await manage(`a webhook changes to ${inWords(change)}`, 'PATCH', path, change)
  await manage('a test that is refused', 'POST', `${path}/test`)
  await manage('a new signing secret', 'POST', `${path}/signing_secret`)
  await manage('one that is on is turned on', 'POST', `${path}/turn_on`, { catch_up: false })
  for (const catch_up of [undefined, null, 'yes', 1]) {
    await manage(`turned on with ${inWords(catch_up)}`, 'POST', `${path}/turn_on`, { catch_up })
  }
  await manage('webhooks', 'GET', '/webhooks')
  await manage('no deliveries', 'GET', `${path}/deliveries?state=undelivered`)
  await manage('no resends', 'GET', `${path}/resends`)
  await manage('a webhook is removed', 'DELETE', path)
  for (const [method, below] of [
    ['DELETE', ''],
    ['PATCH', ''],
    ['POST', '/test'],
    ['GET', '/deliveries'],
  ] as const) {
    await manage(`a removed webhook: ${method} ${below}`, method, path + below, method === 'PATCH' ? {} : undefined)
  }
}

/** From a lead to a sale, and on to a contact who wants no more. */
const playActivities = async ({ recorder }: Stage, loop: Loop): Promise<SubmittedIds> => {
  const { calls, account, boats, delivered } = loop
  const { submit, record, manage } = calls
  const report = (name: string, { next_engagement_id }: SubmittedIds, type: string, label: string, more: Fields = {}) =>
    manage(name, 'POST', `/engagements/${next_engagement_id}/activities`, { type, label, ...more })
  const { quoted, sold } = await account.standardConversions()
  const renewed = await account.addConversion('Renewed', 900)
  const { postUrl } = await account.addSource({ title: 'Boats', playbook_id: boats })
  const phone = newPhone()

  const first = idsOf(await submit('a lead', lead({ phone, first_name: 'Zoë', external_id: 'A-1001' })))
  await delivered(2)
  const more = { note: 'By phone', properties: { seconds: 5, "who's": ['é', null] } }
  await report('interested', first, 'event', 'interested', more)
  await delivered(2)
  const { contact_id } = first
  await record('quoted', quoted, { contact_id, custom_value: 5, keep_conversations_open: true })
  await delivered(2)
  await record('sold', sold, { contact_id, custom_value: 129_900, converted_at: '2024-01-15T12:00:00Z' })
  await delivered(2)
  await record('sold again', sold, { contact_id })
  await report('an outcome after the end', first, 'outcome', 'qualified')
  await report('an event after the end', first, 'event', 'phone_call_missed', { note: null, properties: null })
  await delivered(2)

  const boat = lead({ first_name: 'Grace', lead_id: 'B-1' })
  const second = idsOf(await recorder.ask('loop: a lead of another playbook', postUrl, json(boat)))
  await delivered(3)
  await record('a conversion of the account', renewed, { contact_id: second.contact_id })
  await delivered(3)

  const third = idsOf(await submit('a lead that goes', lead()))
  await delivered(2)
  await report('opted out', third, 'outcome', 'opted_out', { note: 'STOP' })
  await delivered(2)
  await report('opted out again', third, 'outcome', 'opted_out')
  await delivered(2)
  await calls.rest('a contact that opted out', `/contacts/${third.contact_id}`)
  const { phone: gone } = having(await account.rest(`/contacts/${third.contact_id}`), 'contact')
  await submit('a lead of a contact that opted out', lead({ phone: gone, first_name: 'Augusta' }))
  await delivered(2)
  return first
}

const events = [
  'interested',
  'phone_call_scheduled',
  'phone_call_started',
  'phone_call_connected',
  'phone_call_rep_attempted',
  'phone_call_transferred',
  'phone_call_transfer_failed',
  'phone_call_completed',
  'phone_call_missed',
  'phone_call_received',
] as const
const outcomes = ['dormant', 'undeliverable', 'qualified', 'not_interested', 'unqualified', 'opted_out'] as const

/** Every label in an account that nobody listens to: what may be reported, and what the service alone fires. */
const playLabels = async ({ main, recorder }: Stage): Promise<void> => {
  const account = await openAccount(main, 'Agency of Labels')
  const { manage, submit } = callsOf(recorder, main, account, 'labels')
  const activities = (ids: SubmittedIds): string => `/engagements/${ids.next_engagement_id}/activities`
  const open = idsOf(await submit('a lead', lead()))
  for (const label of events) await manage(label, 'POST', activities(open), { type: 'event', label, note: label })
  await manage('link_clicked', 'POST', activities(open), { type: 'conversion', label: 'link_clicked' })
  const wrong = [
    { type: 'event', label: 'started' },
    { type: 'outcome', label: 'filtered' },
    { type: 'conversion', label: 'quoted' },
    { type: 'conversion', label: 'sold' },
    { type: 'conversion', label: 'custom_conversion' },
    { type: 'event', label: 'qualified' },
    { type: 'outcome', label: 'interested' },
    { type: 'conversion', label: 'started' },
    {},
    { type: 'call', label: 'rang', note: 5, properties: 'none' },
    { type: 'event', label: 'interested', properties: [1] },
  ]
  for (const body of wrong) await manage(`a report of ${inWords(body)}`, 'POST', activities(open), body)
  for (const label of outcomes) {
    const ids = idsOf(await submit(`a lead that ends with ${label}`, lead()))
    await manage(label, 'POST', activities(ids), { type: 'outcome', label })
    await manage(`${label}, once more`, 'POST', activities(ids), { type: 'outcome', label })
    await manage(`${label}, as the timeline shows it`, 'GET', `/contacts/${ids.contact_id}/timeline`)
  }
}

const playDeliveries = async ({ calls, hooks, delivered }: Loop, { lead_id }: SubmittedIds): Promise<void> => {
  const path = `/webhooks/${hooks.agent}/deliveries`
  const { manage, shown } = calls
  const all = having(await manage('deliveries', 'GET', path), 'deliveries')
  await manage('deliveries of the flat format', 'GET', `/webhooks/${hooks.flat}/deliveries?limit=500`)
  await manage('deliveries of one playbook', 'GET', `/webhooks/${hooks.boats}/deliveries`)
  let cursor = ''
  for (let page = 1; page === 1 || cursor !== ''; page += 1) {
    const answer = await manage(`page ${page} of deliveries`, 'GET', `${path}?limit=5${cursor}`)
    cursor = typeof answer.body.next_cursor === 'string' ? `&cursor=${answer.body.next_cursor}` : ''
  }
  const queries = [
    ...['succeeded', 'undelivered', 'due', 'held', 'failed', 'skipped', 'abandoned'].map((state) => `state=${state}`),
    `lead_id=${lead_id}`,
    `lead_id=${lead_id}&state=succeeded&limit=1`,
    `lead_id=${nobody('led')}`,
    'state=succeeded&limit=2',
    'from=2024-01-01&to=2024-01-02T00:00:00Z',
    'state=succeeded&from=2024-01-01&to=2024-01-02',
    ...['state=open', 'state=', 'lead_id=nct_1', 'from=yesterday', 'to=2024-02-30', 'limit=0', 'cursor=x'],
    'state=x&lead_id=x&from=x&to=x',
  ]
  for (const query of queries) {
    await manage(`deliveries with ${query}`, 'GET', `${path}?${query}`)
  }
  const id = all.at(-1)?.id ?? ''
  await manage('one delivery', 'GET', `${path}/${id}`)
  await manage('a new signing secret for what is delivered', 'POST', `/webhooks/${hooks.agent}/signing_secret`)
  await manage('a new token', 'PATCH', `/webhooks/${hooks.agent}`, { token: 'hook-token-new' })
  await manage('a resend', 'POST', `${path}/${id}/resend`)
  await delivered(1)
  const isResent = ({ body }: Answer): boolean => body.delivery?.['attempts'] === 2
  await shown('what was resent', `${path}/${id}`, isResent)
  for (const other of [nobody('dlv'), 'dlv_1', hooks.agent, '%00']) {
    await manage(`no delivery ${other}`, 'GET', `${path}/${other}`)
    await manage(`no resend of ${other}`, 'POST', `${path}/${other}/resend`)
  }
  await manage('a delivery of another webhook', 'GET', `/webhooks/${hooks.flat}/deliveries/${id}`)
}

const playTimeline = async ({ calls }: Loop, { contact_id }: SubmittedIds): Promise<void> => {
  const path = `/contacts/${contact_id}/timeline`
  const isDone = ({ kind, state }: Readonly<Record<string, unknown>>): boolean =>
    kind !== 'delivery' || state === 'succeeded'
  await calls.shown('a timeline', path, listing('timeline', 18, isDone))
  const first = await calls.manage('the first page of a timeline', 'GET', `${path}?limit=10`)
  await calls.manage('the last page of a timeline', 'GET', `${path}?limit=10&cursor=${first.body.next_cursor ?? ''}`)
  await calls.manage('a timeline with a wrong limit', 'GET', `${path}?limit=-1`)
}

/** The whole loop with webhooks: what they get, and what is shown of it. */
export const playLoop = async (stage: Stage): Promise<void> => {
  const { main, recorder, receiver } = stage
  const account = await openAccount(main, 'Agency of Webhooks')
  const calls = callsOf(recorder, main, account, 'loop')
  const asked = { title: 'Boats', required_fields: ['first_name'] }
  const boats = having(await account.manage('POST', '/playbooks', asked), 'playbook').id
  const hooks = await playWebhooks(stage, calls, boats)
  await playSettings(stage, calls)
  const delivered = delivering(receiver, account, Object.values(hooks))
  const loop: Loop = { calls, account, hooks, boats, delivered }
  const ids = await playActivities(stage, loop)
  await playDeliveries(loop, ids)
  await playTimeline(loop, ids)
  await playLabels(stage)
}
