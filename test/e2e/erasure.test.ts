import test, { type ExecutionContext } from 'ava'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { having, type Answer } from '../kit/network/http.js'
import { runLeadloop } from '../kit/parts/leadloop.js'
import { openAccount } from '../kit/service/account.js'
import { dataDirectory } from '../kit/service/data-directory.js'
import { openService, serviceFor } from '../kit/service/in-process-service.js'
import { lead, newPhone } from '../kit/service/leads.js'
import { operatorKey } from '../kit/service/settings.js'
import { deliveriesOf, subscribed } from '../kit/service/subscription.js'
import { serversOf, settingsOf } from '../kit/stores/servers.js'
import { until } from '../kit/time/until.js'

/** Values of a person that nobody else has. */
const person = (name: string) => ({
  first_name: `${name}-first`,
  last_name: `${name}-last`,
  email: `${name}@person.example`,
  current_residence_address: `${name} street 1`,
  phone: newPhone(),
})

/**
 * What holds a text of all that a service keeps: the files of its folder, and on servers the log of the one, after a
 * scavenge, and the documents of the other.
 */
const holding = async (directory: string, text: string): Promise<ReadonlyArray<string>> => {
  const files = readdirSync(directory).filter((name) => readFileSync(join(directory, name)).includes(text))
  const servers = serversOf(directory)
  if (servers === undefined) return files
  servers.double.scavenge()
  const events = servers.double.log().filter(({ data }) => data.includes(text))
  const documents = await servers.database.holding(text)
  return [...files, ...events.map(({ stream }) => stream), ...documents]
}

/** A service on a folder, with an account that has a receiver, and a lead of a person. */
const openStage = async (t: ExecutionContext) => {
  const directory = dataDirectory(t)
  const site = await serviceFor(t, directory)
  const { account, receiver, webhookId } = await subscribed(t, site)
  const zelda = person('Zelda')
  const submitted = await account.submitted(zelda)
  await receiver.received(1)
  const ask = (contact: string, body: unknown): Promise<Answer> =>
    account.manage('POST', `/contacts/${contact}/erase`, body)
  // On servers beside other tests the first answer may be that it goes on.
  const erase = (contact = submitted.contact_id, body: unknown = {}): Promise<Answer> =>
    until(
      'erased',
      60_000,
      () => ask(contact, body),
      ({ text }) => !text.includes('"pending"'),
    )
  return { directory, site, account, receiver, webhookId, zelda, submitted, erase }
}

test('no byte of an erased person is left in the data folder, and others stay', async (t) => {
  const { directory, account, receiver, zelda, submitted, erase } = await openStage(t)
  const yannick = person('Yannick')
  const other = await account.submitted(yannick)
  await account.report(submitted.next_engagement_id, 'event', 'phone_call_scheduled', { note: 'Zelda, mornings' })
  await receiver.received(3)
  t.not((await holding(directory, 'Zelda')).length, 0)
  const answer = await erase(undefined, { by: 'ticket-4711' })
  t.is(answer.status, 200)
  t.like(answer.body, { erased: true, dropped: [], dropped_count: 0 })
  t.deepEqual(await holding(directory, 'Zelda'), [])
  t.deepEqual(await holding(directory, zelda.phone), [])
  t.is((await account.find(zelda.phone)).status, 404)
  t.is((await account.rest(`/contacts/${submitted.contact_id}`)).status, 404)
  t.is((await account.find(yannick.phone)).status, 200)
  t.is((await account.rest(`/contacts/${other.contact_id}`)).status, 200)
})

test('the answer names the webhooks that were told and the deliveries that are dropped, each time that it is asked', async (t) => {
  const { account, receiver, webhookId, submitted, erase } = await openStage(t)
  receiver.answer(() => 500)
  await account.report(submitted.next_engagement_id, 'event', 'phone_call_scheduled')
  await receiver.received(2)
  const asked = await erase()
  const [waiting] = await deliveriesOf(account, webhookId, '&state=dropped')
  const expected = {
    erased: true,
    // The one that it answered with 500 it may have read.
    webhooks: [{ id: webhookId, deliveries: 2 }],
    webhooks_count: 1,
    dropped: [waiting?.id],
    dropped_count: 1,
  }
  t.deepEqual(asked.body as unknown, expected)
  t.deepEqual((await erase()).body as unknown, expected)
  const resent = await account.manage('POST', `/webhooks/${webhookId}/deliveries/${waiting?.id}/resend`)
  t.is(resent.status, 409)
  t.deepEqual(resent.body as unknown, { errors: ['what was to be posted is erased'] })
})

test('whoever reports something of an erased contact is told that there is none', async (t) => {
  const { account, submitted, erase } = await openStage(t)
  const { sold } = await account.standardConversions()
  await erase()
  t.is((await account.record(sold, { contact_id: submitted.contact_id })).status, 404)
  t.is((await account.report(submitted.next_engagement_id, 'event', 'phone_call_scheduled')).status, 404)
  t.is((await account.report(submitted.next_engagement_id, 'outcome', 'opted_out')).status, 404)
  t.is((await account.manage('GET', `/contacts/${submitted.contact_id}/timeline`)).status, 404)
})

