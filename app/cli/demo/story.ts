import Database from 'better-sqlite3'
import { t } from '../../../domain/codec.js'
import { exampleLead } from '../../composition/start/first-account.js'
import { converse, setPlaybook } from './conversation.js'
import type { Receiver } from './receiver.js'
import { Surprise, type Call, type Storyteller } from './storyteller.js'

/** Where the story happens. */
type Place = {
  readonly site: string
  readonly operatorKey: string
  readonly customer: Receiver
  /** The database file of the service. */
  readonly file: string
}

/** A lead goes once round the loop. */
export const story = async (teller: Storyteller, place: Place): Promise<void> => {
  const account = await openAccount(teller, place)
  const contactId = await submitLead(teller, place, account)
  await converse(teller, { ...place, url: account.url, token }, contactId)
  await recordSale(teller, place, account)
  await lookBack(teller, place, account, contactId)
}

/** The token that the service is to send to the receiver. */
const token = 'token-of-the-receiver'

const Opened = t.type({ account: t.type({ id: t.string }), api_key: t.string, playbook: t.type({ id: t.string }) })
const Source = t.type({ marketing_source: t.type({ post_url: t.string }) })

type Account = { readonly url: string; readonly apiKey: string; readonly postUrl: string }

const openAccount = async (teller: Storyteller, { site, operatorKey: key, customer }: Place): Promise<Account> => {
  const { step, tell } = teller
  const created = { method: 'POST', key, status: 201 } as const
  const accounts = `${site}/manage/v1/accounts`

  await step('The operator opens an account. Its API key is shown this once.')
  const { account, api_key, playbook } = await tell({
    ...created,
    url: accounts,
    body: { title: 'Example Insurance' },
    answer: Opened,
  })
  const url = `${accounts}/${account.id}`

  await step("A webhook tells the customer's own system whatever happens.")
  await tell({ ...created, url: `${url}/webhooks`, body: { url: customer.url, token }, answer: t.unknown })

  await setPlaybook(teller, { url, operatorKey: key }, playbook.id)

  await step('A marketing source is a URL that a vendor posts leads to. It is tied to a playbook.')
  const { marketing_source: source } = await tell({
    ...created,
    url: `${url}/marketing_sources`,
    body: { title: 'Search ads', playbook_id: playbook.id },
    answer: Source,
  })
  return { url, apiKey: api_key, postUrl: source.post_url }
}

const Refused = t.type({ errors: t.array(t.string) })
const Accepted = t.type({ lead_id: t.string, contact_id: t.string })

/** Gives the id of the lead's contact. */
const submitLead = async (
  { step, tell, tellWebhook }: Storyteller,
  { customer }: Place,
  { postUrl: url }: Account,
): Promise<string> => {
  await step('The vendor posts a bad lead: every problem is named at once, and nothing is stored.')
  const { tcpa_opt_in_token: _token, ...withoutConsent } = exampleLead
  const bad = { ...withoutConsent, phone: 'none', date_of_birth: '1985-02-30', current_residence_state: 'Narnia' }
  const refused = await tell({ method: 'POST', url, body: bad, status: 400, answer: Refused })
  if (refused.errors.length !== 4) throw new Surprise('The bad lead was to have four problems.')

  await step("The vendor posts a good lead, with the customer's own id for it. A 200 means that it is on the disk.")
  const body = { external_id: 'A-1001', ...exampleLead }
  const { contact_id: contactId } = await tell({ method: 'POST', url, body, status: 200, answer: Accepted })

  await step('The playbook starts, and the receiver hears of it.')
  await tellWebhook(customer, token, 'started')
  return contactId
}

const Found = t.type({ contact: t.type({ id: t.string }) })
const Conversions = t.type({ conversions: t.array(t.type({ id: t.string, title: t.string })) })
const Recorded = t.type({ conversion_contact: t.type({ id: t.string }) })

const recordSale = async (
  { step, tell, tellWebhook }: Storyteller,
  { site, customer }: Place,
  { apiKey: key }: Account,
): Promise<void> => {
  const rest = `${site}/api/v3`

  await step('Later the customer makes a sale. Its CRM finds the contact by phone, however the number is written.')
  const phone = encodeURIComponent('415.555.0123')
  const { contact } = await tell({ url: `${rest}/contacts/find?phone=${phone}`, key, status: 200, answer: Found })

  await step('Its conversions are listed once, at setup: their ids never change.')
  const { conversions } = await tell({ url: `${rest}/conversions`, key, status: 200, answer: Conversions })
  const sold = conversions.find(({ title }) => title === 'Sold')
  if (sold === undefined) throw new Surprise('The account was to have a conversion called Sold.')

  await step('The CRM records the sale, worth 1,299 dollars. It counts for the conversation that led to it.')
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
}

const Entry = t.type({ kind: t.string, at: t.string, label: t.unknown, title: t.unknown, state: t.unknown })
const Timeline = t.type({ timeline: t.array(Entry) })
type Timeline = t.TypeOf<typeof Timeline>

const lookBack = async (
  teller: Storyteller,
  { operatorKey, file }: Place,
  { url }: Account,
  contactId: string,
): Promise<void> => {
  const { step, tell, say, table } = teller

  await step('The timeline of the contact holds all of it: the lead, activities, the conversion, deliveries.')
  const call = { url: `${url}/contacts/${contactId}/timeline`, key: operatorKey, status: 200, answer: Timeline }
  await allDelivered(teller, call)
  const { timeline } = await tell(call)
  say('or, in short:')
  table(timeline.map(({ at, kind, label, title, state }) => [at, kind, textOf(label ?? title), textOf(state)]))

  await step('An analyst opens the database while the service runs: events, in the order they happened.')
  say(analysis)
  table(eventsIn(file))
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/** What the receiver hears of: started, interested, qualified and sold. */
const labels = 4

/** An answer to a webhook is recorded a moment after the receiver gave it. */
const allDelivered = async ({ ask }: Storyteller, timeline: Call<Timeline>): Promise<void> => {
  for (let tries = 0; tries < 3_000; tries += 1) {
    const answered = await ask(timeline)
    if (answered?.timeline.filter(({ state }) => state === 'succeeded').length === labels) return
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  throw new Surprise(`${labels} deliveries were to succeed.`)
}

const analysis = `SELECT position, type, stream, actor FROM events
     WHERE category IN ('lead', 'contact', 'engagement', 'message', 'conversion_contact', 'delivery') ORDER BY position`

type EventRow = { readonly position: number; readonly type: string; readonly stream: string; readonly actor: string }

const eventsIn = (file: string): ReadonlyArray<ReadonlyArray<string>> => {
  const database = new Database(file, { readonly: true })
  const rows = database.prepare<[], EventRow>(analysis).all()
  database.close()
  return rows.map(({ position, type, stream, actor }) => [String(position), type, stream, actor])
}
