import test, { type ExecutionContext } from 'ava'
import { ObjectId } from 'mongodb'
import { randomBytes } from 'node:crypto'
import { mongoDocuments } from '../../../adapters/mongodb/documents.js'
import { generationRegistry } from '../../../adapters/mongodb/generations/registry.js'
import { serverOf } from '../../../adapters/mongodb/servers/detection.js'
import { E } from '../../../domain/prelude.js'
import type { Change, Collection, Documents } from '../../../projections/ports.js'
import type { MongoConnection } from '../../../adapters/mongodb/client/connection.js'
import { documentsContract } from '../../contracts/documents.js'
import { mongoUrl } from '../../kit/stores/mongo-url.js'
import { testDatabase } from '../../kit/stores/mongodb.js'
import { rightOf } from '../../kit/right-of.js'
import { positionAt } from '../../kit/domain/samples.js'

const freshCollection = (): Collection => ({
  name: `fleet_${randomBytes(8).toString('hex')}`,
  version: 1,
  indexes: { by_group: ['group', 'rank'] },
  generation: 'live',
})

const nextOf = (collection: Collection): Collection => ({ ...collection, generation: 'next' })

const put = (key: string, position: bigint, group: string, rank = 1): Change => ({
  key,
  position: positionAt(position),
  document: { group, rank },
})

const keys = ['a', 'b', 'c']

const fill = async (documents: Documents, collection: Collection, generation: number): Promise<void> => {
  const changes = keys.map((key) => put(key, 1n, `${generation}`))
  rightOf(await documents.apply(collection, changes, positionAt(1)))
}

/** A promotion that breaks off once it is decided: the next generation has not taken over the name yet. */
const interruptedPromotion = async (t: ExecutionContext, documents: Documents, db: MongoConnection['db']) => {
  const live = freshCollection()
  rightOf(await documents.prepare(live))
  await fill(documents, live, 0)
  rightOf(await documents.prepare(nextOf(live)))
  await fill(documents, nextOf(live), 1)
  const server = await serverOf(db)()
  const undone = generationRegistry(db, () => Promise.resolve({ ...server, takeOver: () => Promise.resolve() }))
  await t.throwsAsync(undone.promote(live), { message: `${live.name} was not taken over yet` })
  return { live, server, undone }
}

