import test, { type ExecutionContext } from 'ava'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { chmodSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { openDatabase } from '../../../adapters/sqlite/database.js'
import { schema, schemaVersion } from '../../../adapters/sqlite/schema.js'
import type { OpenFailure } from '../../../adapters/sqlite/failure.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { RecordedEvent } from '../../../domain/events.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Collection } from '../../../projections/ports.js'
import type { Said } from '../../kit/stores/said.js'
import { recorded } from '../../contracts/event-store-fixtures.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { engagementId } from '../../kit/domain/samples.js'
import { byHand, openIn } from '../../kit/stores/sqlite.js'
import { holdsAsync } from '../../kit/domain/property.js'
import { rightOf } from '../../kit/right-of.js'
import { openTemporaryDirectory, temporaryDirectory } from '../../kit/temporary-directory.js'

const inDirectory = (title: string, check: (t: ExecutionContext, directory: string) => Promise<void>): void => {
  test.serial(title, (t) => check(t, temporaryDirectory(t)))
}

const refusalOf = async (directory: string): Promise<OpenFailure | undefined> => {
  const opened = await openDatabase(directory)
  if (E.isLeft(opened)) return opened.left
  await opened.right.close()
  return undefined
}

const logOf = async (store: EventStore): Promise<ReadonlyArray<RecordedEvent>> => {
  const log: Array<RecordedEvent> = []
  for await (const { events } of store.history(beginning, ['account', 'engagement'], neverAborted)) log.push(...events)
  return log
}

type Program = 'append-until-refused' | 'purge-beside-append'

