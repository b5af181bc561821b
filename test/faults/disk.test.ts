import test, { type ExecutionContext, type ImplementationFn } from 'ava'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  addressOf,
  killed,
  startService,
  stopped,
  type LogLine,
  type ServiceProcess,
} from '../kit/service/service-process.js'
import { refusalOf, serviceFor, type Service } from '../kit/service/in-process-service.js'
import { loadOn, usualMix, type Load } from '../kit/load/load.js'
import { differingReadModels, eventsAfter, stillOwed, streams } from '../kit/load/streams.js'
import { until } from '../kit/time/until.js'
import { temporaryDirectory } from '../kit/temporary-directory.js'
import { commandOf, launch } from '../kit/parts/program.js'
import { clientOf } from '../kit/network/http.js'
import { finding, openLoadedAccount, type LoadedAccount } from '../kit/load/loaded-account.js'
import { missingFrom, type Acknowledged } from '../kit/load/ledger.js'
import { below, randomFrom, seedOf } from '../kit/load/random.js'
import { startReceiver, type LoadReceiver } from '../kit/load/load-receiver.js'
import { readWriteAheadLog } from './write-ahead-log.js'

// What a machine must have for a test: where it lacks it, the report says so.

type Need = { readonly name: string; readonly isMet: boolean }

const testWith =
  ({ name, isMet }: Need) =>
  (title: string, implementation: ImplementationFn<[]>): void => {
    if (isMet) test.serial(title, implementation)
    else test.skip(`left out for want of ${name}: ${title}`, implementation)
  }

const runs = (command: string, ...args: ReadonlyArray<string>): boolean =>
  spawnSync(command, args, { stdio: 'ignore' }).status === 0

const isRoot = process.platform === 'linux' && process.getuid?.() === 0

/** In a container root may still not be allowed to mount. */
const mayMount = isRoot && runs('unshare', '--mount', 'mount', '-t', 'tmpfs', 'tmpfs', '/tmp')

const ptraceScope = '/proc/sys/kernel/yama/ptrace_scope'
const mayTrace =
  runs('strace', '-o', '/dev/null', 'true') &&
  (isRoot || !existsSync(ptraceScope) || readFileSync(ptraceScope, 'utf8').trim() === '0')

const withPrlimit = testWith({ name: 'prlimit', isMet: runs('prlimit', '--version') })
const withMounts = testWith({ name: isRoot ? 'the right to mount' : 'root', isMet: mayMount })
const withStrace = testWith({ name: 'strace', isMet: mayTrace })

// A service with an account whose disk can be taken away.

type Setting = {
  readonly directory: string
  readonly service: ServiceProcess
  readonly address: string
  readonly account: LoadedAccount
  readonly receiver: LoadReceiver
  readonly load: Load
}

const setting = async (t: ExecutionContext, directory: string, largestFile?: number): Promise<Setting> => {
  const receiver = await startReceiver(t)
  const service = startService(t, directory, { LOG_LEVEL: 'warn' }, largestFile)
  const address = await addressOf(service)
  const account = await openLoadedAccount(address, receiver.url)
  const mix = { ...usualMix, conversions: 0, searches: 0, mayBeUnavailable: true }
  return { directory, service, address, account, receiver, load: loadOn(account, randomFrom(seedOf(t)), mix) }
}

const runFor = async ({ load, address }: Setting, milliseconds: number): Promise<void> => {
  await load.run(address, AbortSignal.timeout(milliseconds))
}

/** Sends leads until this many were refused; every refusal is a 503 with Retry-After, or `surprises` shows it. */
const runUntilRefused = async ({ load, address }: Setting, refusals: number): Promise<void> => {
  const { statuses } = load.ledger
  const enough = (statuses.get(503) ?? 0) + refusals
  const over = new AbortController()
  const full = until('the disk is full', 60_000, () => (statuses.get(503) ?? 0) >= enough).finally(() => over.abort())
  await Promise.all([full, load.run(address, over.signal)])
}

