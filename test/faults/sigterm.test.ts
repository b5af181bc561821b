import test from 'ava'
import { once } from 'node:events'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { serviceFor } from '../kit/service/in-process-service.js'
import { addressOf, startService, stopped } from '../kit/service/service-process.js'
import { loadOn, usualMix } from '../kit/load/load.js'
import { differingReadModels, eventsAfter, stillOwed, streams } from '../kit/load/streams.js'
import { sleep, until } from '../kit/time/until.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { leadFields } from '../kit/load/submissions.js'
import { missingFrom } from '../kit/load/ledger.js'
import { openLoadedAccount, type LoadedAccount } from '../kit/load/loaded-account.js'
import { randomFrom, seedOf } from '../kit/load/random.js'
import { startReceiver } from '../kit/load/load-receiver.js'

test.serial('SIGTERM under load loses nothing that was acknowledged and no delivery', async (t) => {
  t.timeout(120_000)
  const random = randomFrom(seedOf(t))
  const directory = temporaryDirectory(t)
  let receiverTakes = 0
  const receiver = await startReceiver(t, () => (receiverTakes === 0 ? undefined : sleep(receiverTakes)))
  const log = streams()
  let service = startService(t, directory)
  const account = await openLoadedAccount(await addressOf(service), receiver.url)
  const { ledger, run } = loadOn(account, random, { ...usualMix, workers: 16 })

  for (const receiverIs of ['quick', 'slow']) {
    receiverTakes = receiverIs === 'quick' ? 0 : 60
    const address = await addressOf(service)
    t.deepEqual(await missingFrom(address, account, ledger), [])
    const load = run(address, new AbortController().signal)
    await sleep(50 + random() * 300)
    await stopped(t, service)
    await load
    log.take(eventsAfter(directory, log.position()))
    t.deepEqual(log.problems, [], `with a ${receiverIs} receiver`)
    t.deepEqual(log.unknown(ledger), [], `with a ${receiverIs} receiver`)
    t.deepEqual(ledger.surprises, [], `with a ${receiverIs} receiver`)
    t.is(log.leads(), new Set(ledger.leads.map(({ leadId }) => leadId)).size, 'what got no answer left no trace')
    service = startService(t, directory)
  }

  const address = await addressOf(service)
  t.deepEqual(await stillOwed(log, directory, address), [])
  t.deepEqual(await missingFrom(address, account, ledger), [])
  await stopped(t, service)
  t.deepEqual(log.undelivered(receiver), [])
  t.deepEqual(log.unrecorded(receiver), [], 'every request was waited for and recorded')
  t.deepEqual(await differingReadModels(directory), [])
  t.log(`${ledger.leads.length} leads; unanswered: ${JSON.stringify([...ledger.unanswered])}`)
})

test.serial(
  'requests that were in flight at SIGTERM are answered and told that their connection closes, and new ones are refused',
  async (t) => {
    const directory = temporaryDirectory(t)
    const receiver = await startReceiver(t)
    const service = startService(t, directory)
    const address = await addressOf(service)
    const account = await openLoadedAccount(address, receiver.url)
    const begun = await Promise.all(Array.from({ length: 8 }, (_, index) => begunLead(address, account, index + 1)))

    service.signal('SIGTERM')
    await refused(address)
    const answers = await Promise.all(begun.map(({ finish }) => finish()))

    t.deepEqual(
      answers.map(({ statusCode, headers }) => [statusCode, headers.connection]),
      Array.from({ length: 8 }, () => [200, 'close']),
    )
    t.deepEqual(await service.exited, { code: 0, signal: null })
    const log = streams()
    log.take(eventsAfter(directory, 0))
    t.is(log.leads(), 8)

    const again = await serviceFor(t, directory)
    t.deepEqual(await stillOwed(log, directory, again.url), [])
    await again.stop()
    t.deepEqual([log.problems, log.undelivered(receiver)], [[], []])
  },
)

test.serial('a request that never ends keeps SIGTERM waiting for a limited time', async (t) => {
  t.timeout(60_000)
  const service = startService(t, temporaryDirectory(t))
  const address = await addressOf(service)
  const account = await openLoadedAccount(address, 'http://127.0.0.1:9/nobody')
  const { outgoing } = await begunLead(address, account, 1)
  outgoing.once('error', () => undefined)
  const begun = performance.now()
  await stopped(t, service)
  t.true(performance.now() - begun < 60_000)
})

type Begun = { readonly outgoing: ClientRequest; readonly finish: () => Promise<IncomingMessage> }

/** A lead whose head the service has taken in, for it asks for the body. */
const begunLead = async (address: string, account: LoadedAccount, nth: number): Promise<Begun> => {
  const body = JSON.stringify(leadFields(nth, `(415) 555-01${nth.toString().padStart(2, '0')}`))
  const outgoing = request(address + account.postPath, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(body)),
      connection: 'keep-alive',
      expect: '100-continue',
    },
  })
  outgoing.flushHeaders()
  await once(outgoing, 'continue')
  return {
    outgoing,
    finish: async () => {
      const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
      outgoing.end(body)
      const [response] = await answered
      response.resume()
      await once(response, 'end')
      return response
    },
  }
}

/** Waits until nobody takes connections any more. */
const refused = async (address: string): Promise<void> => {
  const { hostname, port } = new URL(address)
  const outcome = (): Promise<string> =>
    new Promise((resolve) => {
      const socket = connect(Number(port), hostname)
      socket.once('connect', () => {
        socket.destroy()
        resolve('connected')
      })
      socket.once('error', ({ code = 'unknown' }: NodeJS.ErrnoException) => resolve(code))
    })
  await until('connections are refused', 60_000, outcome, (code) => code === 'ECONNREFUSED')
}
