import test from 'ava'
import { createHash } from 'node:crypto'
import { newPhone } from '../kit/service/leads.js'
import type { Received } from '../kit/network/receiver.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { subscribed, turned, webhookIdOf, deliveriesIn, longestDelivery } from '../kit/service/subscription.js'
import { until } from '../kit/time/until.js'
import { mostAttempts } from '../../domain/retry-schedule.js'

/** Four days pass in a third of a second. */
const rushing = serviceForFile({ clockRate: 1_000_000 })

const digestOf = ({ body }: Received): string => createHash('sha256').update(body).digest('hex')

for (const format of ['agent', 'flat']) {
  test(`all attempts, a resend and what is caught up with are the same bytes, whatever changes: ${format}`, async (t) => {
    const { account, receiver, webhookId } = await subscribed(t, rushing, { format })
    const phone = newPhone()
    const changed = (n: number) =>
      account.submitted({ phone, first_name: `Zoë ${n}`, last_name: 'Later', lead_id: `L-${n}` })
    const isFirst = (request: Received): boolean =>
      webhookIdOf(request) === webhookIdOf(receiver.requests[0] as Received)
    const attempts = () => receiver.requests.filter(isFirst)
    receiver.answer((n) => (isFirst(receiver.requests[n - 1] as Received) ? 500 : 200))

    await account.submitted({ phone, first_name: 'Zoë', lead_id: 'L-0' })
    await receiver.received(1)
    await changed(1)
    await turned(account, webhookId, 'off')
    t.is(attempts().length, mostAttempts)
    await changed(2)
    const id = webhookIdOf(receiver.requests[0] as Received)
    await account.manage('POST', `/webhooks/${webhookId}/deliveries/${id}/resend`)
    await until('the resend has come', longestDelivery, () => attempts().length === mostAttempts + 1)
    await changed(3)
    receiver.answer(() => 200)
    await account.manage('POST', `/webhooks/${webhookId}/turn_on`, { catch_up: true })
    await deliveriesIn(account, webhookId, 'succeeded', 4)
    t.is(attempts().length, mostAttempts + 2)
    t.is(new Set(attempts().map(digestOf)).size, 1)
    t.is(new Set(receiver.requests.map(digestOf)).size, 4, 'the other leads differ')
    t.regex(receiver.requests.at(0)?.body.toString('utf8') ?? '', format === 'agent' ? /"Zoë"/ : /"L-0"/)
  })
}
