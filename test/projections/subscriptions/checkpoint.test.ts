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
import { positionAt } from '../../kit/domain/samples.js'

const saved = async (documents: Documents, name = 'reactions') =>
  rightOf(await documents.checkpoint(checkpointCollection(name)))

test('a checkpoint begins at the beginning and goes on where it was saved', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 1n)
  t.is(await checkpoint.load(), beginning)
  await checkpoint.advance(positionAt(7))
  t.is(await saved(documents), positionAt(7))
  t.is(await checkpointIn(documents, 'reactions', 1n).load(), positionAt(7))
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
    await checkpoint.advance(positionAt(position))
    t.is(await saved(documents), positionAt(expected))
  }
  const again = checkpointIn(documents, 'reactions', 500n)
  await again.load()
  await again.advance(positionAt(1_999))
  t.is(await saved(documents), positionAt(1_500))
  await again.advance(positionAt(2_000))
  t.is(await saved(documents), positionAt(2_000))
  await close()
})

test('with an interval of one every position is saved', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 1n)
  await checkpoint.load()
  for (const position of [1n, 2n, 3n]) {
    await checkpoint.advance(positionAt(position))
    t.is(await saved(documents), positionAt(position))
  }
  await close()
})

test('a flush saves the last position, and a saved position never goes back', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const checkpoint = checkpointIn(documents, 'reactions', 500n)
  await checkpoint.load()
  await checkpoint.advance(positionAt(20))
  await checkpoint.flush(positionAt(20))
  t.is(await saved(documents), positionAt(20))
  await checkpoint.advance(positionAt(10))
  await checkpoint.flush(positionAt(10))
  t.is(await saved(documents), positionAt(20))
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
    await checkpoint.advance(positionAt(5))
    await checkpoint.flush(positionAt(5))
  }
  t.is(writes, 1)
  await close()
})

test('a save that fails is thrown and tried with the next one; a flush that fails is not thrown', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const lease = testLease('reactions')
  const checkpoint = checkpointIn(guardedDocuments(documents, lease), 'reactions', 1n)
  await checkpoint.load()
  await checkpoint.advance(positionAt(5))
  lease.expire()
  await t.throwsAsync(checkpoint.advance(positionAt(6)), { instanceOf: StoreFailed })
  await checkpoint.flush(positionAt(6))
  t.is(await saved(documents), positionAt(5))
  await t.throwsAsync(checkpointIn(guardedDocuments(documents, lease), 'reactions', 1n).load(), {
    instanceOf: StoreFailed,
  })
  await close()
})
