import test, { type ExecutionContext } from 'ava'
import Database from 'better-sqlite3'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import { refusalOf, serviceFor } from '../kit/service/in-process-service.js'
import { addressOf, isRefused, killed, startService } from '../kit/service/service-process.js'
import { loadOn, usualMix } from '../kit/load/load.js'
import { differingReadModels, eventsAfter, stillOwed, streams, type StoredEvent } from '../kit/load/streams.js'
import { copyDirectory, framesCopied, readWriteAheadLog, type WriteAheadLog } from './write-ahead-log.js'
import { until } from '../kit/time/until.js'
import { temporaryDirectory, type Scope } from '../kit/temporary-directory.js'
import { clientOf } from '../kit/network/http.js'
import { finding, openLoadedAccount, type LoadedAccount } from '../kit/load/loaded-account.js'
import { missingFrom, type Acknowledged } from '../kit/load/ledger.js'
import { randomFrom, seedOf, type Random } from '../kit/load/random.js'
import { startReceiver, type LoadReceiver } from '../kit/load/load-receiver.js'

/** The files of a service that was killed under load, and what they hold when nothing is wrong with them. */
type Snapshot = {
  readonly directory: string
  readonly history: ReadonlyArray<StoredEvent>
  readonly log: WriteAheadLog
  /** The first frame of the log that may be damaged: those before it stand in the main file. */
  readonly firstFree: number
  readonly account: LoadedAccount
  readonly told: Acknowledged
  readonly receiver: LoadReceiver
}

/** `young`: no checkpoint has copied anything yet. `grown`: the log was begun anew at least once, over older frames. */
type Age = 'young' | 'grown'

const taken = new Map<Age, Promise<Snapshot>>()

/** One for each age, which every test damages in a copy of its own. */
const snapshot = (t: ExecutionContext, age: Age): Promise<Snapshot> => {
  const snapshot = taken.get(age) ?? takeSnapshot(age, randomFrom(seedOf(t)))
  taken.set(age, snapshot)
  return snapshot
}

const untilTheLastTest: Array<() => void | Promise<void>> = []
const thisFile: Scope = { teardown: (undo) => void untilTheLastTest.unshift(undo) }

test.after.always(async () => {
  for (const undo of untilTheLastTest) await undo()
})

const takeSnapshot = async (age: Age, random: Random): Promise<Snapshot> => {
  const directory = temporaryDirectory(thisFile)
  const file = join(directory, 'leadloop.db')
  const receiver = await startReceiver(thisFile)
  const first = await serviceFor(thisFile, directory)
  const account = await openLoadedAccount(first.url, receiver.url)
  await first.stop()
  const begun = statSync(file).size
  const { ledger, run } = loadOn(account, random, { ...usualMix, workers: 4 })
  /** Undefined while too little of the log may be damaged. */
  const look = (): Pick<Snapshot, 'log' | 'firstFree'> | undefined => {
    const log = readWriteAheadLog(`${file}-wal`)
    const firstFree = framesCopied(`${file}-shm`)
    const isOldEnough = age === 'young' || statSync(file).size > begun
    return isOldEnough && log.frames.length - firstFree > 100 ? { log, firstFree } : undefined
  }

  // Between the last look and the kill a checkpoint may come: then once more.
  for (let round = 1; round <= 10; round += 1) {
    const service = startService(thisFile, directory)
    const load = run(await addressOf(service), new AbortController().signal)
    await until('enough of the log may be damaged', 60_000, look)
    await killed(service)
    await load
    const found = look()
    if (found !== undefined) {
      return { directory, history: eventsAfter(directory, 0), ...found, account, told: ledger, receiver }
    }
  }
  throw new Error(`no ${age} log came about`)
}

