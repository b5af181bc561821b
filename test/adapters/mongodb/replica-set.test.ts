import test, { type ExecutionContext } from 'ava'
import { randomBytes } from 'node:crypto'
import { connectMongo, type MongoConnection } from '../../../adapters/mongodb/client/connection.js'
import { mongoDocuments } from '../../../adapters/mongodb/documents.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Change, Collection, Documents } from '../../../projections/ports.js'
import { anyProjection, collectionOf, type AnyProjection } from '../../../projections/projection.js'
import { buildAlone } from '../../../projections/subscriptions/rebuild.js'
import { applyBatch, runProjection } from '../../../projections/subscriptions/runner.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { logOf } from '../../kit/domain/log.js'
import { accountId, conversionId, positionAt } from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { mongoUrl, urlAt } from '../../kit/stores/mongo-url.js'
import { testDatabase } from '../../kit/stores/mongodb.js'
import { nextTurn, turnTime } from '../../kit/time/turns.js'
import { mongoProxy, wordsOfTheServer, type MongoProxy } from '../../mongodb-proxy/proxy.js'
import type { Command } from '../../mongodb-proxy/command.js'

/** Codes of the server. */
const writeConcernTimeout = 64
const notPrimary = 10107
const duplicateKey = 11000
const tooLarge = 10334

type Titles = { readonly title: string }

/** The conversions by their titles, under a name of its own on whatever data the server holds. */
const titles = (): AnyProjection =>
  anyProjection<Titles>({
    name: `titles_${randomBytes(6).toString('hex')}`,
    version: 1,
    categories: ['conversion'],
    indexes: { by_title: ['title'] },
    createdBy: new Set(),
    keyOf: (event) => (event.type === 'ConversionDefined' ? event.data.conversion_id : undefined),
    evolve: (document, event) => (event.type === 'ConversionDefined' ? { title: event.data.title } : document),
  })

const defined = (n: number, title = `title ${n}`) =>
  ({
    type: 'ConversionDefined',
    data: { conversion_id: conversionId(n), account_id: accountId(), title, value: 0, label: 'custom_conversion' },
  }) as const

const streamOf = (n: number): string => `conversion-${conversionId(n)}`

const put = (key: string, position: number, document = {}): Change => ({
  key,
  document,
  position: positionAt(position),
})

