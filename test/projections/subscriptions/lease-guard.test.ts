import test from 'ava'
import { systemClock } from '../../../adapters/node/clock.js'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import type { SqliteDatabase } from '../../../adapters/sqlite/database.js'
import { conversion, type ConversionCommand } from '../../../domain/conversion.js'
import { E } from '../../../domain/prelude.js'
import { guardedCommandHandler, guardedDocuments } from '../../../projections/subscriptions/lease-guard.js'
import type { Collection } from '../../../projections/ports.js'
import { cachedHandler } from '../../kit/parts/command-handlers.js'
import { testLease } from '../../kit/parts/lease.js'
import { openSqlite } from '../../kit/stores/sqlite.js'
import { rightOf } from '../../kit/right-of.js'
import { accountId, conversionId, positionAt, uuid } from '../../kit/domain/samples.js'

const lost = E.left({ kind: 'unavailable' as const, reason: 'another process has taken over' })

const live: Collection = { name: 'things', version: 1, indexes: { by_size: ['size'] }, generation: 'live' }
const next: Collection = { ...live, generation: 'next' }
const older: Collection = { ...live, name: 'older' }

const put = (key: string, position: bigint) => ({ key, document: { size: 1 }, position: positionAt(position) })

test('once the lease is lost nothing is written to the read models', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const lease = testLease('things')
  const guarded = guardedDocuments(documents, lease)
  for (const collection of [live, next]) {
    rightOf(await guarded.prepare(collection))
    rightOf(await guarded.apply(collection, [put('a', 1n)], positionAt(1)))
  }
  lease.expire()
  t.deepEqual(await guarded.prepare(older), lost)
  t.deepEqual(await guarded.apply(live, [put('b', 2n)], positionAt(2)), lost)
  t.deepEqual(await guarded.promote(next), lost)
  t.deepEqual(await guarded.drop(live), lost)

  t.false(rightOf(await documents.exists(older)))
  t.true(rightOf(await documents.exists(next)))
  t.is(rightOf(await documents.count(live)), 1)
  t.is(rightOf(await documents.confirmedCheckpoint(live)), positionAt(1))
  await close()
})

test('the read models can be read with and without the lease', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const lease = testLease('things')
  const guarded = guardedDocuments(documents, lease)
  rightOf(await guarded.prepare(live))
  rightOf(await guarded.apply(live, [put('a', 1n)], positionAt(1)))
  for (const isLost of [false, true]) {
    if (isLost) lease.expire()
    t.true(rightOf(await guarded.exists(live)))
    t.is(rightOf(await guarded.get(live, ['a'])).size, 1)
    t.is(rightOf(await guarded.find(live, { index: 'by_size', equals: [], limit: 9 })).length, 1)
    t.is(rightOf(await guarded.count(live)), 1)
    t.is(rightOf(await guarded.confirmedCheckpoint(live)), positionAt(1))
    const keys: Array<string> = []
    for await (const { key } of guarded.all(live)) keys.push(key)
    t.deepEqual(keys, ['a'])
  }
  await close()
})

test('read models are written under a lease that is to be given back, until the work has ended', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const lease = testLease('things')
  const guarded = guardedDocuments(documents, lease)
  lease.recall()
  rightOf(await guarded.prepare(live))
  rightOf(await guarded.apply(live, [put('a', 1n)], positionAt(1)))
  t.is(rightOf(await documents.count(live)), 1)
  await close()
})

const define = (n: number): ConversionCommand => ({
  type: 'DefineConversion',
  conversionId: conversionId(n),
  accountId: accountId(),
  title: 'Renewed',
  value: 1,
  label: 'custom_conversion',
})

test('once the lease is lost no command is executed, and states can still be read', async (t) => {
  const { port: store, close } = await openSqlite((database: SqliteDatabase) => sqliteEventStore(database))
  const commandHandler = cachedHandler(store, systemClock(1))
  const lease = testLease('things')
  const guarded = guardedCommandHandler(commandHandler, lease)
  const envelope = (n: number) => ({ actor: 'test', eventId: () => uuid(n) })
  t.true(E.isRight(await guarded.execute(conversion, conversionId(1), define(1), envelope(1))))
  lease.expire()
  t.deepEqual(await guarded.execute(conversion, conversionId(2), define(2), envelope(2)), lost)
  t.is(rightOf(await store.read(`conversion-${conversionId(2)}`)).revision, 'no-stream')
  t.like(await guarded.load(conversion, conversionId(1)), { right: { state: { kind: 'defined' } } })
  await close()
})