/** A copy of the snapshot with something done to its write-ahead log. */
const damaged = (t: ExecutionContext, { directory }: Snapshot, damage: (file: string) => void): string => {
  const copy = temporaryDirectory(t)
  copyDirectory(directory, copy)
  damage(join(copy, 'leadloop.db-wal'))
  return copy
}

/** The log of a copy, read beside it: a reader leaves files behind. */
const eventsIn = (t: ExecutionContext, copy: string): ReadonlyArray<StoredEvent> => {
  const beside = temporaryDirectory(t)
  copyDirectory(copy, beside)
  return eventsAfter(beside, 0)
}

/** How many events are left in a copy, all of them the beginning of the history. */
const prefixLeft = (t: ExecutionContext, { history }: Snapshot, copy: string): number => {
  const prefix = eventsIn(t, copy)
  t.deepEqual(prefix, history.slice(0, prefix.length))
  return prefix.length
}

/** Starts the service on a copy: it shows what is left of the history, all of it and nothing else. */
const servesPrefix = async (
  t: ExecutionContext,
  { account, told, receiver }: Snapshot,
  copy: string,
): Promise<void> => {
  const prefix = eventsIn(t, copy)
  const events = new Set(prefix.map(({ stream }) => stream))
  const known: Acknowledged = {
    leads: told.leads.filter(({ leadId }) => events.has(`lead-${leadId}`)),
    records: told.records.filter(({ body }) => events.has(`conversion_contact-${recordIdIn(body)}`)),
  }
  const shown = new Set(
    prefix.flatMap((event) => (event.type === 'LeadSubmitted' ? [event.data.details.phone as string] : [])),
  )
  const gone = new Set(told.leads.map(({ submission }) => submission.phone).filter((phone) => !shown.has(phone)))

  const { url: address, stop } = await serviceFor(t, copy)
  t.deepEqual(await missingFrom(address, account, known), [])
  const client = clientOf(address)
  for (const phone of gone) t.is((await client.send(...finding(account, phone))).status, 404)
  client.close()

  const now = streams()
  t.deepEqual(await stillOwed(now, copy, address), [])
  await stop()
  t.deepEqual(now.problems, [])
  t.deepEqual(now.unknown(known), [])
  t.deepEqual(now.undelivered(receiver), [])
  t.deepEqual(eventsAfter(copy, 0).slice(0, prefix.length), prefix)
  t.deepEqual(await differingReadModels(copy), [])
}

/** The log is read after each damage, the service started after one of them. */
const oneOf = <A>(all: ReadonlyArray<A>, random: Random): A => {
  const one = all[Math.floor(random() * all.length)]
  if (one === undefined) throw new Error('there is none')
  return one
}

const recordIdIn = (body: unknown): string =>
  (body as { readonly conversion_contact: { readonly id: string } }).conversion_contact.id

