import test, { type ExecutionContext } from 'ava'
import { serviceFor } from '../kit/service/in-process-service.js'
import { addressOf, killed, startService, type ServiceProcess } from '../kit/service/service-process.js'
import { loadOn, usualMix, type LoadMix } from '../kit/load/load.js'
import { sleep, until } from '../kit/time/until.js'
import { isOnServers } from '../kit/stores/servers.js'
import { eventsAfter, isWhole, stillOwed, streams } from '../kit/load/streams.js'
import { dataDirectoryWithStores } from '../kit/service/data-directory.js'
import { clientOf } from '../kit/network/http.js'
import { markOf, missingFrom, since, type Acknowledged } from '../kit/load/ledger.js'
import { openLoadedAccount } from '../kit/load/loaded-account.js'
import { randomFrom, seedOf } from '../kit/load/random.js'
import { startReceiver, type LoadReceiver } from '../kit/load/load-receiver.js'

/** What the load on a process is like until it is killed. */
type Life = {
  readonly mix: LoadMix
  /** How long the receiver takes to answer, in milliseconds. */
  readonly receiverTakes: number
  /** Whether the start that follows is killed too, before it listens or right after. */
  readonly inTheStart: boolean
}

const usualLife: Life = { mix: usualMix, receiverTakes: 0, inTheStart: false }

/**
 * Each in its turn: a mixed load, many leads that share few numbers, deliveries held by a slow receiver, kills of
 * starts.
 */
const lives: ReadonlyArray<Life> = [
  usualLife,
  { ...usualLife, mix: { ...usualMix, workers: 12, repeatedPhones: 0.9, conversions: 0.4 } },
  { ...usualLife, mix: { ...usualMix, workers: 3 }, receiverTakes: 40 },
  { ...usualLife, receiverTakes: 5, inTheStart: true },
]

/** On servers the work of a process that was killed goes on only when its lease is over: each kill takes seconds. */
const amounts = isOnServers
  ? { kills: 4, shortestLife: 1_000, longestLife: 2_000, answers: 3, deliveries: 2, firstStarts: 2 }
  : { kills: 6, shortestLife: 20, longestLife: 300, answers: 3, deliveries: 2, firstStarts: 2 }
/** `FAULT_KILLS` asks for more of them, such as a thousand. */
const kills = Number(process.env['FAULT_KILLS'] ?? amounts.kills)

test.serial(
  `nothing acknowledged is lost by ${kills} kills at random moments, whatever the load is like`,
  async (t) => {
    t.timeout(60_000 + kills * 5_000)
    const random = randomFrom(seedOf(t))
    const directory = await dataDirectoryWithStores(t)
    // Every post succeeds, so a process that lives has no reason to repeat one.
    const posted = new Set<string>()
    const repeatedInOneLife: Array<string> = []
    let life = usualLife
    let lifetime = 0
    const receiver = await startReceiver(t, (_nth, id) => {
      if (posted.has(`${lifetime} ${id}`)) repeatedInOneLife.push(id)
      posted.add(`${lifetime} ${id}`)
      return life.receiverTakes === 0 ? undefined : sleep(life.receiverTakes)
    })
    const start = (): ServiceProcess => {
      lifetime += 1
      return startService(t, directory)
    }
    const log = streams()
    let service = start()
    const account = await openLoadedAccount(await addressOf(service), receiver.url)
    const { ledger, run } = loadOn(account, random)
    let mark = markOf(ledger)

    for (let kill = 1; kill <= kills; kill += 1) {
      life = lives[(kill - 1) % lives.length] ?? usualLife
      const address = await addressOf(service)
      t.deepEqual(await missingFrom(address, account, since(ledger, mark)), [])
      mark = markOf(ledger)
      const load = run(address, new AbortController().signal, life.mix)
      await sleep(amounts.shortestLife + random() * (amounts.longestLife - amounts.shortestLife))
      await killed(service)
      await load

      log.take(eventsAfter(directory, log.position()))
      t.deepEqual(log.problems, [], `after kill ${kill}`)
      t.deepEqual(log.unknown(ledger), [], `after kill ${kill}`)
      t.deepEqual(ledger.surprises, [], `after kill ${kill}`)
      service = start()
      if (life.inTheStart) {
        await sleep(random() * 350)
        await killed(service)
        service = start()
      }
    }

    const address = await addressOf(service)
    // However slow the machine is: the last life lasts until the load was one.
    const over = new AbortController()
    const isLoad = (): boolean => ledger.leads.length > kills && ledger.records.length > 0
    await Promise.all([
      until('leads and conversions were acknowledged', 60_000, isLoad).finally(() => over.abort()),
      run(address, over.signal),
    ])
    t.deepEqual(await missingFrom(address, account, ledger), [])
    t.deepEqual(await stillOwed(log, directory, address), [])
    await killed(service)
    t.deepEqual(repeatedInOneLife, [])
    await isWholeAndTold(t, directory, receiver, ledger)
  },
)

