import { status } from '@grpc/grpc-js'
import test, { type ExecutionContext } from 'ava'
import { startDouble } from '../eventstoredb-double/double.js'
import { having, type Answer } from '../kit/network/http.js'
import { openAccount, type Account } from '../kit/service/account.js'
import { newPhone } from '../kit/service/leads.js'
import { serviceFor } from '../kit/service/in-process-service.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'

type Stage = {
  readonly account: Account
  /** Of two conversations of one contact. */
  readonly contactId: string
  readonly older: string
  readonly newer: string
  /** How many events of the type the log holds. */
  readonly logged: (type: string) => number
  readonly hasEnded: (engagementId: string) => boolean
  /** While the log takes nothing for a stream of the category the answer is 503. */
  readonly isRefusedFor: (category: string, ask: () => Promise<Answer>) => Promise<void>
}

const openStage = async (t: ExecutionContext): Promise<Stage> => {
  const double = await startDouble()
  t.teardown(double.stop)
  const site = await serviceFor(t, temporaryDirectory(t), { eventStoreUrl: double.url, mongoUrl: undefined })
  const account = await openAccount(site)
  const phone = newPhone()
  const { contact_id: contactId, next_engagement_id: older } = await account.submitted({ phone })
  const { next_engagement_id: newer } = await account.submitted({ phone })
  return {
    account,
    contactId,
    older,
    newer,
    logged: (wanted) => double.log().filter(({ type }) => type === wanted).length,
    hasEnded: (id) =>
      double.log().some(({ stream, type }) => stream === `engagement-${id}` && type === 'EngagementEnded'),
    isRefusedFor: async (category, ask) => {
      double.faults.refuse('appends', status.UNAVAILABLE, category)
      const { status: code, headers } = await ask()
      double.faults.clear()
      t.is(code, 503)
      t.is(headers['retry-after'], '1')
    },
  }
}

// One after the other: in one process a client of the log that breaks breaks off what others wait for.
test.serial(
  'where the log fails before the conversations of a sale have ended the answer is 503, and 200 once they have',
  async (t) => {
    const { account, contactId: contact_id, older, newer, logged, hasEnded, isRefusedFor } = await openStage(t)
    const { sold } = await account.standardConversions()
    const sell = () => account.record(sold, { contact_id })

    await isRefusedFor('engagement', sell)
    t.deepEqual([logged('ConversionRecorded'), hasEnded(older), hasEnded(newer)], [1, false, false])

    const answered = await sell()
    t.is(answered.status, 200)
    t.is(having(answered, 'conversion_contact').contact_id, contact_id)
    t.deepEqual([logged('ConversionRecorded'), hasEnded(older), hasEnded(newer)], [1, true, true])
  },
)

test.serial(
  'where the log fails before the conversations of a contact that opted out have ended the report of it is 503, and 200 once they have',
  async (t) => {
    const { account, older, newer, logged, hasEnded, isRefusedFor } = await openStage(t)
    const before = logged('ActivityRecorded')
    const activity = { type: 'outcome', label: 'opted_out' }
    const report = () =>
      account.manage('POST', `/engagements/${older}/activities`, activity, { 'idempotency-key': 'a report' })

    await isRefusedFor('contact', report)
    t.deepEqual([logged('ActivityRecorded') - before, hasEnded(newer)], [1, false])

    const answered = await report()
    t.is(answered.status, 200)
    t.like(having(answered, 'activity'), { label: 'opted_out', next_engagement_id: older })
    t.deepEqual([logged('ActivityRecorded') - before, hasEnded(newer)], [1, true])
  },
)

test.serial(
  'where the log fails before the conversations of a contact that writes STOP have ended the answer is 503, and 200 once they have',
  async (t) => {
    const { account, contactId, older, newer, logged, hasEnded, isRefusedFor } = await openStage(t)
    const text = { text: 'STOP' }
    const write = () => account.manage('POST', `/contacts/${contactId}/messages`, text, { 'idempotency-key': 'a text' })

    await isRefusedFor('contact', write)
    t.deepEqual([logged('MessageReceived'), hasEnded(older), hasEnded(newer)], [1, false, false])

    const answered = await write()
    t.is(answered.status, 200)
    t.like(having(answered, 'message'), { contact_id: contactId, meaning: 'opted_out' })
    t.deepEqual([logged('MessageReceived'), hasEnded(older), hasEnded(newer)], [1, true, true])
    t.is(logged('ContactOptedOut'), 1)
  },
)
