import fc from 'fast-check'
import assert from 'node:assert/strict'
import type { Change, Stored } from '../../projections/ports.js'
import { codePoint } from '../kit/domain/code-point.js'
import { holdsAsync } from '../kit/domain/property.js'
import { rightOf } from '../kit/right-of.js'
import type { Behaviour } from './behaviour.js'
import { apply, byGroup, contentOf, keysOf, prepared, put, remove, type OpenDocuments } from './document-fixtures.js'
import { positionAt } from '../kit/domain/samples.js'

/** What changes to documents do, and their checkpoint. */
export const documentChanges = (behaviour: Behaviour<OpenDocuments>): void => {
  behaviour('a document is what was put, found by its key', async (t, { documents }) => {
    const collection = await prepared(documents)
    const document = { group: 'a', rank: 1, nested: { list: [1, 'two', null, {}], deep: { empty: [] } }, none: null }
    await apply(documents, collection, [put('k', 1n, document), put('other', 1n, {})], 1n)
    t.deepEqual(
      rightOf(await documents.get(collection, ['other', 'missing', 'k'])),
      new Map<string, Stored>([
        ['other', { document: {}, position: positionAt(1) }],
        ['k', { document, position: positionAt(1) }],
      ]),
    )
    t.is(rightOf(await documents.get(collection, [])).size, 0)
    for (const keys of [['other', 'missing', 'k', 'k'], []])
      t.deepEqual(await documents.getToFold(collection, keys), await documents.get(collection, keys))
    t.is(rightOf(await documents.count(collection)), 2)
  })

  behaviour('any JSON stays the same JSON', async (t, { documents }) => {
    const collection = await prepared(documents)
    let position = 0n
    await holdsAsync(
      t,
      fc.asyncProperty(fc.jsonValue({ stringUnit: codePoint }), async (value) => {
        position += 1n
        await apply(documents, collection, [put('k', position, { value })], position)
        const read = rightOf(await documents.get(collection, ['k'])).get('k')?.document
        assert.deepEqual(read, JSON.parse(JSON.stringify({ value })))
      }),
    )
  })

  behaviour('a newer change replaces a document, one that is not newer changes nothing', async (t, { documents }) => {
    const collection = await prepared(documents)
    await apply(documents, collection, [put('k', 5n, { group: 'a', rank: 5 })], 5n)
    await apply(documents, collection, [put('k', 4n, { group: 'b', rank: 4 })], 5n)
    await apply(documents, collection, [put('k', 5n, { group: 'c', rank: 3 })], 5n)
    t.deepEqual(await contentOf(documents, collection), { k: { group: 'a', rank: 5 } })
    t.deepEqual(rightOf(await documents.find(collection, byGroup('b'))), [])
    await apply(documents, collection, [put('k', 6n, { group: 'd', rank: 6 })], 6n)
    t.deepEqual(await contentOf(documents, collection), { k: { group: 'd', rank: 6 } })
    t.deepEqual(rightOf(await documents.find(collection, byGroup('a'))), [])
    t.deepEqual(keysOf(rightOf(await documents.find(collection, byGroup('d')))), ['k'])
  })

  behaviour('a change that is not newer does not affect the others of its batch', async (t, { documents }) => {
    const collection = await prepared(documents)
    await apply(documents, collection, [put('old', 5n, { rank: 5 })], 5n)
    await apply(
      documents,
      collection,
      [put('new', 4n, { rank: 4 }), put('old', 4n, { rank: 4 }), put('next', 4n, {})],
      5n,
    )
    t.deepEqual(await contentOf(documents, collection), { new: { rank: 4 }, next: {}, old: { rank: 5 } })
  })

  behaviour('positions beyond 32 bits are compared correctly', async (t, { documents }) => {
    const collection = await prepared(documents)
    const large = 2n ** 40n
    await apply(documents, collection, [put('k', large + 1n, { rank: 1 })], large + 1n)
    await apply(documents, collection, [put('k', large, { rank: 0 })], large)
    t.deepEqual(await contentOf(documents, collection), { k: { rank: 1 } })
    await apply(documents, collection, [put('k', large + 2n, { rank: 2 })], large + 2n)
    t.deepEqual(await contentOf(documents, collection), { k: { rank: 2 } })
    t.is(rightOf(await documents.confirmedCheckpoint(collection)), positionAt(large + 2n))
  })

  behaviour('a removed document is nowhere, and a stale change does not bring it back', async (t, { documents }) => {
    const collection = await prepared(documents)
    await apply(
      documents,
      collection,
      [put('k', 1n, { group: 'a', rank: 1 }), put('other', 1n, { group: 'a', rank: 2 })],
      1n,
    )
    await apply(documents, collection, [remove('k', 3n)], 3n)
    await apply(documents, collection, [put('k', 2n, { group: 'a', rank: 1 })], 3n)
    t.deepEqual(await contentOf(documents, collection), { other: { group: 'a', rank: 2 } })
    t.deepEqual(
      rightOf(await documents.get(collection, ['k'])),
      new Map([['k', { document: undefined, position: 3n }]]),
    )
    t.is(rightOf(await documents.count(collection)), 1)
    t.deepEqual(keysOf(rightOf(await documents.find(collection, byGroup('a')))), ['other'])
    await apply(documents, collection, [put('k', 4n, { group: 'a', rank: 9 })], 4n)
    t.deepEqual(keysOf(rightOf(await documents.find(collection, byGroup('a')))), ['other', 'k'])
  })

  behaviour(
    'a document that was never there can be removed, and a stale change does not bring it back',
    async (t, { documents }) => {
      const collection = await prepared(documents)
      await apply(documents, collection, [remove('k', 3n)], 3n)
      await apply(documents, collection, [put('k', 2n, {})], 3n)
      t.deepEqual(await contentOf(documents, collection), {})
    },
  )

  behaviour('any sequence of changes leaves the newest one under each key', async (t, { documents }) => {
    const change = fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      position: fc.integer({ min: 1, max: 12 }).map(positionAt),
      document: fc.option(
        fc.nat(9).map((rank) => ({ rank })),
        { nil: undefined },
      ),
    })
    await holdsAsync(
      t,
      fc.asyncProperty(fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 6 }), async (batches) => {
        const collection = await prepared(documents)
        const expected = new Map<string, Change>()
        for (const batch of batches) {
          // A batch holds one change a document (changesOf).
          const changes = [...new Map(batch.map((one) => [one.key, one])).values()]
          for (const one of changes) {
            if (one.position > (expected.get(one.key)?.position ?? 0n)) expected.set(one.key, one)
          }
          await apply(documents, collection, changes, 1n)
        }
        const left = [...expected.values()].filter((one) => one.document !== undefined)
        assert.deepEqual(
          await contentOf(documents, collection),
          Object.fromEntries(left.map(({ key, document }) => [key, document])),
        )
        assert.equal(rightOf(await documents.count(collection)), left.length)
      }),
      { numRuns: 40 },
    )
  })

  behaviour('nothing is written at what is no position', async (t, { documents }) => {
    const collection = await prepared(documents)
    await apply(documents, collection, [put('k', 3n, { rank: 3 })], 3n)
    for (const none of [2n ** 64n - 1n, 2n ** 63n, 2n ** 53n, -1n]) {
      const change = put('k', 4n, { rank: 4 })
      for (const refused of [
        await documents.apply(collection, [change], positionAt(none)),
        await documents.apply(collection, [change, { ...change, key: 'l', position: positionAt(none) }], positionAt(4)),
      ]) {
        t.like(refused, { left: { kind: 'corrupt' } })
      }
      t.deepEqual(await contentOf(documents, collection), { k: { rank: 3 } })
      t.is(rightOf(await documents.confirmedCheckpoint(collection)), positionAt(3))
    }
  })

  behaviour('the checkpoint moves with the changes, without any, and never backward', async (t, { documents }) => {
    const collection = await prepared(documents)
    await apply(documents, collection, [put('k', 3n, {})], 5n)
    t.is(rightOf(await documents.confirmedCheckpoint(collection)), positionAt(5))
    await apply(documents, collection, [], 9n)
    t.is(rightOf(await documents.confirmedCheckpoint(collection)), positionAt(9))
    await apply(documents, collection, [put('other', 4n, {})], 4n)
    t.is(rightOf(await documents.confirmedCheckpoint(collection)), positionAt(9))
    t.deepEqual(await contentOf(documents, collection), { k: {}, other: {} })
  })
}
