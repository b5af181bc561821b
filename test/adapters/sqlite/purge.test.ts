import test from 'ava'
import Database from 'better-sqlite3'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { beginning } from '../../../domain/event.js'
import type { Collection } from '../../../projections/ports.js'
import { eventsUntil, newEvent, recorded } from '../../contracts/event-store-fixtures.js'
import { engagementId, positionAt } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import { byHand, openIn, openSqliteStores } from '../../kit/stores/sqlite.js'
import { openTemporaryDirectory } from '../../kit/temporary-directory.js'

/** Long enough for pages of its own. */
const mark = 'Ada Lovelace '.repeat(2_000)

/** Whether any file of the folder holds a byte of the mark. */
const isMarked = (directory: string): boolean =>
  readdirSync(directory).some((name) => readFileSync(join(directory, name)).includes('Ada Lovelace'))

const stream = `engagement-${engagementId()}`
const collection: Collection = { name: 'people', version: 1, indexes: {}, generation: 'live' }

test('nothing of what was removed is left in any file, once the store says so', async (t) => {
  const directory = openTemporaryDirectory()
  const database = await openIn(directory.path)
  const store = sqliteEventStore(database)
  const documents = sqliteDocuments(database)
  rightOf(await store.append(stream, 'no-stream', [newEvent(recorded({ mark })), newEvent(recorded({}))]))
  rightOf(await documents.prepare(collection))
  const person = { key: 'one', document: { mark }, position: positionAt(1) }
  rightOf(await documents.apply(collection, [person], positionAt(1)))
  t.true(isMarked(directory.path))
  rightOf(await store.truncate(stream, 1))
  rightOf(await documents.apply(collection, [{ ...person, document: undefined, position: positionAt(2) }], beginning))
  t.true(rightOf(await store.purge()))
  t.false(isMarked(directory.path))
  t.true(rightOf(await documents.purge()))
  await database.close()
  await directory.remove()
})

test('while somebody reads what stood there before, the store says that it is not gone, and goes on writing', async (t) => {
  const directory = openTemporaryDirectory()
  const database = await openIn(directory.path)
  const store = sqliteEventStore(database)
  rightOf(await store.append(stream, 'no-stream', [newEvent(recorded({ mark })), newEvent(recorded({}))]))
  const reader = new Database(join(directory.path, 'leadloop.db'), { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM events').get()
  rightOf(await store.truncate(stream, 1))
  t.false(rightOf(await store.purge()))
  rightOf(await store.append(stream, 1, [newEvent(recorded({}))]))
  t.true(isMarked(directory.path))
  reader.exec('COMMIT')
  reader.close()
  t.true(rightOf(await store.purge()))
  t.false(isMarked(directory.path))
  await database.close()
  await directory.remove()
})

test('what an older version removed is gone once its folder was opened', async (t) => {
  const directory = openTemporaryDirectory()
  const database = await openIn(directory.path)
  const store = sqliteEventStore(database)
  rightOf(await store.append(stream, 'no-stream', [newEvent(recorded({ mark })), newEvent(recorded({}))]))
  await database.close()
  byHand(directory.path, (older) => {
    older.pragma('secure_delete = OFF')
    older.exec('DELETE FROM events WHERE revision = 0')
    older.pragma('user_version = 1')
  })
  t.true(isMarked(directory.path))
  const opened = await openIn(directory.path)
  const left = rightOf(await sqliteEventStore(opened).read(stream)).events
  t.deepEqual(
    left.map(({ revision }) => revision),
    [1],
  )
  await opened.close()
  t.false(isMarked(directory.path))
  await directory.remove()
})

test('what is truncated before its append was answered is given to no subscription that begins afterwards', async (t) => {
  const { store, close } = await openSqliteStores()
  const appends = [
    store.append(stream, 'no-stream', [newEvent(recorded({ mark }))]),
    store.append(stream, 0, [newEvent(recorded({}))]),
  ]
  rightOf(await store.truncate(stream, 1))
  for (const append of appends) rightOf(await append)
  const given = await eventsUntil(store, beginning, ['engagement'], ({ position }) => position >= positionAt(2))
  t.deepEqual(
    given.map(({ revision }) => revision),
    [1],
  )
  await close()
})
