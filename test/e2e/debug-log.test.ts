import test from 'ava'
import { receiverFor } from '../kit/network/receiver.js'
import { openAccount } from '../kit/service/account.js'
import { addressOf, startService } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'

test('at LOG_LEVEL=debug the way of one lead can be read in some ten lines, by its correlation id', async (t) => {
  const service = startService(t, temporaryDirectory(t), { LOG_LEVEL: 'debug' })
  const account = await openAccount({ url: await addressOf(service) })
  const receiver = await receiverFor(t)
  await account.addWebhook({ url: receiver.url, token: 'x' })
  const { lead_id } = await account.submitted()
  const { lead_id: other } = await account.submitted()

  const lines = () => {
    const submitted = service.logged().find(({ stream }) => stream === `lead-${lead_id}`)
    return service.logged().filter(({ correlation_id }) => correlation_id === submitted?.['correlation_id'])
  }
  await until('the delivery is recorded', 60_000, () => lines().some(({ type }) => type === 'DeliverySucceeded'))
  t.deepEqual(
    lines().flatMap(({ type }) => (type === undefined ? [] : [type])),
    [
      'LeadSubmitted',
      'ContactCreated',
      'ContactEngaged',
      'EngagementStarted',
      'ActivityRecorded',
      'DeliveryDue',
      'DeliverySucceeded',
    ],
  )
  t.true(lines().length <= 12)
  t.false(lines().some(({ stream }) => stream === `lead-${other}`))
  t.false(JSON.stringify(service.logged()).includes('Ada'))
})
