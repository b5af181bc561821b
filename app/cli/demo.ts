import Database from 'better-sqlite3'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fetch from 'node-fetch'
import { decode, t } from '../../domain/codec.js'
import { E } from '../../domain/prelude.js'
import { compose } from '../composition/compose.js'
import { configFrom } from '../composition/config.js'
import { exampleLead } from '../composition/first-account.js'
import { narrator } from './narrator.js'
import { receiver, type Receiver } from './receiver.js'

/** Something that the story did not foresee; the message is for the reader. */
class Surprise extends Error {}

const isTerminal = process.stdout.isTTY
const { heading, say, request, answer, table } = narrator(
  (text) => process.stdout.write(text),
  isTerminal && (process.env['NO_COLOR'] ?? '') === '',
)

type Call<A> = {
  readonly method?: 'GET' | 'POST'
  readonly url: string
  readonly key?: string
  readonly body?: unknown
  /** The status and the part of the answer that the story needs. */
  readonly status: number
  readonly answer: t.Decoder<unknown, A>
}

/** One request, without a word. */
const quietly = async <A>({ method = 'GET', url, key, body, status, answer: codec }: Call<A>) => {
  const headers: Record<string, string> = {
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
  }
  const response = await fetch(url, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) })
  const answered: unknown = await response.json()
  const decoded = decode(codec, answered)
  const isExpected = response.status === status && E.isRight(decoded)
  return { headers, status: response.status, answered, value: isExpected ? decoded.right : undefined }
}

/** One request, told. */
const tell = async <A>(call: Call<A>): Promise<A> => {
  const { method = 'GET', url, body } = call
  const { headers, status, answered, value } = await quietly(call)
  request(method, url, headers, body)
  answer(status, answered)
  if (value === undefined) throw new Surprise(`${method} ${new URL(url).pathname} was to answer ${call.status}.`)
  return value
}

/** The next webhook, told. */
const tellWebhook = async ({ url, next }: Receiver, token: string, label: string): Promise<void> => {
  const { headers, body } = await next()
  const isShown = (name: string): boolean => /^(authorization|content-type|webhook-.*)$/.test(name)
  const shown = Object.entries(headers).filter(([name]) => isShown(name))
  const sent: unknown = JSON.parse(body)
  request('POST', url, Object.fromEntries(shown.map(([name, value]) => [name, String(value)])), sent)
  answer(204, undefined)
  if (headers.authorization !== `Bearer ${token}`) throw new Surprise('The webhook came without its token.')
  const decoded = decode(Webhook, sent)
  if (E.isLeft(decoded) || decoded.right.activity.label !== label) throw new Surprise(`The webhook was to be ${label}.`)
}

/** A reader on a terminal gets a moment for each step. */
const step = async (title: string): Promise<void> => {
  if (isTerminal) await new Promise((resolve) => setTimeout(resolve, 350))
  heading(title)
}

const Opened = t.type({ account: t.type({ id: t.string }), api_key: t.string, playbook: t.type({ id: t.string }) })
const Source = t.type({ marketing_source: t.type({ post_url: t.string }) })
const Refused = t.type({ errors: t.array(t.string) })
const Accepted = t.type({ lead_id: t.string })
const Found = t.type({ contact: t.type({ id: t.string }) })
const Conversions = t.type({ conversions: t.array(t.type({ id: t.string, title: t.string })) })
const Recorded = t.type({ conversion_contact: t.type({ id: t.string }) })
const Webhook = t.type({ activity: t.type({ label: t.string }) })
const Entry = t.type({ kind: t.string, at: t.string, label: t.unknown, title: t.unknown, state: t.unknown })
const Timeline = t.type({ timeline: t.array(Entry) })

type Place = {
  readonly site: string
  readonly operatorKey: string
  readonly customer: Receiver
  /** The database file of the service. */
  readonly file: string
}

