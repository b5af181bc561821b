import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import { MongoServerError, type Db } from 'mongodb'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import type { DocumentRecord } from '../../../adapters/mongodb/records/document-record.js'
import { ferretDb } from '../../../adapters/mongodb/servers/ferretdb.js'
import { mongoDb } from '../../../adapters/mongodb/servers/mongodb.js'
import type { Records } from '../../../adapters/mongodb/servers/server.js'
import { holdsAsync } from '../../kit/domain/property.js'
import { mongoUrl } from '../../kit/stores/mongo-url.js'
import { testDatabase } from '../../kit/stores/mongodb.js'

/** A database whose `renameCollection` ends with an error of this code. */
const renaming = (code: number) => {
  const asked: Array<unknown> = []
  const db = {
    writeConcern: { w: 'majority', wtimeoutMS: 4_000 },
    renameCollection: (...all: ReadonlyArray<unknown>) => {
      asked.push(all)
      return Promise.reject(new MongoServerError({ message: 'refused', code }))
    },
  }
  return { asked, db: db as unknown as Db }
}

test('MongoDB gives the name to the new collection and drops the old one at once, by a majority', async (t) => {
  const { asked, db } = renaming(26)
  await t.notThrowsAsync(mongoDb.takeOver(db, 'contacts-next-2', 'contacts'))
  const { writeConcern } = db
  t.deepEqual(asked, [['contacts-next-2', 'contacts', { dropTarget: true, writeConcern }]])
  await t.throwsAsync(mongoDb.takeOver(renaming(13).db, 'contacts-next-2', 'contacts'))
})

if (mongoUrl === undefined) {
  test.skip('how servers are asked needs one: set MONGODB_URL', (t) => t.fail())
} else {
  const database = testDatabase(mongoUrl)
  test.after.always('the database is dropped', database.drop)

  const behaviour = (title: string, check: (t: ExecutionContext, records: () => Records) => Promise<void>): void => {
    test.serial(title, async (t) => {
      const { db, close } = database.open()
      try {
        await check(t, () => db.collection<DocumentRecord>(`records_${randomBytes(6).toString('hex')}`))
      } finally {
        await close()
      }
    })
  }

  const record = fc.record({
    _id: fc.constantFrom('a', 'b', 'c'),
    _generation: fc.integer({ min: 1, max: 3 }),
    _position: fc.bigInt({ min: 1n, max: 4n }),
    fields: fc.dictionary(fc.constantFrom('one', 'two', 'three'), fc.nat(9), { noNullPrototype: true }),
  })
  const batchOf = (maxLength: number) => fc.uniqueArray(record, { selector: ({ _id }) => _id, minLength: 1, maxLength })

  const isOlder = (one: DocumentRecord, other: DocumentRecord): boolean =>
    one._generation < other._generation || (one._generation === other._generation && one._position < other._position)

  /** FerretDB, which may be the server here, stops an update of several at the first key that exists. */
  const asked = [
    { name: 'MongoDB', server: mongoDb, most: 1 },
    { name: 'FerretDB', server: ferretDb(), most: 3 },
  ]
  for (const { name, server, most } of asked) {
    behaviour(
      `written as on ${name}, a record replaces one of an earlier generation or position as a whole, and no other`,
      async (t, records) => {
        await holdsAsync(
          t,
          fc.asyncProperty(fc.array(fc.tuple(batchOf(most), fc.boolean()), { maxLength: 6 }), async (batches) => {
            const own = records()
            const expected = new Map<string, DocumentRecord>()
            for (const [all, isReadFirst] of batches) {
              const changed = all.map(({ fields, ...guard }): DocumentRecord => ({ ...guard, ...fields }))
              for (const one of changed) {
                const before = expected.get(one._id)
                if (before === undefined || isOlder(before, one)) expected.set(one._id, one)
              }
              if (isReadFirst)
                await server.getToFold(
                  own,
                  changed.map(({ _id }) => _id),
                )
              await server.write(own, changed)
            }
            const found = await own.find({}).toArray()
            assert.deepEqual(new Map(found.map((one) => [one._id, one])), expected)
          }),
          { numRuns: 40 },
        )
      },
    )

    behaviour(
      `written as on ${name}, of two records that are inserted at the same time the newer one stays`,
      async (t, records) => {
        const own = records()
        for (let round = 0; round < 20; round += 1) {
          const written = [1n, 2n].map((_position) => [{ _id: `${round}`, _generation: 1, _position }])
          const inOrder = round % 2 === 0 ? written : written.toReversed()
          await Promise.all(inOrder.map((one) => server.write(own, one)))
        }
        t.is(await own.countDocuments({ _position: 2n }), 20)
      },
    )
  }
  behaviour(
    'written as on FerretDB, a record is no guard where somebody read it before it was replaced',
    async (t, records) => {
      const own = records()
      const server = ferretDb()
      await server.write(own, [{ _id: 'a', _generation: 1, _position: 1n, one: 1 }])
      const late = {
        namespace: own.namespace,
        find: (...asked: Parameters<Records['find']>) => ({
          toArray: async () => {
            const found = await own.find(...asked).toArray()
            await server.write(own, [{ _id: 'a', _generation: 1, _position: 2n, two: 2 }])
            return found
          },
        }),
      } as unknown as Records
      t.like(await server.get(late, ['a']), [{ one: 1 }])
      await server.write(own, [{ _id: 'a', _generation: 1, _position: 3n, three: 3 }])
      t.deepEqual(await own.findOne({ _id: 'a' }), { _id: 'a', _generation: 1, _position: 3n, three: 3 })
    },
  )
}
