import type { ExecutionContext } from 'ava'
import { randomInt } from 'node:crypto'
import { Agent, createServer, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { operatorKey } from '../service/service-process.js'

/** In [0, 1), and the same again for the same seed (mulberry32). */
export type Random = () => number

export const randomFrom = (seed: number): Random => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** The seed of this run, which the log shows so that a failure can be run again with it in FAULT_SEED. */
export const seedOf = (t: ExecutionContext): number => {
  const given = process.env['FAULT_SEED']
  const seed = given === undefined ? randomInt(2 ** 31) : Number(given)
  t.log(`FAULT_SEED=${seed}`)
  return seed
}

const below = (random: Random, limit: number): number => Math.floor(random() * limit)

const oneOf = <A>(random: Random, all: ReadonlyArray<A>): A | undefined => all[below(random, all.length)]

// One client of one process.

export type Client = {
  readonly send: (method: 'GET' | 'POST', path: string, sent?: Sent) => Promise<Answered>
  readonly close: () => void
}

type Sent = { readonly headers?: Readonly<Record<string, string>>; readonly body?: string }

export type Answered = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: unknown }

/** Rejects where no whole answer came. */
export const clientOf = (address: string): Client => {
  const agent = new Agent({ keepAlive: true })
  return {
    send: (method, path, { headers = {}, body = '' } = {}) =>
      new Promise((resolve, reject) => {
        const length = { 'content-length': String(Buffer.byteLength(body)) }
        const outgoing = httpRequest(address + path, { method, agent, headers: { ...headers, ...length } })
        outgoing.once('error', reject)
        outgoing.once('response', (response) => {
          let text = ''
          response.setEncoding('utf8')
          response.on('data', (part: string) => {
            text += part
          })
          response.once('error', reject)
          response.once('end', () => {
            try {
              const { statusCode: status = 0, headers: received } = response
              resolve({ status, headers: received, body: JSON.parse(text) as unknown })
            } catch (error) {
              reject(error instanceof Error ? error : new Error('no JSON'))
            }
          })
        })
        outgoing.end(body)
      }),
    close: () => {
      agent.destroy()
    },
  }
}

