import test, { type ExecutionContext } from 'ava'
import { having, send } from '../kit/network/http.js'
import { openAccount } from '../kit/service/account.js'
import { newPhone } from '../kit/service/leads.js'
import { addressOf, startService } from '../kit/service/service-process.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'
import { eventStoreFor, isEmpty, namedServer, settingsOn } from './server.js'

const title = 'a service gets ready on the empty log of an EventStoreDB, and takes leads'

const getsReady = async (t: ExecutionContext): Promise<void> => {
  const service = startService(t, temporaryDirectory(t), settingsOn(await eventStoreFor(t)))
  const url = await addressOf(service)
  const health = () => send(`${url}/health/ready`)
  await until('it is ready', 30_000, async () => (await health()).body.status === 'ready')
  t.like((await health()).body, { lag_unit: 'bytes' })
  const account = await openAccount({ url })
  const phone = newPhone()
  const { contact_id } = await account.submitted({ phone })
  // A follower that was told a position that is none would have stopped.
  t.is(having(await account.find(phone), 'contact').id, contact_id)
  t.is((await health()).body.status, 'ready')
}

if (namedServer === undefined || (await isEmpty(namedServer))) test(title, getsReady)
else test.skip(`${title}: the log at EVENTSTORE_URL is not empty`, getsReady)
