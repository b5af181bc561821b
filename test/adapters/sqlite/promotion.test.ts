import test from 'ava'
import type { SqliteDatabase } from '../../../adapters/sqlite/database.js'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import type { Collection } from '../../../projections/ports.js'
import { positionAt } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import { byHand, openIn } from '../../kit/stores/sqlite.js'
import { openTemporaryDirectory } from '../../kit/temporary-directory.js'

const live: Collection = {
  name: 'people',
  version: 1,
  indexes: { by_name: ['name'], by_town: ['town', 'name'], by_age: ['age'] },
  generation: 'live',
}
const next: Collection = { ...live, generation: 'next' }

const documents = 12_000

/**
 * A live generation and the next one, with so many documents each, the last of which is removed. `jobs`: the schema
 * changes since.
 */
const openStage = async () => {
  const directory = openTemporaryDirectory()
  const database = await openIn(directory.path)
  const jobs: Array<ReadonlyArray<string>> = []
  /** For each of them, how many more were begun until a write ended that somebody else asked for right after it. */
  const begunBefore: Array<number> = []
  let reads = 0
  const watched: SqliteDatabase = {
    ...database,
    read: (query) => {
      reads += 1
      return database.read(query)
    },
    write: (write) => {
      if (write.kind !== 'schema') return database.write(write)
      const begun = jobs.push(write.statements)
      const done = database.write(write)
      const another = database.write({ kind: 'checkpoint', follower: 'another', position: begun })
      void another.then(() => begunBefore.push(jobs.length - begun))
      return done
    },
  }
  const port = sqliteDocuments(watched)
  for (const collection of [live, next]) {
    rightOf(await port.prepare(collection))
    const changes = Array.from({ length: documents }, (_, n) => ({
      key: String(n),
      document: { name: `name ${n}`, town: `town ${n % 7}`, age: n },
      position: positionAt(n + 1),
    }))
    rightOf(await port.apply(collection, changes, positionAt(documents)))
    const removed = { key: '0', document: undefined, position: positionAt(documents + 1) }
    rightOf(await port.apply(collection, [removed], positionAt(documents + 1)))
  }
  jobs.length = 0
  begunBefore.length = 0
  return {
    directory: directory.path,
    port,
    jobs,
    begunBefore,
    readsOf: async (ask: () => Promise<unknown>): Promise<number> => {
      const before = reads
      await ask()
      return reads - before
    },
    close: async () => {
      await database.close()
      await directory.remove()
    },
  }
}

/** The tables of documents, and how many rows of the collections there are. */
const leftIn = (directory: string) =>
  byHand(directory, (database) => ({
    tables: database
      .prepare(`SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name LIKE 'people@%'`)
      .pluck()
      .get(),
    registered: database.prepare(`SELECT count(*) FROM collections WHERE name = 'people'`).pluck().get(),
  }))

test('no step of a promotion makes more than one index or removes more than some thousand rows, and others write in between', async (t) => {
  const { directory, port, jobs, begunBefore, close } = await openStage()
  rightOf(await port.promote(live))
  const statements = jobs.flat()
  const indexing = (job: ReadonlyArray<string>): number => job.filter((one) => one.startsWith('CREATE INDEX')).length
  t.is(statements.filter((one) => one.startsWith('CREATE INDEX')).length, 3)
  t.true(jobs.every((job) => indexing(job) <= 1))
  t.is(statements.filter((one) => one.startsWith('DELETE FROM "people@')).length, 3)
  t.is(statements.filter((one) => one.startsWith('DROP INDEX')).length, 4)
  t.true(jobs.every((job) => job.filter((one) => one.startsWith('D')).length <= 1))
  t.deepEqual(
    begunBefore,
    jobs.map(() => 0),
  )
  t.deepEqual(leftIn(directory), { tables: 1, registered: 1 })
  t.is(rightOf(await port.count(live)), documents - 1)
  const query = { index: 'by_town', equals: ['town 3'], limit: 1 }
  t.deepEqual(
    rightOf(await port.find(live, query)).map(({ key }) => key),
    ['10'],
  )
  await close()
})

test('documents are counted some thousand rows at a time', async (t) => {
  const { port, readsOf, close } = await openStage()
  t.is(await readsOf(() => port.count(next)), 2)
  t.is(rightOf(await port.count(next)), documents - 1)
  const part = { index: 'by_age', equals: [] }
  for (const [bounds, limit, reads, counted] of [
    [{}, Number.MAX_SAFE_INTEGER, 2, documents - 1],
    [{ from: 2_001 }, Number.MAX_SAFE_INTEGER, 1, documents - 2_001],
    [{ from: 2_000 }, Number.MAX_SAFE_INTEGER, 2, documents - 2_000],
    [{}, 10_000, 1, 10_000],
    [{}, 10_500, 2, 10_500],
  ] as const) {
    const asked = { ...part, ...bounds, limit }
    t.is(await readsOf(() => port.count(live, asked)), reads)
    t.is(rightOf(await port.count(live, asked)), counted)
  }
  await close()
})

test('what is left of a replaced generation goes when the next one is dropped, and nobody finds it meanwhile', async (t) => {
  const { directory, port, close } = await openStage()
  rightOf(await port.promote(live))
  // As where the process ended right after the promotion.
  rightOf(await port.prepare(next))
  byHand(directory, (database) =>
    database.exec(`UPDATE collections SET generation = 'retired/' || table_name WHERE generation = 'next'`),
  )
  t.false(rightOf(await port.exists(next)))
  rightOf(await port.drop(next))
  t.deepEqual(leftIn(directory), { tables: 1, registered: 1 })
  await close()
})