test('a number that comes back is another contact, again and again, and is found under that one', async (t) => {
  const { account, zelda, submitted, erase } = await openStage(t)
  const ids = [submitted.contact_id]
  for (let n = 0; n < 3; n += 1) {
    await erase(ids.at(-1))
    const { contact_id } = await account.submitted({ ...zelda, first_name: `again-${n}` })
    t.false(ids.includes(contact_id))
    ids.push(contact_id)
    const found = having(await account.find(zelda.phone), 'contact')
    t.like(found, { id: contact_id, first_name: `again-${n}`, opted_out: false })
  }
})

test('who opted out is not contacted when they come back after an erasure', async (t) => {
  const { account, receiver, zelda, submitted, erase } = await openStage(t)
  await account.report(submitted.next_engagement_id, 'outcome', 'opted_out')
  await receiver.received(2)
  await erase()
  await account.submitted(zelda)
  t.like(having(await account.find(zelda.phone), 'contact'), { opted_out: true })
  const [, , ...later] = await receiver.received(4)
  t.deepEqual(later.map(({ body }) => /"label":"(\w+)"/.exec(body.toString())?.[1]).toSorted(), ['filtered', 'started'])
})

test('an originator whose lead was erased makes a new lead, and that is repeated as itself', async (t) => {
  const { account, zelda } = await openStage(t)
  const first = await account.submitted({ ...zelda, lead_id: 'crm-1' })
  await account.manage('POST', `/contacts/${first.contact_id}/erase`, {})
  const second = await account.submitted({ ...zelda, lead_id: 'crm-1' })
  t.not(second.lead_id, first.lead_id)
  t.deepEqual(await account.submitted({ ...zelda, lead_id: 'crm-1' }), second)
})

test('a new idempotency key of an originator whose lead was erased makes a new lead, and stands for that', async (t) => {
  const { account, zelda } = await openStage(t)
  const sent = { ...lead(zelda), lead_id: 'crm-2' }
  const first = await account.submit(sent, { 'idempotency-key': 'before' })
  await account.manage('POST', `/contacts/${having(first, 'contact_id')}/erase`, {})
  const second = await account.submit(sent, { 'idempotency-key': 'after' })
  t.is(second.status, 200)
  t.not(having(second, 'lead_id'), having(first, 'lead_id'))
  t.is((await account.rest(`/contacts/${having(second, 'contact_id')}`)).status, 200)
  t.deepEqual((await account.submit(sent, { 'idempotency-key': 'after' })).body, second.body)
  t.deepEqual((await account.submit(sent, { 'idempotency-key': 'before' })).body, first.body)
  t.deepEqual((await account.submit(sent)).body, second.body)
})

test('an idempotency key stands for its lead also when that is erased', async (t) => {
  const { account, zelda } = await openStage(t)
  const key = { 'idempotency-key': 'once' }
  const first = await account.submit(lead(zelda), key)
  await account.manage('POST', `/contacts/${having(first, 'contact_id')}/erase`, {})
  const again = await account.submit(lead(zelda), key)
  t.is(again.status, 200)
  t.deepEqual(again.body, first.body)
})

test('a contact of another account, an unknown one and a name instead of an id are refused', async (t) => {
  const { site, submitted, erase, account } = await openStage(t)
  const stranger = await openAccount(site)
  t.is((await stranger.manage('POST', `/contacts/${submitted.contact_id}/erase`, {})).status, 404)
  t.is((await erase(`nct_${'0'.repeat(26)}`)).status, 404)
  const named = await erase(undefined, { by: 'Ada Lovelace' })
  t.is(named.status, 400)
  t.notRegex(named.text, /Ada/)
  t.is((await account.rest(`/contacts/${submitted.contact_id}`)).status, 200)
})

test('an erased person does not come back with a restart or a rebuild', async (t) => {
  const { directory, site, zelda, account, submitted, erase } = await openStage(t)
  await erase()
  await site.stop()
  const rebuilt = await runLeadloop(['rebuild'], { ...settingsOf(directory), DATA_DIR: directory, PORT: '0' })
  t.is(rebuilt.code, 0, rebuilt.stderr)
  t.deepEqual(await holding(directory, 'Zelda'), [])
  const service = await openService(directory)
  t.teardown(service.stop)
  const find = new URL(`/api/v3/contacts/${submitted.contact_id}`, service.url)
  const answer = await fetch(find, { headers: { authorization: `Bearer ${account.apiKey}` } })
  t.is(answer.status, 404)
  t.deepEqual(await holding(directory, zelda.phone), [])
})

test('leadloop erase calls the service that runs, and is refused without the id of who asks', async (t) => {
  const { directory, site, account, submitted } = await openStage(t)
  const { port } = new URL(site.url)
  const settings = { DATA_DIR: directory, PORT: port, OPERATOR_KEY: operatorKey }
  const leadloop = (...args: ReadonlyArray<string>) => runLeadloop(['erase', ...args], settings)
  const ids = [account.id, submitted.contact_id]
  t.is((await leadloop(...ids)).code, 2)
  t.is((await leadloop(...ids, '--by', 'Ada Lovelace')).code, 2)
  const erased = await leadloop(...ids, '--by', 'ticket-4711')
  t.is(erased.code, 0, erased.stderr)
  t.like(JSON.parse(erased.stdout), { erased: true, dropped_count: 0 })
  t.deepEqual(await holding(directory, 'Zelda'), [])
  const unknown = await leadloop(account.id, `nct_${'0'.repeat(26)}`, '--by', 'ticket-4711')
  t.is(unknown.code, 1)
  t.regex(unknown.stderr, /404/)
})