/** Another process that appends to the store in `directory`; no file of its may grow beyond `kilobytes`. */
const appender = (
  directory: string,
  kilobytes: number | 'unlimited',
  program: Program = 'append-until-refused',
): ChildProcess => {
  const script = fileURLToPath(new URL(`../../kit/stores/${program}.js`, import.meta.url))
  const limited = `ulimit -f ${kilobytes} && exec "$0" "$@"`
  return spawn('bash', ['-c', limited, process.execPath, script, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
}

const saidBy = async function* (child: ChildProcess): AsyncGenerator<Said> {
  if (child.stdout === null) return
  for await (const line of createInterface(child.stdout)) yield JSON.parse(line) as Said
}

inDirectory(
  'a directory in use is refused with a sentence, and can be opened once it is closed',
  async (t, directory) => {
    const database = await openIn(directory)
    t.deepEqual(await refusalOf(directory), { kind: 'in-use', reason: `another process is using ${directory}` })
    await database.close()
    t.is(await refusalOf(directory), undefined)
  },
)

inDirectory('the files are for their owner alone, also in a folder that is open to all', async (t, directory) => {
  chmodSync(directory, 0o755)
  const database = await openIn(directory)
  rightOf(await sqliteEventStore(database).append('account-1', 'no-stream', [newEvent(1)]))
  const open = readdirSync(directory).filter((name) => (statSync(join(directory, name)).mode & 0o777) !== 0o600)
  t.true(readdirSync(directory).includes('leadloop.db-wal'))
  await database.close()
  t.deepEqual(open, [])
})

inDirectory('a directory in use is refused to another process too', async (t, directory) => {
  const database = await openIn(directory)
  const said: Array<Said> = []
  for await (const one of saidBy(appender(directory, 'unlimited'))) said.push(one)
  t.deepEqual(said, [{ kind: 'in-use', reason: `another process is using ${directory}` }])
  await database.close()
})

inDirectory('what a killed process acknowledged is there, and its directory can be opened', async (t, directory) => {
  const child = appender(directory, 'unlimited')
  const acknowledged: Array<string | undefined> = []
  for await (const { kind, stream } of saidBy(child)) {
    if (kind === 'acknowledged') acknowledged.push(stream)
    if (acknowledged.length === 50) child.kill('SIGKILL')
  }
  const database = await openIn(directory)
  const streams = (await logOf(sqliteEventStore(database))).map(({ stream }) => stream)
  await database.close()
  t.true(acknowledged.length >= 50)
  t.deepEqual(streams.slice(0, acknowledged.length), acknowledged)
  t.true(streams.length <= acknowledged.length + 1)
})

inDirectory('closing waits for the writes that were begun before', async (t, directory) => {
  const database = await openIn(directory)
  const store = sqliteEventStore(database)
  const appends = Array.from({ length: 20 }, (_, n) => store.append(`account-${n}`, 'no-stream', [newEvent(n)]))
  await database.close()
  const appended = (await Promise.all(appends)).map(rightOf)
  t.is(appended.length, 20)
  const again = await openIn(directory)
  const log = await logOf(sqliteEventStore(again))
  t.deepEqual(
    log.map(({ revision, position }) => ({ revision, position })),
    appended,
  )
  await again.close()
})

inDirectory('a directory that is a file is refused with a sentence', async (t, directory) => {
  const file = join(directory, 'file')
  await writeFile(file, 'not a directory')
  const refusal = await refusalOf(file)
  t.is(refusal?.kind, 'unusable')
  t.true(refusal?.reason.startsWith(`${file} can't be used: `))
})

inDirectory('where no lock can be made the operator is told to look at whose the folder is', async (t, directory) => {
  mkdirSync(join(directory, 'lock.db'))
  t.regex((await refusalOf(directory))?.reason ?? '', /can't be used: this user can open or make no file there/)
})

inDirectory('a file that is no database is refused with a sentence and left as it was', async (t, directory) => {
  const file = join(directory, 'leadloop.db')
  const garbage = 'this is not a database. '.repeat(1000)
  await writeFile(file, garbage)
  t.deepEqual(await refusalOf(directory), {
    kind: 'unusable',
    reason: `${file} can't be used: the file is damaged (SQLITE_NOTADB)`,
  })
  t.is(await readFile(file, 'utf8'), garbage)
})

inDirectory('a database with a torn header is refused with a sentence', async (t, directory) => {
  await (await openIn(directory)).close()
  const file = join(directory, 'leadloop.db')
  const bytes = await readFile(file)
  await writeFile(file, bytes.fill(0xff, 0, 100))
  const refusal = await refusalOf(directory)
  t.is(refusal?.kind, 'unusable')
  t.regex(refusal?.reason ?? '', /the file is damaged/)
})

inDirectory('an event that holds no JSON is corrupt, and the streams beside it are not', async (t, directory) => {
  const database = await openIn(directory)
  const store = sqliteEventStore(database)
  for (const n of [1, 2]) t.true(E.isRight(await store.append(`account-${n}`, 'no-stream', [newEvent(n)])))
  const other = new Database(join(directory, 'leadloop.db'))
  other.exec(`UPDATE events SET data = '{' WHERE stream = 'account-1'`)
  other.close()
  const read = await store.read('account-1')
  t.is(E.isLeft(read) && read.left.kind, 'corrupt')
  t.true(E.isRight(await store.read('account-2')))
  await t.throwsAsync(logOf(store))
  await database.close()
})

const collection: Collection = { name: 'counts', version: 1, indexes: {}, generation: 'live' }

/**
 * A store that runs: its files as they are on the disk, its log and the sizes of the write-ahead log at each commit.
 */
const liveDirectory = async (directory: string) => {
  const database = await openIn(directory)
  const store = sqliteEventStore(database)
  const documents = sqliteDocuments(database)
  rightOf(await documents.prepare(collection))
  const log: Array<RecordedEvent> = []
  // Few enough that nothing is carried over into the main file: what was carried over can't be torn any more.
  for (let n = 1; n <= 60; n += 1) {
    const { position } = rightOf(await store.append(`account-${n}`, 'no-stream', [newEvent(n)]))
    log.push(...rightOf(await store.read(`account-${n}`)).events)
    const change = { key: 'count', document: { count: n }, position }
    if (n % 2 === 0) rightOf(await documents.apply(collection, [change], position))
  }
  const main = await readFile(join(directory, 'leadloop.db'))
  const wal = await readFile(join(directory, 'leadloop.db-wal'))
  await database.close()
  return { main, wal, log }
}

type Survivors = {
  readonly log: ReadonlyArray<RecordedEvent>
  readonly checkpoint: Position
  readonly count: unknown
}

const survivorsOf = async (main: Buffer, wal: Buffer): Promise<Survivors> => {
  const directory = openTemporaryDirectory()
  await writeFile(join(directory.path, 'leadloop.db'), main)
  await writeFile(join(directory.path, 'leadloop.db-wal'), wal)
  const database = await openIn(directory.path)
  const documents = sqliteDocuments(database)
  const survivors = {
    log: await logOf(sqliteEventStore(database)),
    checkpoint: rightOf(await documents.confirmedCheckpoint(collection)),
    count: rightOf(await documents.get(collection, ['count'])).get('count')?.document?.['count'],
  }
  await database.close()
  await directory.remove()
  return survivors
}

const isPrefix = ({ log, checkpoint, count }: Survivors, whole: ReadonlyArray<RecordedEvent>): void => {
  assert.deepEqual(log, whole.slice(0, log.length))
  assert.ok(checkpoint <= (log.at(-1)?.position ?? beginning))
  assert.equal(BigInt((count as number | undefined) ?? 0), checkpoint)
}

inDirectory(
  'a write-ahead log torn anywhere opens to a prefix of the log, no read model ahead',
  async (t, directory) => {
    const { main, wal, log } = await liveDirectory(directory)
    const untouched = await survivorsOf(main, wal)
    t.deepEqual(untouched.log, log)
    t.is(log.at(-1)?.position, untouched.checkpoint)
    t.deepEqual((await survivorsOf(main, Buffer.alloc(0))).log, [])
    await holdsAsync(
      t,
      fc.asyncProperty(fc.integer({ min: 0, max: wal.length }), async (length) => {
        isPrefix(await survivorsOf(main, wal.subarray(0, length)), log)
      }),
      { numRuns: 40 },
    )
  },
)

inDirectory(
  'a frame that was half written, or written wrongly, takes only its own commit along',
  async (t, directory) => {
    const { main, wal, log } = await liveDirectory(directory)
    const half = await survivorsOf(main, wal.subarray(0, wal.length - 2048))
    isPrefix(half, log)
    t.is(half.log.length, 60)
    t.is(log[57]?.position, half.checkpoint)
    const wrong = Buffer.from(wal)
    wrong.writeUInt8(wrong.readUInt8(wal.length - 100) ^ 1, wal.length - 100)
    t.deepEqual(await survivorsOf(main, wrong), half)
  },
)

inDirectory('a full disk refuses appends and loses none that was acknowledged', async (t, directory) => {
  const said: Array<Said> = []
  for await (const one of saidBy(appender(directory, 1024))) said.push(one)
  const acknowledged = said.filter(({ kind }) => kind === 'acknowledged').map(({ stream }) => stream)
  t.true(acknowledged.length > 10)
  t.deepEqual(
    said.filter(({ kind }) => kind !== 'acknowledged').map(({ kind }) => kind),
    ['open', ...Array.from({ length: 5 }, () => 'unavailable'), 'readable'],
  )
  const database = await openIn(directory)
  const store = sqliteEventStore(database)
  const streams = (await logOf(store)).map(({ stream }) => stream)
  t.deepEqual(streams.slice(0, acknowledged.length), acknowledged)
  t.true(E.isRight(await store.append('account-1', 'no-stream', [newEvent(1)])))
  await database.close()
})

inDirectory(
  'where a full disk keeps the write-ahead log from being emptied, what was written beside it is acknowledged',
  async (t, directory) => {
    const said: Array<Said> = []
    for await (const one of saidBy(appender(directory, 1024, 'purge-beside-append'))) said.push(one)
    t.deepEqual(
      said.map(({ kind }) => kind),
      ['acknowledged', 'purged', 'acknowledged', 'unavailable'],
    )
  },
)

/** About as many bytes of JSON as the events of a lead hold which one webhook takes. */
const leadEvents = [890, 710, 430, 430, 430, 1_510, 430]

inDirectory('the events of leads leave little of their pages empty', async (t, directory) => {
  const database = await openIn(directory)
  const store = sqliteEventStore(database)
  const bare = JSON.stringify(recorded({ text: '' }).data).length
  const sized = (bytes: number, n: number) => newEvent(n, recorded({ text: 'x'.repeat(Math.max(0, bytes - bare)) }))
  const leads = Array.from({ length: 200 }, (_, lead) =>
    leadEvents.map((bytes, index) =>
      store.append(`engagement-${engagementId(lead * 7 + index)}`, 'no-stream', [sized(bytes, lead * 7 + index)]),
    ),
  )
  for (const append of await Promise.all(leads.flat())) rightOf(append)
  await database.close()
  const empty = byHand(directory, (file) =>
    file.prepare<[], number>(`SELECT sum(unused) / sum(pgsize + 0.0) FROM dbstat WHERE name = 'events'`).pluck().get(),
  )
  t.true((empty ?? 1) < 0.12, `${empty} of their bytes`)
})

inDirectory(
  'a file whose pages an earlier version made goes on with them, and a copy may have ours',
  async (t, directory) => {
    const pageSize = (file: string) => byHand(file, (database) => database.pragma('page_size', { simple: true }))
    const appended = async (file: string, n: number) => {
      const database = await openIn(file)
      const store = sqliteEventStore(database)
      rightOf(await store.append(`account-${n}`, 'no-stream', [newEvent(n)]))
      const log = await logOf(store)
      await database.close()
      return log.map(({ stream }) => stream)
    }
    byHand(directory, (earlier) => {
      earlier.pragma('page_size = 4096')
      earlier.pragma('journal_mode = WAL')
      earlier.exec(schema)
      earlier.pragma(`user_version = ${schemaVersion}`)
    })
    t.deepEqual(await appended(directory, 1), ['account-1'])
    t.deepEqual(await appended(directory, 2), ['account-1', 'account-2'])
    t.is(pageSize(directory), 4_096)

    const copy = temporaryDirectory(t)
    const into = `PRAGMA page_size = 8192; VACUUM INTO '${join(copy, 'leadloop.db')}'`
    byHand(directory, (file) => file.exec(into))
    t.deepEqual(await appended(copy, 3), ['account-1', 'account-2', 'account-3'])
    t.is(pageSize(copy), 8_192)
  },
)

inDirectory('a write to a closed store fails at once', async (t, directory) => {
  const database = await openIn(directory)
  await database.close()
  const late = await database.write({ kind: 'schema', statements: [] })
  t.like(late, { _tag: 'Left', left: { kind: 'unavailable' } })
})

inDirectory('a write that fails by its own fault does not fail the others of its commit', async (t, directory) => {
  const database = await openIn(directory)
  const [wrong, right] = await Promise.all([
    database.write({ kind: 'schema', statements: ['CREATE TABLE twice (a)', 'CREATE TABLE twice (a)'] }),
    database.write({ kind: 'schema', statements: ['CREATE TABLE once (a)'] }),
  ])
  t.like(wrong, { _tag: 'Left', left: { kind: 'unavailable' } })
  t.like(right, { _tag: 'Right' })
  const tables = database.read((prepare) =>
    prepare<{ name: string }>(`SELECT name FROM sqlite_schema WHERE name IN ('once', 'twice')`).all(),
  )
  t.deepEqual(tables, E.right([{ name: 'once' }]))
  await database.close()
})
