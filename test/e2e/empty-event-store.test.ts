import test from 'ava'
import { startDouble } from '../eventstoredb-double/double.js'
import { send } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'
import { addressOf, startService } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'

test('a service gets ready on the empty log of an EventStoreDB, and takes leads', async (t) => {
  const double = await startDouble()
  t.teardown(double.stop)
  const service = startService(t, temporaryDirectory(t), { EVENTSTORE_URL: double.url })
  let url = ''
  void addressOf(service).then((address) => (url = address))
  await until('it listens', 60_000, () => url !== '')
  const ready = await send(`${url}/health/ready`)
  t.is(ready.status, 200)
  t.like(ready.body, { lag_unit: 'bytes' })
  await (await openAccount({ url })).submitted()
})
