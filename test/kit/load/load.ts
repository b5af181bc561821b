import { clientOf, form, json, type Answer, type Client } from '../network/http.js'
import { idsOf } from '../service/account.js'
import {
  idOfContact,
  type AcknowledgedLead,
  type AcknowledgedRecord,
  type Ledger,
  type Pair,
  type Submission,
} from './ledger.js'
import { finding, recording, type LoadedAccount } from './loaded-account.js'
import { below, oneOf, type Random } from './random.js'
import { leadFields, phoneNumber, spelled } from './submissions.js'

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
  /**
   * Sends leads, conversions and searches from several workers until `until` aborts or the process is gone; by `other`
   * if given.
   */
  readonly run: (address: string, until: AbortSignal, other?: LoadMix) => Promise<void>
  /** Sends a new lead, or a repeat of this one. */
  readonly submit: (client: Client, submission?: Submission) => Promise<Answer | undefined>
  /** Records this conversion, or any of a contact that is known. */
  readonly convert: (client: Client, pair?: Pair) => Promise<Answer | undefined>
}

export const loadOn = (account: LoadedAccount, random: Random, usual: LoadMix = usualMix): Load => {
  let mix = usual
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
  const answerTo = async (asking: Promise<Answer>): Promise<Answer | undefined> => {
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

  const surprise = (what: string, { status, headers, body }: Answer): void => {
    if (status === 503 && mix.mayBeUnavailable && headers['retry-after'] !== undefined) return
    surprises.push(`${what} gave ${status}: ${JSON.stringify(body)}`)
  }

  const submit: Load['submit'] = async (client, submission = newSubmission()) => {
    const { fields, key } = submission
    const headers = key === undefined ? {} : { 'idempotency-key': key }
    const body = random() < 0.5 ? json(fields, headers) : form(fields, headers)
    const answered = await answerTo(client.send(account.postPath, body))
    if (answered === undefined) return undefined
    if (answered.status !== 200) {
      surprise('a lead', answered)
      return answered
    }
    const told = idsOf(answered)
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

  const search = async (client: Client): Promise<Answer | undefined> => {
    const lead = oneOf(random, leads)
    if (lead === undefined) return submit(client)
    const answered = await answerTo(client.send(...finding(account, lead.submission.phone)))
    if (answered === undefined || idOfContact(answered) === lead.contactId) return answered
    surprise(`a search for ${lead.contactId}`, answered)
    return answered
  }

  const act = (client: Client): Promise<Answer | undefined> => {
    if (leads.length > 0 && random() < mix.conversions) return convert(client)
    if (leads.length > 0 && random() < mix.searches) return search(client)
    const repeated = random() < 0.15 ? oneOf(random, repeatable.slice(-20)) : undefined
    return submit(client, repeated)
  }

  return {
    ledger: { leads, records, surprises, statuses, unanswered },
    run: async (address, until, other = usual) => {
      mix = other
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