/**
 * Everything that was acknowledged is there, what follows from it followed, and read models are what a rebuild makes.
 */
const isWhole = async (
  t: ExecutionContext,
  { url: address, stop }: Service,
  { directory, account, receiver }: Setting,
  told: Acknowledged,
): Promise<void> => {
  const log = streams()
  t.deepEqual(await stillOwed(log, directory, address), [])
  t.deepEqual(await missingFrom(address, account, told), [])
  t.deepEqual([log.problems, log.unknown(told), log.undelivered(receiver)], [[], [], []])
  await stop()
  t.deepEqual(await differingReadModels(directory), [])
}

/** The same of the service that runs. */
const isWholeStill = (t: ExecutionContext, whole: Setting): Promise<void> => {
  const { address: url, service, load } = whole
  return isWhole(t, { url, stop: () => stopped(t, service) }, whole, load.ledger)
}

const isLogged = async (t: ExecutionContext, service: ServiceProcess, pattern: RegExp): Promise<void> => {
  const isWarning = (line: LogLine): boolean => line.level >= 40 && pattern.test(JSON.stringify(line))
  const warning = until(`the log says ${String(pattern)}`, 60_000, () => service.logged().some(isWarning))
  await t.notThrowsAsync(warning)
}

/** From now on no write beyond this many bytes of a file succeeds. */
const limitFiles = ({ pid }: ServiceProcess, bytes: number | 'unlimited'): void => {
  spawnSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`])
}

test.serial(
  'a full disk is answered with 503 and Retry-After, and a restart with room has all that got a 200',
  async (t) => {
    t.timeout(60_000)
    const full = await setting(t, temporaryDirectory(t), 2_000)
    await runUntilRefused(full, 50)
    const { ledger } = full.load
    t.deepEqual([ledger.surprises, [...ledger.unanswered]], [[], []])
    t.true(ledger.leads.length > 0)
    await killed(full.service)
    await isWhole(t, await serviceFor(t, full.directory), full, ledger)
  },
)

withPrlimit(
  'while nothing can be written what is known is found, the log says it, and what is refused leaves no trace',
  async (t) => {
    t.timeout(60_000)
    const whole = await setting(t, temporaryDirectory(t))
    const { load, service, address, account, directory } = whole
    await runFor(whole, 300)
    t.deepEqual(await stillOwed(streams(), directory, address), [])
    const told = { leads: [...load.ledger.leads], records: [] }
    const client = clientOf(address)

    limitFiles(service, 1)
    t.deepEqual(await missingFrom(address, account, told), [])
    for (let nth = 1; nth <= 20; nth += 1) {
      t.is((await load.submit(client))?.status, 503)
      t.is((await load.convert(client))?.status, 503)
    }
    t.is((await client.send('/health/live')).status, 200)
    await isLogged(t, service, /disk/)
    await runUntilRefused(whole, 50)
    t.like((await client.send('/health/ready')).body, {
      status: 'degraded',
      append_failure: 'the disk does not answer (SQLITE_IOERR_WRITE)',
    })
    limitFiles(service, 'unlimited')

    t.is((await load.submit(client))?.status, 200)
    t.like((await client.send('/health/ready')).body, { append_failure: null })
    t.is((await load.convert(client))?.status, 201)
    client.close()
    const [refused, leads] = [load.ledger.statuses.get(503), load.ledger.leads.length]
    await runFor(whole, 200)
    t.is(load.ledger.statuses.get(503), refused, 'nothing is refused any more')
    t.true(load.ledger.leads.length > leads)
    t.deepEqual(load.ledger.surprises, [])
    await isWholeStill(t, whole)
    const log = streams()
    log.take(eventsAfter(directory, 0))
    t.is(log.leads(), load.ledger.leads.length)
  },
)

/**
 * A lead and its sale at each of these amounts of room for the write-ahead log; what was denied to one who got a 200.
 */
const deniedWithRoomFor = async (
  t: ExecutionContext,
  frames: ReadonlyArray<number>,
): Promise<ReadonlyArray<string>> => {
  const directory = temporaryDirectory(t)
  const whole = await setting(t, directory)
  const { load, service, address, account } = whole
  const file = join(directory, 'leadloop.db-wal')
  const client = clientOf(address)
  const log = streams()
  const denied: Array<string> = []
  for (const room of frames) {
    t.deepEqual(await stillOwed(log, directory, address), [], `${room} frames`)
    limitFiles(service, statSync(file).size + room * readWriteAheadLog(file).frameLength)
    const told = load.ledger.leads.length
    await load.submit(client)
    const lead = load.ledger.leads[told]
    if (lead !== undefined) {
      const found = await client.send(...finding(account, lead.submission.phone))
      if (found.status !== 200 && found.status !== 503) denied.push(`room for ${room} pages: ${found.status}`)
      // A sale is refused in the same words: `surprises` shows it.
      await load.convert(client, { contactId: lead.contactId, conversionId: account.conversionIds[0] ?? '' })
    }
    limitFiles(service, 'unlimited')
  }
  client.close()
  await isWholeStill(t, whole)
  return [...denied, ...load.ledger.surprises]
}

withPrlimit(
  'whichever write the disk becomes full at, nobody who got a 200 is told that there is no contact',
  async (t) => {
    t.timeout(120_000)
    const random = randomFrom(seedOf(t))
    // A lead and its sale write some 25 pages. Each write that waits for room takes seconds: so two services side by
    // side.
    const some = [0, 8, 16].map((least) => least + below(random, 8))
    const others = [4, 12, 20].map((least) => least + below(random, 5))
    t.deepEqual((await Promise.all([some, others].map((rooms) => deniedWithRoomFor(t, rooms)))).flat(), [])
  },
)

withPrlimit('SIGTERM on a full disk ends in order, and a restart with room has everything', async (t) => {
  const whole = await setting(t, temporaryDirectory(t))
  const { load, service, directory } = whole
  await runFor(whole, 300)
  limitFiles(service, 1)
  await runUntilRefused(whole, 20)
  await stopped(t, service)
  t.notRegex(service.stderr(), /Error/)
  await isWhole(t, await serviceFor(t, directory), whole, load.ledger)
})

/** A file system of 16 MB that goes when the test is over. */
const smallDisk = (t: ExecutionContext): string => {
  const disk = temporaryDirectory(t)
  t.true(runs('mount', '-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk))
  t.teardown(() => {
    spawnSync('umount', ['--lazy', disk])
  })
  return disk
}

withMounts(
  'a file system without room gives 503, is said in the log, and is used again when there is room',
  async (t) => {
    t.timeout(60_000)
    const disk = smallDisk(t)
    const directory = join(disk, 'data')
    const whole = await setting(t, directory)
    const { load, service } = whole
    await runFor(whole, 200)
    const filler = join(disk, 'filler')
    t.throws(() => writeFileSync(filler, Buffer.alloc(32 * 2 ** 20)), { code: 'ENOSPC' })
    await runUntilRefused(whole, 50)
    await isLogged(t, service, /disk is full/)
    rmSync(filler)
    const [refused, leads] = [load.ledger.statuses.get(503), load.ledger.leads.length]
    await runFor(whole, 300)
    t.is(load.ledger.statuses.get(503), refused, 'nothing is refused any more')
    t.true(load.ledger.leads.length > leads)
    t.deepEqual([load.ledger.surprises, [...load.ledger.unanswered]], [[], []])
    await isWholeStill(t, whole)
  },
)

// The kernel refuses `remount,ro` while a file is open for writing, so a disk can't be made read-only under the service
// in this way: that is what strace is for below.
withMounts(
  'a start on a read-only file system is refused, and one when it can be written has everything',
  async (t) => {
    t.timeout(60_000)
    const disk = smallDisk(t)
    mkdirSync(join(disk, 'data'))
    const whole = await setting(t, join(disk, 'data'))
    await runFor(whole, 200)
    await killed(whole.service)
    t.true(runs('mount', '-o', 'remount,ro', disk))
    t.regex(await refusalOf(whole.directory), /read-only/)
    t.true(runs('mount', '-o', 'remount,rw', disk))
    await isWhole(t, await serviceFor(t, whole.directory), whole, whole.load.ledger)
  },
)

/** Has the kernel answer some calls of a running service otherwise; gives what ends it. */
const tampered = async (t: ExecutionContext, { pid }: ServiceProcess, inject: string): Promise<() => Promise<void>> => {
  const calls = inject.split(':', 1)[0] ?? ''
  const args = ['-f', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${inject}`, '-p', String(pid)]
  const tracer = spawn('strace', args, { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = once(tracer, 'exit')
  const end = async (): Promise<void> => {
    tracer.kill('SIGTERM')
    await ended
  }
  t.teardown(end)
  await Promise.race([once(tracer.stderr, 'data'), ended])
  t.is(tracer.exitCode, null)
  return end
}

/** Beside those that a file system without room shows. */
type Trouble = { readonly title: string; readonly inject: string; readonly reason: RegExp }

const troubles: ReadonlyArray<Trouble> = [
  {
    title: 'it has become read-only',
    inject: 'pwrite64:error=EROFS',
    reason: /disk does not answer .SQLITE_IOERR_WRITE/,
  },
  {
    title: 'it does not flush',
    inject: 'fsync,fdatasync:error=EIO',
    reason: /disk does not answer .SQLITE_IOERR_FSYNC/,
  },
]

withStrace('a disk in trouble gives 503, is said in the log, and is used again when it is well', async (t) => {
  t.timeout(60_000)
  const whole = await setting(t, temporaryDirectory(t))
  const { load, service } = whole
  for (const { title, inject, reason } of troubles) {
    await runFor(whole, 100)
    const end = await tampered(t, service, inject)
    const leads = load.ledger.leads.length
    await runUntilRefused(whole, 50)
    t.true(load.ledger.leads.length - leads <= usualMix.workers, `${title}: what was in flight, and nothing after it`)
    await isLogged(t, service, reason)
    await end()
    const refused = load.ledger.statuses.get(503)
    await runFor(whole, 100)
    t.is(load.ledger.statuses.get(503), refused, `${title}: nothing is refused any more`)
    t.deepEqual([load.ledger.surprises, [...load.ledger.unanswered]], [[], []], title)
  }
  await isWholeStill(t, whole)
})

withStrace('a lead is not acknowledged before the disk has flushed it', async (t) => {
  const { load, service, address } = await setting(t, temporaryDirectory(t))
  const flush = 400
  const end = await tampered(t, service, `fsync,fdatasync:delay_enter=${flush * 1000}`)
  const client = clientOf(address)
  const started = performance.now()
  const answered = await load.submit(client)
  const elapsed = performance.now() - started
  client.close()
  await end()
  t.is(answered?.status, 200)
  t.true(elapsed >= flush, `it was acknowledged after ${Math.round(elapsed)} ms, a flush takes ${flush} ms`)
})

// A follower's checkpoint beside it, in MongoDB, would outlive a power cut: nobody would truncate it again.
withStrace('what is truncated is gone only when the disk has flushed that', async (t) => {
  const flush = 200
  const calls = 'fsync,fdatasync'
  const traced = ['-f', '-o', '/dev/null', '-e', `trace=${calls}`, '-e', `inject=${calls}:delay_enter=${flush * 1000}`]
  const program = commandOf(new URL('truncating-process.js', import.meta.url))
  const tracer = launch('strace', [...traced, ...program, temporaryDirectory(t)], {})
  t.deepEqual(await tracer.exited, { code: 0, signal: null }, tracer.stderr())
  const elapsed = Number(tracer.stdout())
  t.true(elapsed >= flush, `it was answered after ${Math.round(elapsed)} ms, a flush takes ${flush} ms`)
})
