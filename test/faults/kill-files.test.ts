import test, { type ExecutionContext } from 'ava'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { serviceFor } from '../kit/service/in-process-service.js'
import { addressOf, killed, startService } from '../kit/service/service-process.js'
import { loadOn } from '../kit/load/load.js'
import { differingReadModels, eventsAfter, stillOwed, streams } from '../kit/load/streams.js'
import { copyDirectory, readWriteAheadLog } from './write-ahead-log.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { clientOf } from '../kit/network/http.js'
import { leadFields } from '../kit/load/submissions.js'
import { markOf, missingFrom, type Ledger } from '../kit/load/ledger.js'
import { openLoadedAccount, type LoadedAccount } from '../kit/load/loaded-account.js'
import { randomFrom } from '../kit/load/random.js'
import { startReceiver } from '../kit/load/load-receiver.js'

test.serial('from every durable step of two leads and a sale the rest follows, whoever asks again', async (t) => {
  t.timeout(120_000)
  const directory = temporaryDirectory(t)
  const receiver = await startReceiver(t)
  const first = await serviceFor(t, directory)
  const account = await openLoadedAccount(first.url, receiver.url)
  const log = streams()
  t.deepEqual(await stillOwed(log, directory, first.url), [])
  await first.stop()
  const mainFile = readFileSync(join(directory, 'leadloop.db'))

  const second = startService(t, directory)
  const secondAddress = await addressOf(second)
  const told = await playedOnce(t, secondAddress, account)
  t.deepEqual(await stillOwed(log, directory, secondAddress), [])
  await killed(second)
  t.true(
    readFileSync(join(directory, 'leadloop.db')).equals(mainFile),
    'every step still stands in the write-ahead log',
  )
  const history = eventsAfter(directory, 0)

  const { commits } = readWriteAheadLog(join(directory, 'leadloop.db-wal'))
  t.true(commits.length > 10, `${commits.length} steps`)
  const reached = new Set<number>()
  const from = async (end: number): Promise<void> => {
    const copy = temporaryDirectory(t)
    copyDirectory(directory, copy, end)
    const beside = temporaryDirectory(t)
    copyDirectory(copy, beside)
    const prefix = eventsAfter(beside, 0)
    reached.add(prefix.length)
    t.deepEqual(prefix, history.slice(0, prefix.length))
    const { url: address, stop } = await serviceFor(t, copy)
    const { ledger, submit, convert } = loadOn(account, randomFrom(end))
    const client = clientOf(address)
    for (const { submission } of told.leads) await submit(client, submission)
    for (const pair of told.records) await convert(client, pair)
    client.close()
    t.is(ledger.leads.length, 2)
    t.deepEqual(ledger.surprises, [])
    const now = streams()
    t.deepEqual(await missingFrom(address, account, ledger), [])
    t.deepEqual(await stillOwed(now, copy, address), [], `from ${prefix.length} events`)
    await stop()
    t.deepEqual(eventsAfter(copy, 0).slice(0, prefix.length), prefix)
    t.deepEqual(now.problems, [], `from ${prefix.length} events`)
    t.deepEqual(now.unknown(ledger), [])
    t.deepEqual(now.undelivered(receiver), [])
    t.is(now.leads(), 2)
    t.deepEqual(await differingReadModels(copy), [])
  }
  const queue = [...commits]
  const work = async (): Promise<void> => {
    for (let end = queue.shift(); end !== undefined; end = queue.shift()) await from(end)
  }
  await Promise.all([work(), work()])
  t.log(`${commits.length} steps, ${reached.size} of them with a log of another length`)
})

/** One lead under an Idempotency-Key, one under the vendor's own id and with the same number, one sale. */
const playedOnce = async (t: ExecutionContext, address: string, account: LoadedAccount): Promise<Ledger> => {
  const { ledger, submit, convert } = loadOn(account, randomFrom(1))
  const client = clientOf(address)
  await submit(client, { fields: leadFields(1, '(415) 555-0123'), phone: '+14155550123', key: 'first' })
  const ownId = { ...leadFields(2, '415.555.0123'), lead_id: 'crm-2' }
  await submit(client, { fields: ownId, phone: '+14155550123', key: undefined })
  const [contactId, conversionId] = [ledger.leads[0]?.contactId ?? '', account.conversionIds[0] ?? '']
  await convert(client, { conversionId, contactId })
  client.close()
  t.deepEqual(ledger.surprises, [])
  t.deepEqual(markOf(ledger), { leads: 2, records: 1 })
  return ledger
}
