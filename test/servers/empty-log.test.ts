import test, { type ExecutionContext } from 'ava'
import { send } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'
import { addressOf, startService } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { eventStoreFor, isEmpty, namedServer, settingsOn } from './server.js'

const title = 'a service gets ready on the empty log of an EventStoreDB, and takes leads'

const getsReady = async (t: ExecutionContext): Promise<void> => {
  const service = startService(t, temporaryDirectory(t), settingsOn(await eventStoreFor(t)))
  const url = await addressOf(service)
  const ready = await send(`${url}/health/ready`)
  t.is(ready.status, 200)
  t.like(ready.body, { lag_unit: 'bytes' })
  await (await openAccount({ url })).submitted()
}

if (namedServer === undefined || (await isEmpty(namedServer))) test(title, getsReady)
else test.skip(`${title}: the log at EVENTSTORE_URL is not empty`, getsReady)