for (const age of ['young', 'grown'] as const) {
  test.serial(
    `a ${age} write-ahead log that is cut off anywhere leaves a prefix of what was acknowledged`,
    async (t) => {
      t.timeout(120_000)
      const random = randomFrom(seedOf(t))
      const from = await snapshot(t, age)
      const begin = 32 + from.firstFree * from.log.frameLength
      const end = (from.log.frames.at(-1) ?? 0) + from.log.frameLength
      const anywhere = Array.from({ length: 5 }, () => begin + Math.floor(random() * (end - begin)))
      // The last frames may hold read models alone: what is cut off there takes no event with it.
      const offsets = [begin, ...anywhere].sort((a, b) => a - b)
      const copies = offsets.map((offset) => damaged(t, from, (file) => truncateSync(file, offset)))
      const lengths = copies.map((copy) => prefixLeft(t, from, copy))
      t.deepEqual(
        lengths,
        lengths.toSorted((a, b) => a - b),
        'who loses less of the log shows more',
      )
      t.true((lengths[0] ?? 0) < from.history.length, 'something was cut off')
      await servesPrefix(t, from, oneOf(copies, random))
      t.log(`${from.history.length} events, of which the cuts left ${lengths.join(', ')}`)
    },
  )

  test.serial(`garbage behind a ${age} write-ahead log changes nothing`, async (t) => {
    t.timeout(120_000)
    const random = randomFrom(seedOf(t))
    const from = await snapshot(t, age)
    const end = (from.log.frames.at(-1) ?? 0) + from.log.frameLength
    const noise = (length: number): Buffer => Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)))
    const garbage: ReadonlyArray<(file: string) => void> = [
      (file) => appendFileSync(file, noise(1 + Math.floor(random() * 20_000))),
      (file) => overwrite(file, end, noise(from.log.frameLength * 2)),
      // A frame that looks like one of ours, at a place where its checksum is wrong.
      (file) => overwrite(file, end, readFileSync(file).subarray(end - from.log.frameLength, end)),
    ]
    const copies = garbage.map((damage) => damaged(t, from, damage))
    for (const copy of copies) t.is(prefixLeft(t, from, copy), from.history.length)
    await servesPrefix(t, from, oneOf(copies, random))
  })

  test.serial(`a torn last frame of a ${age} write-ahead log costs the last commit and no more`, async (t) => {
    t.timeout(120_000)
    const from = await snapshot(t, age)
    const [beforeLast, end = 0] = from.log.commits.slice(-2)
    // Behind it may stand frames of a commit that the kill cut short.
    const last = end - from.log.frameLength
    const whole = eventsIn(
      t,
      damaged(t, from, (file) => truncateSync(file, beforeLast)),
    ).length
    const tears: ReadonlyArray<(file: string) => void> = [
      (file) => truncateSync(file, last + 1000),
      (file) => overwrite(file, last + 2000, Buffer.alloc(from.log.frameLength - 2000)),
      (file) => overwrite(file, last, Buffer.alloc(24)),
    ]
    const copies = tears.map((damage) => damaged(t, from, damage))
    for (const copy of copies) t.is(prefixLeft(t, from, copy), whole)
    await servesPrefix(t, from, oneOf(copies, randomFrom(seedOf(t))))
  })

  test.serial(`a zeroed page in the middle of a ${age} write-ahead log ends the history before it`, async (t) => {
    t.timeout(120_000)
    const from = await snapshot(t, age)
    const { frames, frameLength, commits } = from.log
    const middle = frames[Math.floor((from.firstFree + frames.length) / 2)] ?? 0
    const before = commits.filter((end) => end <= middle).at(-1)
    const whole = eventsIn(
      t,
      damaged(t, from, (file) => truncateSync(file, before)),
    ).length
    const copy = damaged(t, from, (file) => overwrite(file, middle + 24, Buffer.alloc(frameLength - 24)))
    t.is(prefixLeft(t, from, copy), whole)
    await servesPrefix(t, from, copy)
    t.true(whole < from.history.length)
  })
}

const overwrite = (file: string, offset: number, bytes: Uint8Array): void => {
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, bytes, 0, bytes.length, offset)
  closeSync(descriptor)
}

const directories = new Map<'stop' | 'kill', Promise<string>>()

/**
 * A copy of a directory that holds an account and a few leads; a kill leaves a write-ahead log beside the main file.
 */
const filled = async (t: ExecutionContext, end: 'stop' | 'kill'): Promise<string> => {
  const directory = directories.get(end) ?? fill(t, end)
  directories.set(end, directory)
  const copy = temporaryDirectory(t)
  copyDirectory(await directory, copy)
  return copy
}

const fill = async (t: ExecutionContext, end: 'stop' | 'kill'): Promise<string> => {
  const directory = temporaryDirectory(thisFile)
  const receiver = await startReceiver(thisFile)
  const leadsTo = async (address: string): Promise<void> => {
    const { submit } = loadOn(await openLoadedAccount(address, receiver.url), randomFrom(1))
    const client = clientOf(address)
    for (let nth = 1; nth <= 5; nth += 1) t.is((await submit(client))?.status, 200)
    client.close()
  }
  if (end === 'kill') {
    const service = startService(thisFile, directory)
    await leadsTo(await addressOf(service))
    await killed(service)
  } else {
    const service = await serviceFor(thisFile, directory)
    await leadsTo(service.url)
    await service.stop()
  }
  return directory
}