const story = async ({ site, operatorKey, customer, file }: Place): Promise<void> => {
  const token = 'token-of-the-receiver'
  const manage = `${site}/manage/v1`
  const rest = `${site}/api/v3`

  await step('The operator opens an account. Its API key is shown this once.')
  const opened = await tell({
    method: 'POST',
    url: `${manage}/accounts`,
    key: operatorKey,
    body: { title: 'Example Insurance' },
    status: 201,
    answer: Opened,
  })
  const account = `${manage}/accounts/${opened.account.id}`
  const key = opened.api_key

  await step("A webhook tells the customer's own system whatever happens.")
  const webhook = { url: customer.url, token }
  await tell({
    method: 'POST',
    url: `${account}/webhooks`,
    key: operatorKey,
    body: webhook,
    status: 201,
    answer: t.unknown,
  })

  await step('A marketing source is a URL that a vendor posts leads to. It is tied to a playbook.')
  const source = { title: 'Search ads', playbook_id: opened.playbook.id }
  const created = await tell({
    method: 'POST',
    url: `${account}/marketing_sources`,
    key: operatorKey,
    body: source,
    status: 201,
    answer: Source,
  })
  const { post_url: url } = created.marketing_source

  await step('The vendor posts a bad lead: every problem is named at once, and nothing is kept.')
  const { tcpa_opt_in_token: _token, ...withoutConsent } = exampleLead
  const bad = { ...withoutConsent, phone: 'none', date_of_birth: '1985-02-30', current_residence_state: 'Narnia' }
  const refused = await tell({ method: 'POST', url, body: bad, status: 400, answer: Refused })
  if (refused.errors.length !== 4) throw new Surprise('The bad lead was to have four problems.')

  await step("The vendor posts a good lead, with the customer's own id for it. A 200 means that it is on the disk.")
  await tell({ method: 'POST', url, body: { external_id: 'A-1001', ...exampleLead }, status: 200, answer: Accepted })

  await step('The playbook starts, and the receiver hears of it.')
  await tellWebhook(customer, token, 'started')

  await step('Later the customer makes a sale. Its CRM finds the contact by phone, however the number is written.')
  const phone = encodeURIComponent('415.555.0123')
  const { contact } = await tell({ url: `${rest}/contacts/find?phone=${phone}`, key, status: 200, answer: Found })

  await step('Its conversions are listed once, at setup: their ids never change.')
  const { conversions } = await tell({ url: `${rest}/conversions`, key, status: 200, answer: Conversions })
  const sold = conversions.find(({ title }) => title === 'Sold')
  if (sold === undefined) throw new Surprise('The account was to have a conversion called Sold.')

  await step('The CRM records the sale, worth 1,299 dollars. That ends the conversation.')
  const sale = {
    method: 'POST',
    url: `${rest}/conversions/${sold.id}/events`,
    key,
    body: { conversion_contact: { contact_id: contact.id, custom_value: 129_900 } },
    answer: Recorded,
  } as const
  const first = await tell({ ...sale, status: 201 })

  await step('The CRM was not sure and records it again: 200 this time, and the same record.')
  const again = await tell({ ...sale, status: 200 })
  if (again.conversion_contact.id !== first.conversion_contact.id) throw new Surprise('The record was to be the same.')

  await step('The receiver hears of the sale.')
  await tellWebhook(customer, token, 'sold')

  await step('The timeline of the contact holds all of it: the lead, activities, the conversion, deliveries.')
  const timeline: Call<t.TypeOf<typeof Timeline>> = {
    url: `${account}/contacts/${contact.id}/timeline`,
    key: operatorKey,
    status: 200,
    answer: Timeline,
  }
  await settled(timeline)
  const told = await tell(timeline)
  say('or, in short:')
  table(told.timeline.map(({ at, kind, label, title, state }) => [at, kind, textOf(label ?? title), textOf(state)]))

  await step('An analyst opens the database while the service runs: events, in the order they happened.')
  say(analysis)
  table(eventsIn(file))
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** An answer to a webhook is recorded a moment after the receiver gave it. */
const settled = async (timeline: Call<t.TypeOf<typeof Timeline>>): Promise<void> => {
  for (let tries = 0; tries < 100; tries += 1) {
    const { value } = await quietly(timeline)
    if (value?.timeline.filter(({ state }) => state === 'succeeded').length === 2) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Surprise('Two deliveries were to succeed.')
}

const analysis = `SELECT position, type, stream, actor FROM events
     WHERE category IN ('lead', 'contact', 'engagement', 'conversion_contact', 'delivery') ORDER BY position`

type EventRow = { readonly position: number; readonly type: string; readonly stream: string; readonly actor: string }

const eventsIn = (file: string): ReadonlyArray<ReadonlyArray<string>> => {
  const database = new Database(file, { readonly: true })
  const rows = database.prepare<[], EventRow>(analysis).all()
  database.close()
  return rows.map(({ position, type, stream, actor }) => [String(position), type, stream, actor])
}

/** Starts the service in `folder`, tells the story and stops the service; nothing of it stays. */
const show = async (folder: string): Promise<void> => {
  const settings = { DATA_DIR: folder, PORT: '0', LOG_LEVEL: 'silent', ALLOW_PRIVATE_WEBHOOKS: 'true' }
  const config = configFrom(settings)
  if (E.isLeft(config)) throw new Surprise(config.left.join(' '))
  const service = await compose(config.right)
  if (E.isLeft(service)) throw new Surprise(service.left)
  const customer = await receiver()
  const { address: site, newOperatorKey: operatorKey = '', stop } = service.right
  say(`A lead goes once round the loop. The service listens at ${site}, the customer's receiver at ${customer.url}.`)
  say('Every request and answer is real; ids and keys are shown shortened.')
  try {
    await story({ site, operatorKey, customer, file: join(folder, 'leadloop.db') })
  } finally {
    await stop()
    customer.close()
  }
}

const temporaryFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'leadloop-demo-'))
  process.once('exit', () => {
    rmSync(folder, { recursive: true, force: true })
  })
  return folder
}

process.once('SIGINT', () => process.exit(130))
try {
  await show(temporaryFolder())
  say('')
  say('That was the loop, and nothing of it stays. `npm start` begins one of your own; the README says how.')
} catch (error) {
  process.stderr.write(`\nThe demo stopped: ${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
}