if (mongoUrl === undefined) {
  test.skip('documents on MongoDB need a server: set MONGODB_URL', (t) => t.fail())
} else {
  const database = testDatabase(mongoUrl)
  test.after.always('the database is dropped', database.drop)

  documentsContract('mongodb', () => {
    let connection = database.open()
    return Promise.resolve({
      documents: mongoDocuments(connection.db),
      reopen: async () => {
        await connection.close()
        connection = database.open()
        return mongoDocuments(connection.db)
      },
      close: () => connection.close(),
    })
  })

  /** Several processes on one database. */
  type Fleet = {
    readonly one: Documents
    readonly other: Documents
    readonly connection: MongoConnection
    /** The collections of the database that hold documents of this name. */
    readonly storedUnder: (name: string) => Promise<ReadonlyArray<string>>
  }
  const behaviour = (title: string, check: (t: ExecutionContext, fleet: Fleet) => Promise<void>): void => {
    test.serial(`several processes: ${title}`, async (t) => {
      const [connection, second] = [database.open(), database.open()]
      try {
        await check(t, {
          one: mongoDocuments(connection.db),
          other: mongoDocuments(second.db),
          connection,
          storedUnder: async (name) => {
            const all = await connection.db.listCollections({}, { nameOnly: true }).toArray()
            return all.map((stored) => stored.name).filter((stored) => stored === name || stored.startsWith(`${name}-`))
          },
        })
      } finally {
        await connection.close()
        await second.close()
      }
    })
  }

  behaviour('a reader sees the old generation or the new one while another process promotes', async (t, fleet) => {
    const { one, other } = fleet
    const live = freshCollection()
    rightOf(await one.prepare(live))
    await fill(one, live, 0)
    const shown = (groups: ReadonlyArray<unknown>): string => groups.join()
    const byKey = async (): Promise<string> =>
      shown([...rightOf(await other.get(live, keys)).values()].map(({ document }) => document?.['group']))
    const byIndex = async (generation: number): Promise<string> => {
      const read = async (group: number) =>
        rightOf(await other.find(live, { index: 'by_group', equals: [`${group}`], limit: 9 }))
      const before = await read(generation - 1)
      const found = before.length > 0 ? before : await read(generation)
      return shown(found.map(({ document }) => document['group']))
    }
    const walked = async (): Promise<string> => {
      const groups: Array<unknown> = []
      for await (const { document } of other.all(live)) groups.push(document?.['group'])
      return shown(groups)
    }
    for (let generation = 1; generation <= 10; generation += 1) {
      rightOf(await one.prepare(nextOf(live)))
      await fill(one, nextOf(live), generation)
      const promotion = { isOver: false }
      const promoting = one.promote(live).finally(() => {
        promotion.isOver = true
      })
      const whole = [generation - 1, generation].map((group) => shown(keys.map(() => group)))
      while (!promotion.isOver) {
        for (const seen of await Promise.all([byKey(), byIndex(generation), walked()]))
          t.true(whole.includes(seen), seen)
        t.is(rightOf(await other.count(live)), 3)
        t.is(rightOf(await other.confirmedCheckpoint(live)), positionAt(1))
      }
      rightOf(await promoting)
      t.is(await byKey(), whole[1] ?? '')
      t.is(await walked(), whole[1] ?? '')
    }
  })

  behaviour(
    'a process whose generation was replaced by another one must start again from its checkpoint',
    async (t, { one, other }) => {
      const live = freshCollection()
      rightOf(await one.prepare(live))
      t.is(rightOf(await one.confirmedCheckpoint(live)), positionAt(0))
      rightOf(await one.apply(live, [put('a', 5n, 'old')], positionAt(7)))
      rightOf(await other.prepare(nextOf(live)))
      rightOf(await other.apply(nextOf(live), [put('a', 5n, 'new')], positionAt(6)))
      rightOf(await other.promote(live))
      // Whoever reads in the same process must not hide it.
      rightOf(await one.get(live, ['a', 'b']))
      t.is(rightOf(await one.checkpoint(live)), positionAt(6))
      // What it folds is of neither generation until it has started again.
      t.deepEqual(rightOf(await one.getToFold(live, ['a'])), new Map())
      t.deepEqual(
        await one.apply(live, [put('b', 8n, 'old')], positionAt(8)),
        E.left({ kind: 'unavailable', reason: `${live.name} was replaced` }),
      )
      t.true(E.isLeft(await one.apply(live, [], positionAt(9))))
      t.is(rightOf(await one.confirmedCheckpoint(live)), positionAt(6))
      t.like(rightOf(await one.getToFold(live, ['a'])).get('a'), { document: { group: 'new' } })
      rightOf(await one.apply(live, [put('b', 8n, 'new')], positionAt(8)))
      t.deepEqual(
        rightOf(await other.get(live, ['a', 'b'])),
        new Map([
          ['a', { document: { group: 'new', rank: 1 }, position: 5n }],
          ['b', { document: { group: 'new', rank: 1 }, position: 8n }],
        ]),
      )
    },
  )

  behaviour('whoever looks how far a collection has come writes nothing', async (t, { one, other, connection }) => {
    const live = freshCollection()
    rightOf(await one.prepare(live))
    rightOf(await one.apply(live, [put('a', 5n, 'x')], positionAt(7)))
    const confirmations = async () => connection.db.collection('confirmations').findOne()
    const before = await confirmations()
    t.is(rightOf(await other.checkpoint(live)), positionAt(7))
    t.deepEqual(await confirmations(), before)
  })

  behaviour(
    'processes that prepare a collection at the same time get the same one',
    async (t, { one, other, storedUnder }) => {
      for (let round = 0; round < 5; round += 1) {
        const live = freshCollection()
        const prepared = [one, other, one, other].map((documents) => documents.prepare(live))
        t.true((await Promise.all(prepared)).every(E.isRight))
        rightOf(await one.apply(live, [put('a', 1n, 'x')], positionAt(1)))
        rightOf(await other.apply(live, [put('b', 1n, 'x')], positionAt(1)))
        t.is(rightOf(await one.count(live)), 2)
        t.is((await storedUnder(live.name)).length, 1)
      }
    },
  )

  behaviour(
    'anyone finds the live documents under their plain names, by their fields',
    async (t, { one, connection }) => {
      const live = { ...freshCollection(), namedByOthers: ['info'] }
      const plain = connection.db.collection(live.name)
      const at = '2026-01-14T09:30:00.000Z'
      const carrier = { 'info.name': 'carrier.name', 'info.value': 'None' }
      for (const generation of ['live', 'next'] as const) {
        const collection = { ...live, generation }
        rightOf(await one.prepare(collection))
        const document = { group: generation, rank: 1, at, info: { 'carrier.name': 'None', $zip: '94016' } }
        const changes = [{ ...put('a', 2n, ''), document }, put('b', 2n, 'other', 2)]
        rightOf(await one.apply(collection, changes, positionAt(2)))
        if (generation === 'next') rightOf(await one.promote(live))
        t.like(await plain.findOne({ group: generation, at: { $gte: new Date(at) } }), { _id: 'a', _position: 2n })
        t.is(await plain.countDocuments(carrier), 1)
        t.deepEqual(rightOf(await one.get(live, ['a'])).get('a')?.document, document)
      }
    },
  )

  behaviour(
    'what a process writes late, once its generation was replaced, is none of the new one',
    async (t, { one, other }) => {
      const live = freshCollection()
      rightOf(await one.prepare(live))
      rightOf(await one.apply(live, [put('a', 5n, 'old')], positionAt(5)))
      rightOf(await other.prepare(nextOf(live)))
      rightOf(await other.apply(nextOf(live), [put('a', 5n, 'new')], positionAt(5)))
      rightOf(await other.promote(live))
      t.true(
        E.isLeft(
          await one.apply(live, [put('0', 8n, 'new'), put('a', 8n, 'late'), put('b', 8n, 'late')], positionAt(8)),
        ),
      )
      t.deepEqual([...rightOf(await other.get(live, keys)).keys()], ['a'])
      t.deepEqual(rightOf(await other.find(live, { index: 'by_group', equals: ['late'], limit: 9 })), [])
      const page = { index: 'by_group', equals: ['new'], limit: 1 }
      t.deepEqual(
        rightOf(await other.find(live, page)).map(({ key }) => key),
        ['a'],
      )
      t.is(rightOf(await other.count(live)), 1)
      t.is(rightOf(await other.count(live, { ...page, limit: 9 })), 1)
      const walked: Array<unknown> = []
      for await (const { document } of other.all(live)) walked.push(document?.['group'])
      t.deepEqual(walked, ['new'])
      rightOf(await other.apply(live, [put('b', 6n, 'new')], positionAt(6)))
      t.like(rightOf(await one.get(live, ['b'])).get('b'), { document: { group: 'new' } })
    },
  )

  behaviour(
    'what an earlier version of Leadloop left under its own names is none, and stays where it was',
    async (t, { one, connection }) => {
      const live = freshCollection()
      const stored = `${live.name}@1#1`
      const generations = [{ version: 1, generation: 'live', stored }]
      const { db } = connection
      await db
        .collection<{ readonly _id: string }>('collections')
        .insertOne({ _id: live.name, ...{ serial: 1, generations } })
      await db.collection<{ readonly _id: string }>(stored).insertOne({ _id: 'a' })
      t.false(rightOf(await one.exists(live)))
      rightOf(await one.prepare(nextOf(live)))
      rightOf(await one.promote(live))
      t.is(rightOf(await one.count(live)), 0)
      t.is(await db.collection(stored).countDocuments(), 1)
    },
  )

  behaviour(
    'a name that was taken over is taken over once more where a change of the primary undid it, and by no late collection',
    async (t, { one, other, connection: { db } }) => {
      const { live, server, undone } = await interruptedPromotion(t, one, db)
      const { from } = (await undone.all(live.name))[0] ?? {}
      const late = generationRegistry(db, () =>
        Promise.resolve({
          ...server,
          takeOver: async (...all) => {
            await server.takeOver(...all)
            await db.collection<{ readonly _id: string }>(from ?? '').insertOne({ _id: 'late' })
            throw new Error('this process ended')
          },
        }),
      )
      await t.throwsAsync(late.find(live), { message: 'this process ended' })
      const groups = [...rightOf(await other.get(live, keys)).values()].map(({ document }) => document?.['group'])
      t.deepEqual(groups, ['1', '1', '1'])
    },
  )

  behaviour(
    'a promotion that an older version began, without the uuid of the build, is finished',
    async (t, { one, other, connection: { db } }) => {
      const { live, undone } = await interruptedPromotion(t, one, db)
      const [{ uuid, ...older } = { uuid: undefined }] = await undone.all(live.name)
      t.truthy(uuid)
      const registered = db.collection<{ readonly _id: string }>('generations')
      await registered.updateOne({ _id: live.name }, { $set: { generations: [older] } })
      const groups = [...rightOf(await other.get(live, keys)).values()].map(({ document }) => document?.['group'])
      t.deepEqual(groups, ['1', '1', '1'])
      t.is((await undone.all(live.name))[0]?.from, undefined)
    },
  )

  behaviour(
    'a process promotes the build that it wrote, and not one that another began since',
    async (t, { one, other }) => {
      const live = freshCollection()
      rightOf(await one.prepare(nextOf(live)))
      await fill(one, nextOf(live), 1)
      rightOf(await other.drop(nextOf(live)))
      rightOf(await other.prepare(nextOf(live)))
      t.deepEqual(
        await one.promote(live),
        E.left({ kind: 'unavailable', reason: `${live.name} is built anew by another process` }),
      )
      t.false(rightOf(await one.exists(live)))
      await fill(other, nextOf(live), 2)
      rightOf(await other.promote(live))
      t.like(rightOf(await one.get(live, ['a'])).get('a'), { document: { group: '2' } })
    },
  )

  behaviour(
    'what was written to a build that another process had dropped goes with the next drop, whoever does it',
    async (t, { one, other, connection: { db }, storedUnder }) => {
      const live = freshCollection()
      rightOf(await one.prepare(live))
      rightOf(await one.prepare(nextOf(live)))
      await fill(one, nextOf(live), 1)
      const [build = ''] = (await storedUnder(live.name)).filter((name) => name !== live.name)
      rightOf(await other.drop(nextOf(live)))
      // What was in flight makes the collection anew.
      await db.collection<{ readonly _id: string }>(build).insertOne({ _id: 'late' })
      rightOf(await other.drop(nextOf(live)))
      t.deepEqual(await storedUnder(live.name), [live.name])
      t.true(rightOf(await one.exists(live)))
    },
  )

  behaviour(
    'what a promotion left behind is dropped by the next one, and nothing else',
    async (t, { one, connection, storedUnder }) => {
      const live = freshCollection()
      const neighbour = { ...live, name: `${live.name}s` }
      rightOf(await one.prepare(live))
      rightOf(await one.prepare(neighbour))
      await connection.db.collection<{ readonly _id: string }>(`${live.name}-next-99`).insertOne({ _id: 'k' })
      const foreign = [`${live.name}-archive`, `${live.name}-next-99-copy`]
      for (const name of foreign) await connection.db.createCollection(name)
      rightOf(await one.prepare(nextOf(live)))
      rightOf(await one.promote(live))
      t.deepEqual([...(await storedUnder(live.name))].toSorted(), [live.name, ...foreign])
      t.is((await storedUnder(neighbour.name)).length, 1)
    },
  )

  behaviour(
    'of two first changes to a document the newer one stays, in whatever order they come',
    async (t, { one, other }) => {
      const live = freshCollection()
      rightOf(await one.prepare(live))
      for (let round = 0; round < 20; round += 1) {
        const raced = Array.from({ length: 10 }, (_, n) => `${round}/${n}`)
        const [older, newer] = round % 2 === 0 ? [one, other] : [other, one]
        const results = await Promise.all([
          older.apply(
            live,
            raced.map((key) => put(key, 1n, 'older')),
            positionAt(1),
          ),
          newer.apply(
            live,
            raced.map((key) => put(key, 2n, 'newer')),
            positionAt(2),
          ),
        ])
        t.true(results.every(E.isRight))
        const found = [...rightOf(await one.get(live, raced)).values()]
        t.deepEqual(
          found.map(({ document }) => document?.['group']),
          raced.map(() => 'newer'),
        )
      }
    },
  )

  behaviour(
    'a document that is no JSON is corrupt, and nothing that it holds is told',
    async (t, { one, connection }) => {
      const live = freshCollection()
      rightOf(await one.prepare(live))
      rightOf(await one.apply(live, [put('a', 1n, 'x')], positionAt(1)))
      const records = connection.db.collection<{ readonly _id: string }>(live.name)
      const failure = E.left({ kind: 'corrupt', reason: 'a document holds no JSON' })
      for (const name of [new ObjectId(), 2n ** 60n, { _json: '{"name": "Ann' }]) {
        await records.updateOne({ _id: 'a' }, { $set: { name } })
        t.deepEqual(await one.get(live, ['a']), failure)
        t.deepEqual(await one.find(live, { index: 'by_group', equals: ['x'], limit: 1 }), failure)
      }
    },
  )

  behaviour('a collection that was never prepared takes no changes', async (t, { one }) => {
    const live = freshCollection()
    t.deepEqual(
      await one.apply(live, [], positionAt(1)),
      E.left({ kind: 'corrupt', reason: `${live.name} was not prepared` }),
    )
    t.deepEqual(await one.promote(live), E.left({ kind: 'corrupt', reason: `${live.name} has no next generation` }))
  })

  const theirs = { _id: 'theirs' as unknown as ObjectId, name: 'Important customer' }
  const refused = (name: string) =>
    E.left({
      kind: 'unavailable',
      needsOperator: true,
      reason: `the collection ${name} holds documents of another application: name a database that is Leadloop's own, or rename that collection`,
    })

  behaviour('a collection of another application is neither written to nor dropped', async (t, { one, connection }) => {
    const live = freshCollection()
    const their = connection.db.collection(live.name)
    await their.insertOne(theirs)
    for (const generation of [live, nextOf(live)]) t.deepEqual(await one.prepare(generation), refused(live.name))
    await their.drop()
    rightOf(await one.prepare(nextOf(live)))
    await fill(one, nextOf(live), 1)
    await their.insertOne(theirs)
    t.deepEqual(await one.promote(live), refused(live.name), 'it came after the build had begun')
    t.deepEqual(await their.find().toArray(), [theirs])
    await their.rename(`theirs_${live.name}`)
    rightOf(await one.promote(live))
    t.is(rightOf(await one.count(live)), keys.length)
    t.is(await connection.db.collection(`theirs_${live.name}`).countDocuments(), 1)
  })

  behaviour('one that came when a promotion was decided is not dropped either', async (t, { one, connection }) => {
    const live = freshCollection()
    rightOf(await one.prepare(nextOf(live)))
    await fill(one, nextOf(live), 1)
    const server = await serverOf(connection.db)()
    const undone = generationRegistry(connection.db, () =>
      Promise.resolve({ ...server, takeOver: () => Promise.resolve() }),
    )
    await t.throwsAsync(undone.promote(live), { message: `${live.name} was not taken over yet` })
    const their = connection.db.collection(live.name)
    await their.insertOne(theirs)
    t.deepEqual(await one.get(live, ['a']), refused(live.name))
    await their.drop()
    t.is(rightOf(await one.get(live, keys)).size, keys.length)
  })

  behaviour('what a crash left before it was registered or after is no obstacle', async (t, { one, connection }) => {
    const live = freshCollection()
    await connection.db.createCollection(live.name)
    rightOf(await one.prepare(live))
    await fill(one, live, 1)
    // A removal that broke off when the registry knew it.
    rightOf(E.right(await generationRegistry(connection.db, serverOf(connection.db)).remove(live)))
    rightOf(await one.prepare(live))
    await fill(one, live, 2)
    t.is(rightOf(await one.count(live)), keys.length)
  })
}