/** Digests of the files, since to compare their bytes one by one takes seconds. */
const dataFiles = (directory: string): ReadonlyArray<string | undefined> =>
  ['leadloop.db', 'leadloop.db-wal']
    .map((name) => join(directory, name))
    .map((file) => (existsSync(file) ? createHash('sha256').update(readFileSync(file)).digest('hex') : undefined))

/** Of a new file, in bytes. */
const pageSize = 8_192

const headers: ReadonlyArray<{ readonly title: string; readonly damage: (file: string) => void }> = [
  { title: 'without its magic words', damage: (file) => overwrite(file, 0, Buffer.alloc(16)) },
  { title: 'with a page size of nothing', damage: (file) => overwrite(file, 16, Buffer.alloc(2)) },
  { title: 'whose first hundred bytes are noise', damage: (file) => overwrite(file, 0, Buffer.alloc(100, 0xa5)) },
  { title: 'whose first page is zeroes', damage: (file) => overwrite(file, 0, Buffer.alloc(pageSize)) },
  { title: 'of a format that is not known yet', damage: (file) => overwrite(file, 18, Buffer.alloc(2, 9)) },
  { title: 'that breaks off within its header', damage: (file) => truncateSync(file, 50) },
]

const isDamaged = /leadloop\.db can't be used: the file is damaged/

test.serial('a start on a damaged main file is refused with a sentence and leaves the file as it was', async (t) => {
  for (const { title, damage } of headers) {
    const copy = await filled(t, 'stop')
    damage(join(copy, 'leadloop.db'))
    const before = dataFiles(copy)
    t.regex(await refusalOf(copy), isDamaged, `a file ${title}`)
    t.deepEqual(dataFiles(copy), before, `a file ${title}`)
  }
})

test.serial('whoever starts the service on a damaged main file is told so, and its process ends', async (t) => {
  const copy = await filled(t, 'stop')
  overwrite(join(copy, 'leadloop.db'), 0, Buffer.alloc(pageSize))
  await isRefused(t, startService(t, copy), isDamaged)
})

for (const end of ['stop', 'kill'] as const) {
  const beside = end === 'kill' ? ' beside a write-ahead log' : ''
  test.serial(
    `a start on a main file that was emptied${beside} is refused and leaves the files as they were`,
    async (t) => {
      const directory = await filled(t, end)
      truncateSync(join(directory, 'leadloop.db'))
      const before = dataFiles(directory)
      t.regex(await refusalOf(directory), /leadloop\.db/)
      t.deepEqual(dataFiles(directory), before)
    },
  )
}

for (const table of ['events', 'collections']) {
  test.serial(`a start on a main file with a zeroed page of ${table} is refused and never hangs`, async (t) => {
    const directory = await filled(t, 'stop')
    const file = join(directory, 'leadloop.db')
    overwrite(file, (rootPage(t, file, table) - 1) * pageSize, Buffer.alloc(pageSize))
    t.regex(await refusalOf(directory), /damaged/)
  })
}

/** Where the tree of a table begins. */
const rootPage = (t: ExecutionContext, file: string, table: string): number => {
  const beside = join(temporaryDirectory(t), 'copy.db')
  copyFileSync(file, beside)
  const database = new Database(beside, { readonly: true })
  const row = database
    .prepare<[string], { readonly rootpage: number }>('SELECT rootpage FROM sqlite_schema WHERE name = ?')
    .get(table)
  database.close()
  return row?.rootpage ?? t.fail(`there is no table ${table}`)
}
