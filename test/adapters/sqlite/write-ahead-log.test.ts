import test, { type ExecutionContext } from 'ava'
import Database from 'better-sqlite3'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import { positionAt } from '../../kit/domain/samples.js'
import { openIn } from '../../kit/stores/sqlite.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'
import { rightOf } from '../../kit/right-of.js'

const megabyte = 1024 * 1024
const collection = { name: 'large', version: 1, indexes: {}, generation: 'live' } as const

/** A store to which documents of some length are written. */
const open = async (t: ExecutionContext) => {
  const directory = temporaryDirectory(t)
  const database = await openIn(directory)
  t.teardown(database.close)
  const documents = sqliteDocuments(database)
  rightOf(await documents.prepare(collection))
  const write = async (n: number, length: number): Promise<void> => {
    const change = { key: `large ${n}`, document: { text: 'x'.repeat(length) }, position: positionAt(n) }
    rightOf(await documents.apply(collection, [change], positionAt(n)))
  }
  return { directory, write, size: () => statSync(join(directory, 'leadloop.db-wal')).size }
}

test('the write-ahead log does not grow with what is written', async (t) => {
  const { write, size } = await open(t)
  for (let n = 1; n <= 300; n += 1) await write(n, megabyte / 10)
  t.true(size() <= 8 * megabyte, `${size()} bytes`)
})

test('the write-ahead log that grew beside a long read becomes small again', async (t) => {
  const { directory, write, size } = await open(t)
  const reader = new Database(join(directory, 'leadloop.db'), { readonly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM events').get()
  for (let n = 1; n <= 40; n += 1) await write(n, megabyte)
  t.true(size() > 40 * megabyte)
  reader.exec('COMMIT')
  reader.close()
  for (let n = 41; n <= 50; n += 1) await write(n, megabyte)
  t.true(size() <= 20 * megabyte, `${size()} bytes`)
})
