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
  const steps = [{ message: 'Hi {{first_name}}, this is {{account}}.', delay_minutes: 0 }]
  await account.manage('PATCH', `/playbooks/${account.playbookId}`, { steps, quiet_hours: null })
  const { lead_id } = await account.submitted()
  const { lead_id: other } = await account.submitted()

  const lines = () => {
    const submitted = service.logged().find(({ stream }) => stream === `lead-${lead_id}`)
    return service.logged().filter(({ correlation_id }) => correlation_id === submitted?.['correlation_id'])
  }
  const types = () => lines().flatMap(({ type }) => (type === undefined ? [] : [type]))
  await until('the delivery and the message are recorded', 60_000, () =>
    ['DeliverySucceeded', 'MessageSent'].every((type) => types().includes(type)),
  )
  const atOnce = ['LeadSubmitted', 'ContactCreated', 'ContactEngaged', 'EngagementStarted', 'ActivityRecorded']
  t.deepEqual(types().slice(0, 5), atOnce)
  const delivered = ['DeliveryDue', 'DeliverySucceeded']
  const sent = ['MessageBegun', 'MessageSent', 'StepBegun']
  t.deepEqual(types().slice(5).toSorted(), [...delivered, ...sent], 'side by side')
  t.true(lines().length <= 12)
  t.false(lines().some(({ stream }) => stream === `lead-${other}`))
  t.false(JSON.stringify(service.logged()).includes('Ada'))
})
