import test, { type ExecutionContext } from 'ava'
import { performance } from 'node:perf_hooks'
import { sqliteDocuments } from '../../../adapters/sqlite/documents.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import type { SqliteDatabase } from '../../../adapters/sqlite/database.js'
import { behindAlone, behindOthers } from '../../../app/commands/pending-reactions.js'
import { keptStreams } from '../../../app/commands/aggregate-cache.js'
import { logWatch } from '../../../app/commands/log-watch.js'
import type { Reactor } from '../../../app/commands/reactor.js'
import { beginning, type Position } from '../../../domain/event.js'
import { E } from '../../../domain/prelude.js'
import { checkpointCollection } from '../../../projections/subscriptions/checkpoint.js'
import { follow } from '../../../projections/subscriptions/follower.js'
import type { Documents } from '../../../projections/ports.js'
import { leasedFollower } from '../../../projections/subscriptions/leased-follower.js'
import { testLease } from '../../kit/lease.js'
import { newEvent } from '../../kit/events.js'
import { openSqlite } from '../../kit/open-sqlite.js'
import { rightOf } from '../../kit/right-of.js'

const collection = checkpointCollection('reactions')

/** A process that watches the log; the reactions are followed by another one. */
const open = async (t: ExecutionContext) => {
  const { port, close } = await openSqlite((database: SqliteDatabase) => ({
    store: sqliteEventStore(database),
    documents: sqliteDocuments(database),
  }))
  t.teardown(close)
  const { store, documents } = port
  rightOf(await documents.prepare(collection))
  let isAway = false
  const fallible: Documents = {
    ...documents,
    checkpoint: (one) =>
      isAway ? Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' })) : documents.checkpoint(one),
  }
  const silent = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined }
  const pause = (): Promise<void> => new Promise(setImmediate)
  const reactions = leasedFollower(
    'reactions',
    collection,
    () =>
      follow(
        {
          name: 'reactions',
          categories: ['account'],
          begin: () => Promise.resolve(beginning),
          // Without end: the store that it writes to does not answer.
          handle: () => new Promise(() => undefined),
        },
        { store, logger: silent, pause },
      ),
    { documents: fallible, nap: pause },
  )
  const watch = logWatch(store, keptStreams(true))
  const watching = follow(watch.follower, { store, logger: silent, pause })
  t.teardown(watching.stop)
  let n = 0
  const isBehind = behindOthers(watch, reactions)
  return {
    reactions,
    isBehind,
    /** An event that the watch has seen; gives its position. */
    write: async (category: string): Promise<Position> => {
      n += 1
      const { position } = rightOf(await store.append(`${category}-${n}`, 'no-stream', [newEvent(n)]))
      await watching.reached(position)
      return position
    },
    /** Another process has come so far. */
    reacted: async (position: Position) => rightOf(await documents.apply(collection, [], position)),
    takeAway: () => {
      isAway = true
    },
    /** Whether it is behind, and how long it took to say so. */
    asked: async () => {
      const begun = performance.now()
      return { is: await isBehind(), took: performance.now() - begun }
    },
  }
}

test('alone, a process is behind where a chain of its own was left open', async (t) => {
  let isOpen = false
  const isBehind = behindAlone({ isBehind: () => isOpen } as Reactor)
  t.false(await isBehind())
  isOpen = true
  t.true(await isBehind())
})

test('whoever saw nothing that others follow from is not behind', async (t) => {
  const { write, isBehind } = await open(t)
  t.false(await isBehind())
  await write('playbook')
  await write('webhook')
  t.false(await isBehind())
})

test('what was seen and reacted to is not behind', async (t) => {
  const { write, reacted, isBehind } = await open(t)
  await reacted(await write('account'))
  t.false(await isBehind())
})

test('what was seen is waited for a little', async (t) => {
  const { write, reacted, isBehind } = await open(t)
  const position = await write('lead')
  let isSaid = false
  const asking = isBehind().finally(() => (isSaid = true))
  await reacted(position - 1n)
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate)
  t.false(isSaid)
  await reacted(position)
  t.false(await asking)
})

test('it is behind when the reactions do not come there within a second, wherever they are followed', async (t) => {
  for (const isHere of [false, true]) {
    const { write, asked, reactions } = await open(t)
    const lease = testLease('reactions')
    await write('contact')
    if (isHere) void reactions.work(lease)
    const { is, took } = await asked()
    t.true(is)
    t.true(took > 900 && took < 10_000, `${took} ms`)
  }
})

test('it may be behind when nobody can tell how far the reactions are', async (t) => {
  const { write, reacted, asked, takeAway } = await open(t)
  await reacted(await write('account'))
  takeAway()
  const { is, took } = await asked()
  t.true(is)
  t.true(took < 10_000, `${took} ms`)
})
