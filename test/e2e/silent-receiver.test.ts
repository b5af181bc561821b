import test from 'ava'
import { mostAttempts } from '../../domain/retry-schedule.js'
import { serviceForFile } from '../kit/service/in-process-service.js'
import { subscribed, turned, webhookIdOf } from '../kit/service/subscription.js'
import { sleep } from '../kit/time/until.js'

/** Four days pass in seven seconds. */
const rushing = serviceForFile({ clockRate: 50_000 })

/** Some 400 come in four days, since no two of them are open at once and each takes 20 ms. */
const mostRequests = 2_000

test('a webhook whose receiver is silent is turned off by its oldest delivery while more and more activities come', async (t) => {
  const { account, receiver, webhookId } = await subscribed(t, rushing)
  const { next_engagement_id } = await account.submitted()
  const reports: Array<Promise<unknown>> = []
  const report = () => account.report(next_engagement_id, 'event', 'interested')
  let comesToAnEnd = false
  receiver.answer((n, response) => {
    // For each request that fails two more are to be made, so that first attempts are never out.
    if (!comesToAnEnd) reports.push(report(), report())
    comesToAnEnd ||= n >= mostRequests
    void sleep(20).then(() => response.writeHead(503).end())
    return undefined
  })
  await Promise.all(Array.from({ length: 20 }, report))
  const off = await turned(account, webhookId, 'off')
  const requests = receiver.requests.length
  comesToAnEnd = true
  await Promise.all(reports)
  t.true(requests < mostRequests, `${requests} requests until the webhook was off`)
  t.is(off?.['state'], 'off')
  const ids = receiver.requests.map(webhookIdOf)
  t.is(ids.filter((id) => id === ids[0]).length, mostAttempts)
})
