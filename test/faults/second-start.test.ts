import test, { type ImplementationFn } from 'ava'
import { spawnSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { refusalOf, serviceFor } from '../kit/service/in-process-service.js'
import { addressOf, isRefused, killed, startService } from '../kit/service/service-process.js'
import { loadOn, usualMix } from '../kit/load/load.js'
import { differingReadModels, stillOwed, streams } from '../kit/load/streams.js'
import { until } from '../kit/time/until.js'
import { openTemporaryDirectory, temporaryDirectory } from '../kit/temporary-directory.js'
import { missingFrom } from '../kit/load/ledger.js'
import { openLoadedAccount } from '../kit/load/loaded-account.js'
import { randomFrom } from '../kit/load/random.js'
import { startReceiver } from '../kit/load/load-receiver.js'

test.serial(
  'a second process on one DATA_DIR is refused with a sentence while the first goes on serving',
  async (t) => {
    const directory = temporaryDirectory(t)
    const receiver = await startReceiver(t)
    const { url: address, stop } = await serviceFor(t, directory)
    const account = await openLoadedAccount(address, receiver.url)
    const { ledger, run } = loadOn(account, randomFrom(1), { ...usualMix, workers: 1 })
    const over = new AbortController()
    const load = run(address, over.signal)

    await isRefused(t, startService(t, directory), /another process is using/)
    const told = ledger.leads.length
    await until('the first goes on taking leads', 60_000, () => ledger.leads.length > told)
    over.abort()
    await load

    t.deepEqual([ledger.surprises, [...ledger.unanswered]], [[], []])
    t.deepEqual(await missingFrom(address, account, ledger), [])
    const log = streams()
    t.deepEqual(await stillOwed(log, directory, address), [])
    t.deepEqual([log.problems, log.unknown(ledger), log.undelivered(receiver)], [[], [], []])
    await stop()
    t.deepEqual(await differingReadModels(directory), [])
  },
)

test.serial('of several processes that start at once on one new DATA_DIR exactly one serves', async (t) => {
  const directory = join(temporaryDirectory(t), 'data')
  const services = [1, 2, 3].map(() => startService(t, directory))
  const addresses = await Promise.all(services.map(({ listening }) => listening))
  t.is(addresses.filter((address) => address !== undefined).length, 1)
  for (const [index, service] of services.entries()) {
    if (addresses[index] === undefined) await isRefused(t, service, /DATA_DIR/)
  }
})

test.serial('after the first process was killed the second starts at once', async (t) => {
  const directory = temporaryDirectory(t)
  const receiver = await startReceiver(t)
  const first = startService(t, directory)
  const account = await openLoadedAccount(await addressOf(first), receiver.url)
  const { ledger, run } = loadOn(account, randomFrom(1), { ...usualMix, workers: 1 })

  const load = run(await addressOf(first), new AbortController().signal)
  await until('leads were accepted', 60_000, () => ledger.leads.length > 2)
  t.regex(await refusalOf(directory), /another process is using/)
  await killed(first)
  // No lock is left that anybody would have to wait for or take away.
  const second = await serviceFor(t, directory)
  await load
  t.deepEqual(await missingFrom(second.url, account, ledger), [])
})

test.serial('a start whose port is in use is refused with a sentence and frees its DATA_DIR', async (t) => {
  const taken = await serviceFor(t, temporaryDirectory(t))
  const directory = temporaryDirectory(t)
  const port = Number(new URL(taken.url).port)
  t.regex(await refusalOf(directory, { port }), /^PORT: nothing can listen at 127\.0\.0\.1/)
  await t.notThrowsAsync(serviceFor(t, directory))
})

const isRoot = process.getuid?.() === 0

/** Root writes to any file but one that is marked so. */
const setWritable = (file: string, isWritable: boolean): boolean => {
  if (isRoot) return spawnSync('chattr', [isWritable ? '-i' : '+i', file], { stdio: 'ignore' }).status === 0
  chmodSync(file, isWritable ? 0o644 : 0o444)
  return true
}

const mayMark = ((): boolean => {
  const { path, remove } = openTemporaryDirectory()
  const file = join(path, 'file')
  writeFileSync(file, '')
  const isMarked = setWritable(file, false)
  setWritable(file, true)
  void remove()
  return isMarked
})()

const withMarks = (title: string, implementation: ImplementationFn<[]>): void => {
  if (mayMark) test.serial(title, implementation)
  else test.skip(`left out for want of chattr: ${title}`, implementation)
}

withMarks(
  'where the lock can not be written, as after a careless restore, two processes never serve at once',
  async (t) => {
    const directory = temporaryDirectory(t)
    const first = await serviceFor(t, directory)
    await first.stop()
    const lock = join(directory, 'lock.db')
    t.teardown(() => {
      setWritable(lock, true)
    })
    setWritable(lock, false)
    const services = [startService(t, directory), startService(t, directory)]
    const addresses = await Promise.all(services.map(({ listening }) => listening))
    t.true(addresses.filter((address) => address !== undefined).length <= 1)
    for (const [index, service] of services.entries()) {
      if (addresses[index] === undefined) await isRefused(t, service, /DATA_DIR/)
    }
  },
)
