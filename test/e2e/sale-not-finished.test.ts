import { status } from '@grpc/grpc-js'
import test from 'ava'
import { startDouble } from '../eventstoredb-double/double.js'
import { having } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'
import { serviceFor } from '../kit/service/in-process-service.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'

test('where the log fails before the conversations of a sale have ended the answer is 503, and 200 once they have', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const site = await serviceFor(t, temporaryDirectory(t), { eventStoreUrl: double.url, mongoUrl: undefined })
  const account = await openAccount(site)
  const { contact_id, next_engagement_id } = await account.submitted()
  const { sold } = await account.standardConversions()
  const recorded = () => double.log().filter(({ type }) => type === 'ConversionRecorded').length
  const hasEnded = () =>
    double.log().some(({ stream, type }) => stream === `engagement-${next_engagement_id}` && type === 'EngagementEnded')

  double.faults.refuse('appends', status.UNAVAILABLE, 'engagement')
  const refused = await account.record(sold, { contact_id })
  t.is(refused.status, 503)
  t.is(refused.headers['retry-after'], '1')
  t.deepEqual([recorded(), hasEnded()], [1, false])

  double.faults.clear()
  const answered = await account.record(sold, { contact_id })
  t.is(answered.status, 200)
  t.is(having(answered, 'conversion_contact').contact_id, contact_id)
  t.deepEqual([recorded(), hasEnded()], [1, true])
})
