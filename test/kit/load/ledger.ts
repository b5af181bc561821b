import { clientOf, type Answer, type Body } from '../network/http.js'
import { finding, recording, type LoadedAccount } from './loaded-account.js'
import type { FormFields } from './submissions.js'

/** A lead as it is sent; a repeat sends the very same fields and key, in whichever encoding. */
export type Submission = { readonly fields: FormFields; readonly phone: string; readonly key: string | undefined }

export type AcknowledgedLead = {
  readonly submission: Submission
  readonly leadId: string
  readonly contactId: string
  readonly engagementId: string
}

export type Pair = { readonly conversionId: string; readonly contactId: string }

export type AcknowledgedRecord = Pair & {
  /** The body of the first answer: every later one must be the same. */
  readonly body: Body
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

export type Acknowledged = Pick<Ledger, 'leads' | 'records'>

/** How much of a ledger was looked at before. */
type Mark = { readonly leads: number; readonly records: number }

export const markOf = ({ leads, records }: Acknowledged): Mark => ({ leads: leads.length, records: records.length })

/** What was told after `mark`. */
export const since = ({ leads, records }: Acknowledged, mark: Mark): Acknowledged => ({
  leads: leads.slice(mark.leads),
  records: records.slice(mark.records),
})

/**
 * What the service does not show although it was acknowledged: a sentence each. Records are posted again and must come
 * back as they were, with 200.
 */
export const missingFrom = async (
  address: string,
  account: LoadedAccount,
  { leads, records }: Acknowledged,
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

export const idOfContact = ({ body }: Answer): string | undefined => body.contact?.id