const json = (body: unknown, headers: Readonly<Record<string, string>> = {}): Sent => ({
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

// The receiver of webhooks.

export type Receiver = {
  readonly url: string
  /** By the `webhook-id` that they came with, the bodies of all requests. */
  readonly bodies: ReadonlyMap<string, ReadonlyArray<string>>
  /** Requests that did not show where they came from. */
  readonly unauthorized: ReadonlyArray<string>
}

/** `arrived` is called before the nth request is answered, with n from 1 on; the answer waits for it. */
export const startReceiver = async (
  t: ExecutionContext,
  arrived: (nth: number, id: string) => Promise<void> | void = () => undefined,
): Promise<Receiver> => {
  const bodies = new Map<string, Array<string>>()
  const unauthorized: Array<string> = []
  let count = 0
  const server = createServer((incoming, response) => {
    let body = ''
    incoming.setEncoding('utf8')
    incoming.on('data', (part: string) => {
      body += part
    })
    incoming.on('end', () => {
      const id = String(incoming.headers['webhook-id'])
      if (incoming.headers.authorization !== `Bearer ${webhookToken}`) unauthorized.push(id)
      bodies.set(id, [...(bodies.get(id) ?? []), body])
      count += 1
      void Promise.resolve(arrived(count, id)).then(() => response.writeHead(204).end())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/activity`, bodies, unauthorized }
}

const webhookToken = 'the-token-of-the-receiver'

// The account that a load is sent to.

export type Account = {
  readonly id: string
  readonly apiKey: string
  /** Without the host: a start may listen elsewhere. */
  readonly postPath: string
  readonly conversionIds: ReadonlyArray<string>
}

/** Opens an account with one source and one webhook that is subscribed to everything. */
export const openAccount = async (address: string, webhookUrl: string): Promise<Account> => {
  const client = clientOf(address)
  const asked = async <A>(method: 'GET' | 'POST', path: string, sent: Sent): Promise<A> => {
    const { status, body } = await client.send(method, path, sent)
    if (status !== 200 && status !== 201) throw new Error(`${method} ${path} gave ${status}: ${JSON.stringify(body)}`)
    return body as A
  }
  const operator = { authorization: `Bearer ${operatorKey}` }
  const accounts = '/manage/v1/accounts'
  const { account, api_key, playbook } = await asked<{
    readonly account: { readonly id: string }
    readonly api_key: string
    readonly playbook: { readonly id: string }
  }>('POST', accounts, json({ title: 'Under load' }, operator))
  const path = `${accounts}/${account.id}`
  const created = await asked<{ readonly marketing_source: { readonly post_url: string } }>(
    'POST',
    `${path}/marketing_sources`,
    json({ title: 'Search ads', playbook_id: playbook.id }, operator),
  )
  await asked('POST', `${path}/webhooks`, json({ url: webhookUrl, token: webhookToken, events: [] }, operator))
  const { conversions } = await asked<{ readonly conversions: ReadonlyArray<{ readonly id: string }> }>(
    'GET',
    '/api/v3/conversions',
    { headers: { authorization: `Bearer ${api_key}` } },
  )
  client.close()
  return {
    id: account.id,
    apiKey: api_key,
    postPath: new URL(created.marketing_source.post_url).pathname,
    conversionIds: conversions.map(({ id }) => id),
  }
}

// What was sent and what came back.

export type Fields = Readonly<Record<string, string>>

/** A lead as it is sent; a repeat sends the very same fields and key, in whichever encoding. */
export type Submission = { readonly fields: Fields; readonly phone: string; readonly key: string | undefined }

export type AcknowledgedLead = {
  readonly submission: Submission
  readonly leadId: string
  readonly contactId: string
  readonly engagementId: string
}

export type Pair = { readonly conversionId: string; readonly contactId: string }

export type AcknowledgedRecord = Pair & {
  /** The body of the first answer: every later one must be the same. */
  readonly body: unknown
}

/** Everything that clients were told, in the order in which they were told it. */
export type Ledger = {
  readonly leads: ReadonlyArray<AcknowledgedLead>
  readonly records: ReadonlyArray<AcknowledgedRecord>
  /** Answers that no client should ever get. */
  readonly surprises: ReadonlyArray<string>
  readonly statuses: ReadonlyMap<number, number>
  /** Requests that got no answer, by the code of the error. */
  readonly unanswered: ReadonlyMap<string, number>
}

export type Told = Pick<Ledger, 'leads' | 'records'>

/** How much of a ledger was looked at before. */
export type Mark = { readonly leads: number; readonly records: number }

export const markOf = ({ leads, records }: Told): Mark => ({ leads: leads.length, records: records.length })

/** What was told after `mark`. */
export const since = ({ leads, records }: Told, mark: Mark): Told => ({
  leads: leads.slice(mark.leads),
  records: records.slice(mark.records),
})

export type LoadMix = {
  readonly workers: number
  /** Shares in [0, 1]. */
  readonly conversions: number
  readonly searches: number
  readonly repeatedPhones: number
  /** A store that can't write may say so: 503 with Retry-After. */
  readonly mayBeUnavailable: boolean
}

export const usualMix: LoadMix = {
  workers: 6,
  conversions: 0.25,
  searches: 0.1,
  repeatedPhones: 0.3,
  mayBeUnavailable: false,
}

export type Load = {
  readonly ledger: Ledger
  /** Sends leads, conversions and searches from several workers until `until` aborts or the process is gone. */
  readonly run: (address: string, until: AbortSignal) => Promise<void>
  /** Sends a new lead, or a repeat of this one. */
  readonly submit: (client: Client, submission?: Submission) => Promise<Answered | undefined>
  /** Records this conversion, or any of a contact that is known. */
  readonly convert: (client: Client, pair?: Pair) => Promise<Answered | undefined>
}

export const loadOn = (account: Account, random: Random, mix: LoadMix = usualMix): Load => {
  const leads: Array<AcknowledgedLead> = []
  const records: Array<AcknowledgedRecord> = []
  const surprises: Array<string> = []
  const statuses = new Map<number, number>()
  const unanswered = new Map<string, number>()
  const repeatable: Array<Submission> = []
  const leadOf = new Map<Submission, AcknowledgedLead>()
  const recordOf = new Map<string, AcknowledgedRecord>()
  const created = new Set<string>()
  let sent = 0

  const newSubmission = (): Submission => {
    sent += 1
    const earlier = random() < mix.repeatedPhones ? oneOf(random, leads.slice(-40)) : undefined
    const phone = earlier?.submission.phone ?? phoneNumber(sent)
    const originator = random() < 0.2 ? { lead_id: `crm-${sent}` } : {}
    const key = random() < 0.2 ? `key-${sent}` : undefined
    const submission = { fields: { ...leadFields(sent, spelled(random, phone)), ...originator }, phone, key }
    if (key !== undefined || 'lead_id' in originator) repeatable.push(submission)
    return submission
  }

  /** Undefined where no answer came. */
  const answerTo = async (asking: Promise<Answered>): Promise<Answered | undefined> => {
    try {
      const answered = await asking
      statuses.set(answered.status, (statuses.get(answered.status) ?? 0) + 1)
      return answered
    } catch (error) {
      const code = String((error as NodeJS.ErrnoException).code ?? error)
      unanswered.set(code, (unanswered.get(code) ?? 0) + 1)
      return undefined
    }
  }

  const surprise = (what: string, { status, headers, body }: Answered): void => {
    if (status === 503 && mix.mayBeUnavailable && headers['retry-after'] !== undefined) return
    surprises.push(`${what} gave ${status}: ${JSON.stringify(body)}`)
  }

  const submit: Load['submit'] = async (client, submission = newSubmission()) => {
    const { fields, key } = submission
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const body = random() < 0.5 ? json(fields, headers) : form(fields, headers)
    const answered = await answerTo(client.send('POST', account.postPath, body))
    if (answered === undefined) return undefined
    if (answered.status !== 200) {
      surprise('a lead', answered)
      return answered
    }
    const told = answered.body as { readonly [id in 'lead_id' | 'contact_id' | 'next_engagement_id']: string }
    const acknowledged = {
      submission,
      leadId: told.lead_id,
      contactId: told.contact_id,
      engagementId: told.next_engagement_id,
    }
    const before = leadOf.get(submission)
    if (before === undefined) {
      leads.push(acknowledged)
      leadOf.set(submission, acknowledged)
    } else if (JSON.stringify(before) !== JSON.stringify(acknowledged)) {
      surprises.push(`a repeat of ${before.leadId} gave ${acknowledged.leadId}`)
    }
    return answered
  }

  const anyPair = (): Pair => ({
    contactId: oneOf(random, leads)?.contactId ?? 'none',
    conversionId: oneOf(random, account.conversionIds) ?? 'none',
  })

  const convert: Load['convert'] = async (client, { contactId, conversionId } = anyPair()) => {
    const custom = random() < 0.5 ? { custom_value: below(random, 100_000) } : {}
    const answered = await answerTo(client.send(...recording(account, conversionId, contactId, custom)))
    if (answered === undefined) return undefined
    const { status, body } = answered
    if (status !== 200 && status !== 201) {
      surprise('a conversion', answered)
      return answered
    }
    const pair = `${conversionId}/${contactId}`
    if (status === 201 && created.has(pair)) surprises.push(`${pair} was recorded a second time`)
    if (status === 201) created.add(pair)
    const before = recordOf.get(pair)
    if (before === undefined) {
      const record = { conversionId, contactId, body }
      records.push(record)
      recordOf.set(pair, record)
    } else if (JSON.stringify(before.body) !== JSON.stringify(body)) {
      surprises.push(`the record of ${pair} changed`)
    }
    return answered
  }

  const search = async (client: Client): Promise<Answered | undefined> => {
    const lead = oneOf(random, leads)
    if (lead === undefined) return submit(client)
    const answered = await answerTo(client.send(...finding(account, lead.submission.phone)))
    if (answered === undefined || idOfContact(answered) === lead.contactId) return answered
    surprise(`a search for ${lead.contactId}`, answered)
    return answered
  }

  const act = (client: Client): Promise<Answered | undefined> => {
    if (leads.length > 0 && random() < mix.conversions) return convert(client)
    if (leads.length > 0 && random() < mix.searches) return search(client)
    const repeated = random() < 0.15 ? oneOf(random, repeatable.slice(-20)) : undefined
    return submit(client, repeated)
  }

  return {
    ledger: { leads, records, surprises, statuses, unanswered },
    run: async (address, until) => {
      const client = clientOf(address)
      const work = async (): Promise<void> => {
        while (!until.aborted) if ((await act(client)) === undefined) return
      }
      await Promise.all(Array.from({ length: mix.workers }, work))
      client.close()
    },
    submit,
    convert,
  }
}

/**
 * What the service does not show although it was acknowledged: a sentence each. Records are posted again and must come back
 * as they were, with 200.
 */
export const missingFrom = async (
  address: string,
  account: Account,
  { leads, records }: Told,
): Promise<ReadonlyArray<string>> => {
  const client = clientOf(address)
  const missing: Array<string> = []
  const contactOf = new Map(leads.map(({ submission, contactId }) => [submission.phone, contactId]))
  await inTurns([...contactOf], async ([phone, contactId]) => {
    const found = await client.send(...finding(account, phone))
    if (found.status !== 200 || idOfContact(found) !== contactId) missing.push(`${contactId}: ${found.status}`)
  })
  await inTurns(records, async ({ conversionId, contactId, body }) => {
    const again = await client.send(...recording(account, conversionId, contactId, { custom_value: 1 }))
    const isSame = again.status === 200 && JSON.stringify(again.body) === JSON.stringify(body)
    if (!isSame) missing.push(`${conversionId} of ${contactId}: ${again.status}`)
  })
  client.close()
  return missing
}

/** Sixteen at a time. */
const inTurns = async <A>(all: ReadonlyArray<A>, task: (one: A) => Promise<void>): Promise<void> => {
  const queue = [...all]
  const work = async (): Promise<void> => {
    for (let one = queue.shift(); one !== undefined; one = queue.shift()) await task(one)
  }
  await Promise.all(Array.from({ length: 16 }, work))
}

type Sending = Parameters<Client['send']>

export const finding = ({ apiKey }: Account, phone: string): Sending => [
  'GET',
  `/api/v3/contacts/find?phone=${encodeURIComponent(phone)}`,
  { headers: { authorization: `Bearer ${apiKey}` } },
]

const recording = (
  { apiKey }: Account,
  conversionId: string,
  contactId: string,
  more: { readonly custom_value?: number },
): Sending => [
  'POST',
  `/api/v3/conversions/${conversionId}/events`,
  json({ conversion_contact: { contact_id: contactId, ...more } }, { authorization: `Bearer ${apiKey}` }),
]

const idOfContact = ({ body }: Answered): string | undefined =>
  (body as { readonly contact?: { readonly id: string } }).contact?.id

const form = (fields: Fields, headers: Readonly<Record<string, string>>): Sent => ({
  headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
  body: new URLSearchParams(fields).toString(),
})

const areas = ['212', '312', '415', '617', '713']

const phoneNumber = (nth: number): string =>
  `+1${areas[nth % areas.length] ?? '415'}${2_200_000 + Math.floor(nth / areas.length)}`

/** One number in one of the spellings that vendors use. */
const spelled = (random: Random, phone: string): string => {
  const [area, exchange, line] = [phone.slice(2, 5), phone.slice(5, 8), phone.slice(8)]
  const spellings = [
    phone,
    `(${area}) ${exchange}-${line}`,
    `${area}.${exchange}.${line}`,
    `1${area}${exchange}${line}`,
  ]
  return oneOf(random, spellings) ?? phone
}

/** Every field of a standard qualification playbook, and the number under which this submission was sent. */
export const leadFields = (nth: number, phone: string): Fields => ({
  first_name: 'Ada',
  last_name: `Example ${nth}`,
  email: `ada.${nth}@example.com`,
  phone,
  date_of_birth: '1985-12-10',
  gender: 'Female',
  marital_status: 'Single',
  current_residence_address: '1 Main Street',
  current_residence_city: 'San Francisco',
  current_residence_state: 'CA',
  current_residence_zip: '94105',
  current_insurance_carrier: 'None',
  current_insurance_coverage: 'Liability Only',
  credit_rating: 'Good',
  tcpa_opt_in_token: `consent-${nth}`,
  tcpa_opt_in_url: `https://consent.example/${nth}`,
  sent_as: String(nth),
})
