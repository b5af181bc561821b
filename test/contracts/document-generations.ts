import { beginning } from '../../domain/event.js'
import { E } from '../../domain/prelude.js'
import type { Collection } from '../../projections/ports.js'
import { rightOf } from '../kit/right-of.js'
import type { Behaviour } from './behaviour.js'
import {
  apply,
  byGroup,
  contentOf,
  filled,
  freshCollection,
  keysOf,
  nextOf,
  prepared,
  put,
  remove,
  type OpenDocuments,
} from './document-fixtures.js'
import { nextTurn } from '../kit/time/turns.js'
import { positionAt } from '../kit/domain/samples.js'

/** How generations of a collection come and go. */
export const documentGenerations = (behaviour: Behaviour<OpenDocuments>): void => {
  behaviour('a prepared collection is empty and begins at the beginning', async (t, { documents }) => {
    const collection = await prepared(documents)
    t.deepEqual(await contentOf(documents, collection), {})
    t.is(rightOf(await documents.count(collection)), 0)
    t.is(rightOf(await documents.confirmedCheckpoint(collection)), beginning)
    t.deepEqual(rightOf(await documents.find(collection, byGroup('a'))), [])
    t.is(rightOf(await documents.get(collection, ['k'])).size, 0)
  })

  behaviour('a collection that was never prepared is empty too', async (t, { documents }) => {
    const collection = freshCollection()
    t.deepEqual(await contentOf(documents, collection), {})
    t.is(rightOf(await documents.count(collection)), 0)
    t.is(rightOf(await documents.confirmedCheckpoint(collection)), beginning)
    t.is(rightOf(await documents.checkpoint(collection)), beginning)
    t.is(rightOf(await documents.get(collection, ['k'])).size, 0)
  })

  behaviour('a generation exists from its preparation until it is dropped or promoted', async (t, { documents }) => {
    const live = freshCollection()
    const next = { ...live, generation: 'next' } as const
    const exist = async () => [rightOf(await documents.exists(live)), rightOf(await documents.exists(next))]
    t.deepEqual(await exist(), [false, false])
    rightOf(await documents.prepare(live))
    t.deepEqual(await exist(), [true, false])
    rightOf(await documents.prepare(next))
    t.deepEqual(await exist(), [true, true])
    rightOf(await documents.promote(live))
    t.deepEqual(await exist(), [true, false])
    rightOf(await documents.prepare(next))
    rightOf(await documents.drop(next))
    t.deepEqual(await exist(), [true, false])
    rightOf(await documents.drop(live))
    t.deepEqual(await exist(), [false, false])
  })

  behaviour('preparing a collection again leaves its documents and checkpoint', async (t, { documents }) => {
    const collection = await prepared(documents)
    await apply(documents, collection, [put('k', 1n, { group: 'a', rank: 1 })], 1n)
    rightOf(await documents.prepare(collection))
    t.deepEqual(await contentOf(documents, collection), { k: { group: 'a', rank: 1 } })
    t.is(rightOf(await documents.confirmedCheckpoint(collection)), positionAt(1))
  })

  behaviour('one collection can be prepared several times at the same time', async (t, { documents }) => {
    const collection = freshCollection()
    const results = await Promise.all(Array.from({ length: 5 }, () => documents.prepare(collection)))
    t.true(results.every(E.isRight))
    await apply(documents, collection, [put('k', 1n, {})], 1n)
    t.deepEqual(await contentOf(documents, collection), { k: {} })
  })

  behaviour('collections and versions of one name do not see each other', async (t, { documents }) => {
    const one = await prepared(documents)
    const other = await prepared(documents)
    const newer = { ...one, version: 2 }
    rightOf(await documents.prepare(newer))
    await apply(documents, one, [put('k', 1n, { of: 'one' })], 1n)
    await apply(documents, other, [put('k', 2n, { of: 'other' })], 2n)
    await apply(documents, newer, [put('k', 3n, { of: 'newer' })], 3n)
    t.deepEqual(await contentOf(documents, one), { k: { of: 'one' } })
    t.deepEqual(await contentOf(documents, other), { k: { of: 'other' } })
    t.deepEqual(await contentOf(documents, newer), { k: { of: 'newer' } })
    t.is(rightOf(await documents.confirmedCheckpoint(one)), positionAt(1))
    t.is(rightOf(await documents.confirmedCheckpoint(newer)), positionAt(3))
  })

  behaviour('the next generation is invisible until it is promoted', async (t, { documents }) => {
    const live = await filled(documents)
    const before = await contentOf(documents, live)
    const next = await nextOf(documents, live)
    await apply(documents, next, [put('a', 30n, { group: 'a', rank: 7 }), put('z', 30n, { group: 'a', rank: 8 })], 31n)
    t.deepEqual(await contentOf(documents, live), before)
    t.is(rightOf(await documents.confirmedCheckpoint(live)), positionAt(10))
    t.is(rightOf(await documents.checkpoint(live)), positionAt(10))
    t.deepEqual(keysOf(rightOf(await documents.find(live, byGroup('a')))), ['d', 'a', 'c', 'b'])
    t.deepEqual(await contentOf(documents, next), { a: { group: 'a', rank: 7 }, z: { group: 'a', rank: 8 } })
    t.is(rightOf(await documents.confirmedCheckpoint(next)), positionAt(31))
    t.is(rightOf(await documents.checkpoint(next)), positionAt(31))
    t.is(rightOf(await documents.count(next)), 2)
  })

  behaviour(
    'a promoted generation replaces all documents that were live, and keeps its checkpoint',
    async (t, { documents }) => {
      const live = await filled(documents)
      const next = await nextOf(documents, live)
      await apply(documents, next, [put('a', 3n, { group: 'a', rank: 7 }), put('z', 3n, { group: 'a', rank: 6 })], 4n)
      rightOf(await documents.promote(live))
      t.deepEqual(await contentOf(documents, live), { a: { group: 'a', rank: 7 }, z: { group: 'a', rank: 6 } })
      t.is(rightOf(await documents.confirmedCheckpoint(live)), positionAt(4))
      t.is(rightOf(await documents.count(live)), 2)
      t.deepEqual(keysOf(rightOf(await documents.find(live, byGroup('a')))), ['z', 'a'])
      t.deepEqual(await contentOf(documents, next), {})
      t.is(rightOf(await documents.confirmedCheckpoint(next)), beginning)
    },
  )

  behaviour(
    'a promoted generation takes changes as before, and ignores those that are not newer',
    async (t, { documents }) => {
      const live = await filled(documents)
      const next = await nextOf(documents, live)
      await apply(documents, next, [put('a', 30n, { group: 'a', rank: 7 }), remove('b', 30n)], 30n)
      rightOf(await documents.promote(live))
      await apply(documents, live, [put('a', 29n, {}), put('b', 29n, {}), put('c', 31n, { group: 'a', rank: 1 })], 31n)
      t.deepEqual(await contentOf(documents, live), { a: { group: 'a', rank: 7 }, c: { group: 'a', rank: 1 } })
      t.is(rightOf(await documents.confirmedCheckpoint(live)), positionAt(31))
    },
  )

  behaviour('generations can be built and promoted one after the other', async (t, { documents }) => {
    const live = await filled(documents)
    for (let generation = 1; generation <= 4; generation += 1) {
      const next = await nextOf(documents, live)
      const position = BigInt(100 * generation)
      await apply(documents, next, [put('k', position, { group: 'a', rank: generation })], position)
      rightOf(await documents.promote(live))
      t.deepEqual(await contentOf(documents, live), { k: { group: 'a', rank: generation } })
      t.is(rightOf(await documents.confirmedCheckpoint(live)), positionAt(position))
      t.deepEqual(keysOf(rightOf(await documents.find(live, byGroup('a')))), ['k'])
    }
  })

  behaviour('a first generation can be built and promoted where none was live', async (t, { documents }) => {
    const live = freshCollection()
    const next = await nextOf(documents, live)
    await apply(documents, next, [put('k', 1n, { group: 'a', rank: 1 })], 2n)
    rightOf(await documents.promote(live))
    t.deepEqual(await contentOf(documents, live), { k: { group: 'a', rank: 1 } })
    rightOf(await documents.prepare(live))
    t.deepEqual(await contentOf(documents, live), { k: { group: 'a', rank: 1 } })
    t.is(rightOf(await documents.confirmedCheckpoint(live)), positionAt(2))
  })

  behaviour('a promoted version takes the place of every other version', async (t, { documents }) => {
    const old = await filled(documents)
    const older = { ...old, version: 7 }
    rightOf(await documents.prepare(older))
    const newer = { ...old, version: 2 }
    const next = await nextOf(documents, newer)
    await apply(documents, next, [put('k', 1n, { group: 'a', rank: 1 })], 2n)
    rightOf(await documents.promote(newer))
    t.deepEqual(await contentOf(documents, newer), { k: { group: 'a', rank: 1 } })
    for (const other of [old, older]) {
      t.false(rightOf(await documents.exists(other)))
      t.deepEqual(await contentOf(documents, other), {})
      t.is(rightOf(await documents.confirmedCheckpoint(other)), beginning)
    }
  })

  behaviour('a promotion without a next generation changes nothing', async (t, { documents }) => {
    const live = await filled(documents)
    const before = await contentOf(documents, live)
    await documents.promote(live)
    t.deepEqual(await contentOf(documents, live), before)
  })

  behaviour('a reader sees the old generation or the new one, never neither or both', async (t, { documents }) => {
    const live = await prepared(documents)
    const keys = ['a', 'b', 'c']
    const build = (collection: Collection, generation: number): Promise<void> => {
      const changes = keys.map((key) => put(key, 1n, { group: `${generation}`, rank: 1 }))
      return apply(documents, collection, changes, 1n)
    }
    const read = async (): Promise<string> =>
      [...rightOf(await documents.get(live, keys)).values()].map(({ document }) => document?.['group']).join()
    await build(live, 0)
    // What goes wrong here goes wrong for a moment only, so it is looked for more than once.
    for (let generation = 1; generation <= 10; generation += 1) {
      await build(await nextOf(documents, live), generation)
      const promotion = { isOver: false }
      const promoting = documents.promote(live).finally(() => {
        promotion.isOver = true
      })
      const whole = [generation - 1, generation].map((one) => `${one},${one},${one}`)
      while (!promotion.isOver) {
        const seen = await read()
        t.true(whole.includes(seen), seen)
        await nextTurn()
      }
      t.true(E.isRight(await promoting))
      t.is(await read(), `${generation},${generation},${generation}`)
    }
  })

  behaviour('dropping the next generation leaves the live one, and it can be built again', async (t, { documents }) => {
    const live = await filled(documents)
    const before = await contentOf(documents, live)
    for (const rank of [1, 2]) {
      const next = await nextOf(documents, live)
      t.deepEqual(await contentOf(documents, next), {})
      await apply(documents, next, [put('z', 50n, { rank })], 50n)
      rightOf(await documents.drop(next))
      t.deepEqual(await contentOf(documents, next), {})
      t.is(rightOf(await documents.confirmedCheckpoint(next)), beginning)
      t.deepEqual(await contentOf(documents, live), before)
    }
    rightOf(await documents.drop({ ...live, generation: 'next' }))
    t.deepEqual(await contentOf(documents, live), before)
  })

  behaviour('a dropped collection can be prepared anew, and is empty', async (t, { documents }) => {
    const live = await filled(documents)
    rightOf(await documents.drop(live))
    t.deepEqual(await contentOf(documents, live), {})
    t.is(rightOf(await documents.confirmedCheckpoint(live)), beginning)
    rightOf(await documents.prepare(live))
    await apply(documents, live, [put('a', 1n, { group: 'a', rank: 1 })], 1n)
    t.deepEqual(await contentOf(documents, live), { a: { group: 'a', rank: 1 } })
    t.is(rightOf(await documents.confirmedCheckpoint(live)), positionAt(1))
  })

  behaviour('dropping an old version leaves the new one', async (t, { documents }) => {
    const old = await filled(documents)
    const newer = { ...old, version: 2 }
    rightOf(await documents.prepare(newer))
    await apply(documents, newer, [put('k', 1n, { group: 'a', rank: 1 })], 1n)
    rightOf(await documents.drop(old))
    t.deepEqual(await contentOf(documents, newer), { k: { group: 'a', rank: 1 } })
  })

  behaviour('everything is there after the store is opened again', async (t, { documents, reopen }) => {
    const live = await filled(documents)
    await apply(documents, live, [remove('a', 20n)], 21n)
    const next = await nextOf(documents, live)
    await apply(documents, next, [put('z', 30n, { group: 'a', rank: 1 })], 31n)
    const [before, building] = [await contentOf(documents, live), await contentOf(documents, next)]
    const again = await reopen()
    rightOf(await again.prepare(live))
    t.deepEqual(await contentOf(again, live), before)
    t.is(rightOf(await again.confirmedCheckpoint(live)), positionAt(21))
    t.deepEqual(keysOf(rightOf(await again.find(live, byGroup('a')))), ['d', 'c', 'b'])
    t.deepEqual(await contentOf(again, next), building)
    t.is(rightOf(await again.confirmedCheckpoint(next)), positionAt(31))
    await apply(again, live, [put('a', 19n, {})], 21n)
    t.deepEqual(await contentOf(again, live), before)
    rightOf(await again.promote(live))
    t.deepEqual(await contentOf(again, live), building)
  })
}