const isWholeAndTold = async (
  t: ExecutionContext,
  directory: string,
  receiver: LoadReceiver,
  ledger: Acknowledged,
): Promise<void> => {
  const log = await isWhole(t, directory, receiver, ledger)
  const repeats = [...receiver.bodies.values()].filter((bodies) => bodies.length > 1).length
  t.log(
    `${ledger.leads.length} leads and ${ledger.records.length} conversions acknowledged, ${log.leads()} leads and ` +
      `${log.deliveries()} deliveries in the log, ${repeats} of them posted more than once`,
  )
}

test.serial(
  `nothing acknowledged is lost by a kill at the first answer, the second, and so on to number ${amounts.answers}`,
  async (t) => {
    t.timeout(60_000)
    const directory = await dataDirectoryWithStores(t)
    const receiver = await startReceiver(t)
    const log = streams()
    let service = startService(t, directory)
    const account = await openLoadedAccount(await addressOf(service), receiver.url)
    const { ledger, submit, convert } = loadOn(account, randomFrom(seedOf(t)))
    let mark = markOf(ledger)

    for (let nth = 1; nth <= amounts.answers; nth += 1) {
      const address = await addressOf(service)
      t.deepEqual(await missingFrom(address, account, since(ledger, mark)), [])
      mark = markOf(ledger)
      let answers = 0
      const client = clientOf(address)
      const work = async (): Promise<void> => {
        for (;;) {
          const answered = await (answers % 3 === 2 ? convert(client) : submit(client))
          if (answered === undefined) return
          answers += 1
          if (answers === nth) service.signal('SIGKILL')
        }
      }
      await Promise.all(Array.from({ length: 4 }, work))
      client.close()
      await killed(service)
      t.true(answers >= nth)
      log.take(eventsAfter(directory, log.position()))
      t.deepEqual(log.problems, [], `after answer ${nth}`)
      t.deepEqual(log.unknown(ledger), [], `after answer ${nth}`)
      service = startService(t, directory)
    }

    const address = await addressOf(service)
    t.deepEqual(await missingFrom(address, account, ledger), [])
    t.deepEqual(await stillOwed(log, directory, address), [])
    t.deepEqual(ledger.surprises, [])
    await killed(service)
    await isWholeAndTold(t, directory, receiver, ledger)
  },
)

test.serial('a delivery that was out when the service was killed is posted again with the same bytes', async (t) => {
  t.timeout(60_000)
  const directory = await dataDirectoryWithStores(t)
  let service = startService(t, directory)
  let left = Number.POSITIVE_INFINITY
  const struck: Array<string> = []
  const receiver = await startReceiver(t, (_nth, id) => {
    left -= 1
    if (left > 0) return Promise.resolve()
    if (left === 0) {
      struck.push(id)
      service.signal('SIGKILL')
    }
    return new Promise(() => undefined)
  })
  const log = streams()
  const account = await openLoadedAccount(await addressOf(service), receiver.url)
  const { ledger, submit } = loadOn(account, randomFrom(seedOf(t)))

  for (let nth = 1; nth <= amounts.deliveries; nth += 1) {
    const client = clientOf(await addressOf(service))
    left = nth
    await Promise.all(Array.from({ length: 8 }, () => submit(client)))
    await service.exited
    client.close()
    left = Number.POSITIVE_INFINITY
    service = startService(t, directory)
    t.deepEqual(await stillOwed(log, directory, await addressOf(service)), [], `after delivery ${nth}`)
  }

  await killed(service)
  t.is(struck.length, amounts.deliveries)
  t.deepEqual(
    struck.filter((id) => (receiver.bodies.get(id)?.length ?? 0) < 2),
    [],
  )
  await isWholeAndTold(t, directory, receiver, ledger)
})

test.serial('a first start that is killed at any moment can be started again', async (t) => {
  t.timeout(60_000)
  const random = randomFrom(seedOf(t))
  const receiver = await startReceiver(t)
  for (let kill = 1; kill <= amounts.firstStarts; kill += 1) {
    const directory = await dataDirectoryWithStores(t)
    const first = startService(t, directory)
    await sleep(random() * 350)
    await killed(first)
    const { url: address, stop } = await serviceFor(t, directory)
    const account = await openLoadedAccount(address, receiver.url)
    const { ledger, submit } = loadOn(account, random)
    const client = clientOf(address)
    const answered = await submit(client)
    client.close()
    t.is(answered?.status, 200)
    const log = streams()
    t.deepEqual(await stillOwed(log, directory, address), [], `after kill ${kill}`)
    t.deepEqual(log.problems, [], `after kill ${kill}`)
    t.deepEqual(log.unknown(ledger), [])
    await stop()
  }
})