/** Who waits for it goes on once it is open. */
const gate = () => {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

const titlesIn = async (documents: Documents, collection: Collection): Promise<ReadonlyArray<unknown>> => {
  const found: Array<unknown> = []
  for await (const { document } of documents.all(collection)) found.push(document?.['title'])
  return found
}

/** Writes to what holds documents, or to the collection of this name. */
const writes =
  (of: { readonly name: string } | string) =>
  ({ name, collection }: Command): boolean =>
    ['update', 'insert'].includes(name) && (typeof of === 'string' ? collection === of : collection.startsWith(of.name))

if (mongoUrl === undefined) {
  test.skip('the answers of a replica set need a server behind the proxy: set MONGODB_URL', (t) => t.fail())
} else {
  const database = testDatabase(mongoUrl)
  test.after.always('the database is dropped', database.drop)

  type Opened = {
    readonly proxy: MongoProxy
    readonly projection: AnyProjection
    readonly live: Collection
    readonly documents: Documents
    /** As another process opens them. */
    readonly open: (monotonic?: Pick<MonotonicClock, 'now'>) => Documents
  }
  const behaviour = (title: string, check: (t: ExecutionContext, opened: Opened) => Promise<void>): void => {
    test(title, async (t) => {
      const proxy = await mongoProxy(database.url)
      const connections: Array<MongoConnection> = []
      const open: Opened['open'] = (monotonic) => {
        const connection = rightOf(connectMongo(urlAt(database.url, proxy.port), recordingLogger()))
        connections.push(connection)
        return monotonic === undefined ? mongoDocuments(connection.db) : mongoDocuments(connection.db, monotonic)
      }
      const projection = titles()
      try {
        await check(t, { proxy, projection, live: collectionOf(projection), documents: open(), open })
      } finally {
        for (const { close } of connections) await close()
        await proxy.close()
      }
    })
  }

  /** A log with these titles, and the read model that follows it until it has caught up, through whatever fails. */
  const followed = async (projection: AnyProjection, documents: Documents, ...all: ReadonlyArray<string>) => {
    const store = memoryEventStore(memoryLog())
    for (const [n, title] of all.entries())
      rightOf(await store.append(streamOf(n), 'no-stream', [newEvent(n + 1, defined(n, title))]))
    const logger = recordingLogger()
    const following = runProjection(projection, {
      store,
      documents,
      logger,
      backoff: nextTurn,
      monotonic: turnTime,
      build: buildAlone,
      isWaitedFor: false,
    })
    await following.caughtUpTo(rightOf(await store.head()), neverAborted)
    const failure = following.failure()
    await following.stop()
    return { failure, lines: logger.lines }
  }

  const checkpointWrites = ({ name, collection }: Command): boolean => name === 'update' && collection === 'checkpoints'

  behaviour(
    'what no majority acknowledged is not passed over when it is tried again, so no change of the primary takes it away',
    async (t, { proxy, projection, live, documents }) => {
      rightOf(await documents.prepare(live))
      proxy.fail(writes(live), { kind: 'write-concern-error', code: writeConcernTimeout })
      // Between what is read again and the checkpoint that follows it.
      proxy.fail(checkpointWrites, { kind: 'after', happens: proxy.elect })
      const { failure } = await followed(projection, documents, 'one')
      t.is(failure, undefined)
      t.deepEqual(await titlesIn(documents, live), ['one'])
      t.is(rightOf(await documents.confirmedCheckpoint(live)), positionAt(1))
    },
  )

  behaviour(
    'nor does a process pass it over that begins where another one ended',
    async (t, { proxy, projection, live, documents, open }) => {
      rightOf(await documents.prepare(live))
      proxy.fail(writes(live), { kind: 'write-concern-error', code: writeConcernTimeout })
      const log = logOf([streamOf(0), defined(0, 'one')])
      await t.throwsAsync(applyBatch(projection, documents, { events: log, position: positionAt(1) }), {
        message: 'MongoDB could not confirm a write (MongoBulkWriteError 64)',
      })
      proxy.fail(checkpointWrites, { kind: 'after', happens: proxy.elect })
      const other = open()
      await followed(projection, other, 'one')
      t.deepEqual(await titlesIn(other, live), ['one'])
    },
  )

  behaviour(
    'whoever goes on without reading again is refused once, and what it read then stays',
    async (t, { proxy, live, documents }) => {
      rightOf(await documents.prepare(live))
      proxy.fail(writes(live), { kind: 'write-concern-error', code: writeConcernTimeout })
      t.true(E.isLeft(await documents.apply(live, [put('k', 1, { title: 'one' })], positionAt(1))))
      t.is(rightOf(await documents.get(live, ['k'])).size, 1)
      const refused = E.left({ kind: 'unavailable', reason: `${live.name} must be read again` })
      t.deepEqual(await documents.apply(live, [], positionAt(1)), refused)
      t.is(rightOf(await documents.get(live, ['k'])).size, 1)
      proxy.fail(checkpointWrites, { kind: 'after', happens: proxy.elect })
      rightOf(await documents.apply(live, [], positionAt(1)))
      t.deepEqual(await titlesIn(documents, live), ['one'])
    },
  )

  behaviour(
    'what costs the same for any number of changes makes no batch smaller',
    async (t, { proxy, live, documents, open }) => {
      let now = 0
      const behindALateMajority = open({ now: () => now })
      rightOf(await documents.prepare(live))
      proxy.fail(writes(live), { kind: 'as-if-done', happens: () => void (now += 1_100) }, Infinity)
      const changes = Array.from({ length: 5_000 }, (_, n) => put(`k${n}`, 1, { title: 'x' }))
      rightOf(await behindALateMajority.apply(live, changes, positionAt(1)))
      const sent = proxy.commands.filter(writes(live)).length
      t.true(sent <= 12, `${sent} commands`)
    },
  )

  for (const fault of [
    { kind: 'write-concern-error', code: writeConcernTimeout },
    { kind: 'cut', when: 'after' },
  ] as const) {
    behaviour(
      `a promotion whose success was not confirmed (${fault.kind}) succeeds when it is repeated, and stays`,
      async (t, { proxy, live, documents }) => {
        const next = { ...live, generation: 'next' } as const
        for (const [collection, title] of [
          [live, 'old'],
          [next, 'new'],
        ] as const) {
          rightOf(await documents.prepare(collection))
          rightOf(await documents.apply(collection, [put('k', 1, { title })], positionAt(1)))
        }
        proxy.fail(writes('generations'), fault)
        t.like(await documents.promote(live), { left: { kind: 'unavailable' } })
        t.deepEqual(await documents.promote(live), E.right(undefined))
        await proxy.elect()
        t.deepEqual(await titlesIn(documents, live), ['new'])
        t.false(rightOf(await documents.exists(next)))
      },
    )
  }

  behaviour(
    'a promotion that breaks off at any step leaves the old generation or the new one whole, and is finished by another process',
    async (t, { proxy, live, documents, open }) => {
      const keys = ['a', 'b']
      /** As a rebuild does. */
      const fill = async (collection: Collection, title: string): Promise<void> => {
        rightOf(await documents.drop(collection))
        rightOf(await documents.prepare(collection))
        const changes = keys.map((key) => put(key, 1, { title }))
        rightOf(await documents.apply(collection, changes, positionAt(1)))
      }
      const readBy = async (reader: Documents): Promise<string> =>
        [...rightOf(await reader.get(live, keys)).values()].map(({ document }) => String(document?.['title'])).join()
      const stored = async (): Promise<ReadonlyArray<unknown>> => {
        const { db, close } = database.open()
        const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name)
        const titles = await db.collection(live.name).distinct('title')
        await close()
        return [names.filter((name) => name.startsWith(live.name)), titles]
      }
      const next = { ...live, generation: 'next' } as const
      await fill(live, 'old')
      await fill(next, 'new 0')
      const first = proxy.commands.length
      rightOf(await documents.promote(live))
      const steps = proxy.commands.length - first
      for (let build = 1; build <= 2 * steps; build += 1) {
        const [before, after] = [`new ${build - 1}`, `new ${build}`]
        await fill(next, after)
        const last = proxy.commands.length + Math.ceil(build / 2)
        proxy.fail(() => proxy.commands.length === last, { kind: 'cut', when: build % 2 === 0 ? 'before' : 'after' })
        await documents.promote(live)
        const other = open()
        const seen = await readBy(other)
        t.true(
          [before, after].some((title) => seen === `${title},${title}`),
          `${build}: ${seen}`,
        )
        t.deepEqual(await other.promote(live), E.right(undefined), `${build}`)
        t.is(await readBy(documents), `${after},${after}`)
        t.deepEqual(await stored(), [[live.name], [after]])
      }
      t.true(steps > 6, `${steps} steps`)
    },
  )

  behaviour(
    'a process that goes on with a build while a paused one promotes it loses nothing, and leaves nothing behind',
    async (t, { proxy, projection, live, documents, open }) => {
      const next = { ...live, generation: 'next' } as const
      rightOf(await documents.prepare(next))
      rightOf(await documents.apply(next, [put(conversionId(0), 1, { title: 'one' })], positionAt(1)))
      const [isWriting, isPromoted] = [gate(), gate()]
      let following: Promise<unknown> | undefined
      // The other process takes the build over before this one's promotion is decided, and writes to it after.
      proxy.fail(writes('generations'), {
        kind: 'after',
        happens: () => {
          following = followed(projection, open(), 'one', 'two')
          return isWriting.opened
        },
      })
      proxy.fail(writes({ name: `${live.name}-next` }), {
        kind: 'after',
        happens: () => {
          isWriting.open()
          return isPromoted.opened
        },
      })
      rightOf(await documents.promote(live))
      isPromoted.open()
      t.like(await following, { failure: undefined })
      t.deepEqual(await titlesIn(documents, live), ['one', 'two'])
      t.is(rightOf(await documents.confirmedCheckpoint(live)), positionAt(2))
      const { db, close } = database.open()
      const names = (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name)
      await close()
      t.deepEqual(
        names.filter((name) => name.startsWith(live.name)),
        [live.name],
      )
    },
  )

  behaviour(
    'a write that ends with any error of the network or of the servers tells what it was, and nothing that was written',
    async (t, { proxy, live, documents }) => {
      rightOf(await documents.prepare(live))
      const told = [
        [{ kind: 'cut', when: 'before' }, 'unavailable', 'the connection to MongoDB broke (MongoNetworkError)'],
        [{ kind: 'cut', when: 'after' }, 'unavailable', 'the connection to MongoDB broke (MongoNetworkError)'],
        [{ kind: 'error', code: notPrimary }, 'unavailable', 'MongoDB has no primary now (MongoBulkWriteError 10107)'],
        [
          { kind: 'write-error', code: tooLarge },
          'corrupt',
          'a document is larger than MongoDB holds (MongoBulkWriteError 10334)',
        ],
      ] as const
      for (const [fault, kind, reason] of told) {
        proxy.fail(writes(live), fault)
        const failed = await documents.apply(live, [put('k', 1, { title: 'x' })], positionAt(1))
        t.deepEqual(failed, E.left({ kind, reason }))
        t.false(JSON.stringify(failed).includes(wordsOfTheServer))
        rightOf(await documents.confirmedCheckpoint(live))
      }
      rightOf(await documents.apply(live, [put('k', 1, { title: 'x' })], positionAt(1)))
    },
  )

  behaviour(
    'a document that another process inserts at the same time is written forward, whichever was first',
    async (t, { proxy, live, documents }) => {
      rightOf(await documents.prepare(live))
      proxy.fail(writes(live), { kind: 'write-error', code: duplicateKey })
      rightOf(await documents.apply(live, [put('k', 1, { title: 'x' })], positionAt(1)))
      t.deepEqual(await titlesIn(documents, live), ['x'])
    },
  )

  behaviour(
    'a read model that makes a document larger than MongoDB holds stops for good, and sends nothing',
    async (t, { proxy, projection, live, documents }) => {
      const large = 'x'.repeat(17 * 1024 * 1024)
      const large_ = { ...projection, evolve: () => ({ title: large }) }
      const { failure } = await followed(large_, documents, 'one')
      t.is(failure, `${live.name} can't be written: a document is larger than MongoDB holds`)
      t.deepEqual(proxy.commands.filter(writes(live)), [])
    },
  )

  /** What was sent for each batch of a hundred events, of which the first concerns so many documents, and so on. */
  const sentForHundreds = async ({ proxy, projection, live, open }: Opened, ...keys: ReadonlyArray<number>) => {
    let now = 0
    const documents = open({ now: () => now })
    rightOf(await documents.prepare(live))
    // As who follows the log begins.
    rightOf(await documents.confirmedCheckpoint(live))
    const log = logOf(
      ...keys.flatMap((some) =>
        Array.from({ length: 100 }, (_, n) => [streamOf(n), defined(n % some, `title ${some}`)] as const),
      ),
    )
    const sent: Array<ReadonlyArray<string>> = []
    for (let done = 0; done < log.length; done += 100) {
      // However long ago the last one was.
      now += 60_000
      const before = proxy.commands.length
      const events = log.slice(done, done + 100)
      await applyBatch(projection, documents, { events, position: positionAt(done + 100) })
      sent.push(proxy.commands.slice(before).map(({ name, collection }) => `${name} ${collection}`))
    }
    return { sent, documents, log }
  }

  behaviour(
    'a batch of a hundred events of one read model is three commands at most, however many documents they concern and however rare it is',
    async (t, opened) => {
      const { sent, documents, log } = await sentForHundreds(opened, 100, 100, 5, 1)
      for (const commands of sent) t.true(commands.length <= 3, commands.join(', '))
      t.is(rightOf(await documents.count(opened.live)), 100)
      t.is(rightOf(await documents.confirmedCheckpoint(opened.live)), positionAt(log.length))
    },
  )

  behaviour('so it is where the server is MongoDB, and one command writes all of them', async (t, opened) => {
    const { proxy, live } = opened
    const nothing = (): void => undefined
    // FerretDB, which may be the server here, names itself in this answer, and can't do what MongoDB is asked for.
    proxy.fail(({ name }) => name === 'buildInfo', { kind: 'as-if-done', happens: nothing }, Infinity)
    proxy.fail(writes(live), { kind: 'as-if-done', happens: nothing }, Infinity)
    const { sent } = await sentForHundreds(opened, 100, 1)
    for (const commands of sent) {
      t.deepEqual(commands, [`find ${live.name}`, `update ${live.name}`, 'update checkpoints'])
    }
    const [ofMany] = proxy.commands.filter(writes(live))
    t.is((ofMany?.document['updates'] as ReadonlyArray<unknown>).length, 100)
  })
}
