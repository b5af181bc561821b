import test from 'ava'
import { sqliteDocuments } from '../../../adapters/sqlite/documents.js'
import { beginning } from '../../../domain/event.js'
import { StoreFailed } from '../../../domain/store-failed.js'
import { checkpointCollection, checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import { guardedDocuments } from '../../../projections/subscriptions/lease-guard.js'
import type { Documents } from '../../../projections/ports.js'
import { testLease } from '../../kit/parts/lease.js'
import { openSqlite } from '../../kit/stores/sqlite.js'
import { rightOf } from '../../kit/right-of.js'

const saved = async (documents: Documents, name = 'reactions') =>
  rightOf(await documents.checkpoint(checkpointCollection(name)))

test('a checkpoint begins at the beginning and goes on where it was saved', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 1n)
  t.is(await checkpoint.load(), beginning)
  await checkpoint.advance(7n)
  t.is(await saved(documents), 7n)
  t.is(await checkpointIn(documents, 'reactions', 1n).load(), 7n)
  t.is(await checkpointIn(documents, 'another', 1n).load(), beginning)
  await close()
})

test('a position is saved once it is an interval beyond the one that was saved before', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 500n)
  await checkpoint.load()
  for (const [position, expected] of [
    [1n, 0n],
    [499n, 0n],
    [500n, 500n],
    [999n, 500n],
    [1_500n, 1_500n],
    [1_501n, 1_500n],
  ] as const) {
    await checkpoint.advance(position)
    t.is(await saved(documents), expected)
  }
  const again = checkpointIn(documents, 'reactions', 500n)
  await again.load()
  await again.advance(1_999n)
  t.is(await saved(documents), 1_500n)
  await again.advance(2_000n)
  t.is(await saved(documents), 2_000n)
  await close()
})

test('with an interval of one every position is saved', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 1n)
  await checkpoint.load()
  for (const position of [1n, 2n, 3n]) {
    await checkpoint.advance(position)
    t.is(await saved(documents), position)
  }
  await close()
})

test('a flush saves the last position, and a saved position never goes back', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 500n)
  await checkpoint.load()
  await checkpoint.advance(20n)
  await checkpoint.flush(20n)
  t.is(await saved(documents), 20n)
  await checkpoint.advance(10n)
  await checkpoint.flush(10n)
  t.is(await saved(documents), 20n)
  await close()
})

test('a position that is saved already is not written again', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  let writes = 0
  const counted: Documents = {
    ...documents,
    apply: (...args) => {
      writes += 1
      return documents.apply(...args)
    },
  }
  const checkpoint = checkpointIn(counted, 'reactions', 1n)
  await checkpoint.load()
  for (let times = 0; times < 3; times += 1) {
    await checkpoint.advance(5n)
    await checkpoint.flush(5n)
  }
  t.is(writes, 1)
  await close()
})

test('a save that fails is thrown and tried with the next one; a flush that fails is not thrown', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const lease = testLease('reactions')
  const checkpoint = checkpointIn(guardedDocuments(documents, lease), 'reactions', 1n)
  await checkpoint.load()
  await checkpoint.advance(5n)
  lease.expire()
  await t.throwsAsync(checkpoint.advance(6n), { instanceOf: StoreFailed })
  await checkpoint.flush(6n)
  t.is(await saved(documents), 5n)
  await t.throwsAsync(checkpointIn(guardedDocuments(documents, lease), 'reactions', 1n).load(), {
    instanceOf: StoreFailed,
  })
  await close()
})
