import test from 'ava'
import Database from 'better-sqlite3'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { openLogReader } from '../../../adapters/sqlite/log-reader.js'
import { neverAborted } from '../../../domain/abortable.js'
import { beginning } from '../../../domain/event.js'
import type { LogReader } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { newEvents } from '../../kit/domain/new-events.js'
import { byHand, openIn } from '../../kit/stores/sqlite.js'
import { temporaryDirectory, type Scope } from '../../kit/temporary-directory.js'
import { rightOf } from '../../kit/right-of.js'
import { nextTurn, turnTime } from '../../kit/time/turns.js'

const idsOf = (events: ReadonlyArray<{ readonly id: string }>): ReadonlyArray<string> => events.map(({ id }) => id)

const idsIn = async (log: LogReader): Promise<ReadonlyArray<string>> => {
  const ids: Array<string> = []
  for await (const { events } of log.history(beginning, ['account'], neverAborted)) ids.push(...idsOf(events))
  return ids
}

const readerOf = (scope: Scope, directory: string): LogReader => {
  const { log, close } = rightOf(openLogReader(directory, turnTime))
  scope.teardown(close)
  return log
}

test('the log is read beside the service that writes it, and after that has stopped', async (t) => {
  const directory = temporaryDirectory(t)
  const database = await openIn(directory)
  const store = sqliteEventStore(database)
  const events = newEvents(1_200)
  rightOf(await store.append('account-1', 'no-stream', events))
  const beside = readerOf(t, directory)
  t.deepEqual(await idsIn(beside), idsOf(events))
  t.deepEqual(rightOf(await beside.head()), rightOf(await store.head()))
  t.deepEqual(rightOf(await beside.read('account-1')), rightOf(await store.read('account-1')))
  await database.close()
  t.deepEqual(await idsIn(readerOf(t, directory)), idsOf(events))
})

test('who follows gets what the service appends later', async (t) => {
  const directory = temporaryDirectory(t)
  const database = await openIn(directory)
  t.teardown(database.close)
  const store = sqliteEventStore(database)
  rightOf(await store.append('account-1', 'no-stream', newEvents(3)))
  const ending = new AbortController()
  const seen: Array<string> = []
  for await (const { events } of readerOf(t, directory).subscribe(beginning, ['account'], ending.signal)) {
    seen.push(...idsOf(events))
    if (seen.length === 3) rightOf(await store.append('account-2', 'no-stream', newEvents(2, 4)))
    if (seen.length === 5) ending.abort()
  }
  t.deepEqual(seen, idsOf(newEvents(5)))
})

test('a reader in the midst of the log does not keep the write-ahead log from being emptied', async (t) => {
  const directory = temporaryDirectory(t)
  const database = await openIn(directory)
  t.teardown(database.close)
  rightOf(await sqliteEventStore(database).append('account-1', 'no-stream', newEvents(1_200)))
  const pages = readerOf(t, directory).history(beginning, ['account'], neverAborted)[Symbol.asyncIterator]()
  await pages.next()
  await nextTurn()
  const [emptied] = byHand(directory, (file) => file.pragma('wal_checkpoint(TRUNCATE)')) as ReadonlyArray<{
    busy: number
  }>
  t.is(emptied?.busy, 0)
  t.is(statSync(join(directory, 'leadloop.db-wal')).size, 0)
  t.false((await pages.next()).done)
})

test('a reader changes nothing of the file, and makes none', async (t) => {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'leadloop.db')
  t.deepEqual(openLogReader(directory, turnTime), E.left({ kind: 'unusable', reason: `there is no ${file}` } as const))
  t.false(existsSync(file))
  const database = await openIn(directory)
  rightOf(await sqliteEventStore(database).append('account-1', 'no-stream', newEvents(3)))
  await database.close()
  const before = readFileSync(file)
  await idsIn(readerOf(t, directory))
  t.deepEqual(readFileSync(file), before)
})

test('a file that a newer version wrote is refused with a sentence', (t) => {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'leadloop.db')
  const database = new Database(file)
  database.pragma('user_version = 99')
  database.close()
  const refusal = openLogReader(directory, turnTime)
  const reason = `${file} can't be read: a newer version of Leadloop wrote it`
  t.deepEqual(refusal, E.left({ kind: 'unusable', reason } as const))
})
