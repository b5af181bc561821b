import fc from 'fast-check'
import assert from 'node:assert/strict'
import type { Query } from '../../projections/ports.js'
import { holdsAsync } from '../kit/domain/property.js'
import { rightOf } from '../kit/right-of.js'
import type { Behaviour } from './behaviour.js'
import {
  apply,
  byGroup,
  cursorOf,
  filled,
  freshCollection,
  keysOf,
  pages,
  prepared,
  put,
  remove,
  walk,
  type OpenDocuments,
  type Ranked,
} from './document-fixtures.js'

/** What queries, counts and walks find. */
export const documentQueries = (behaviour: Behaviour<OpenDocuments>): void => {
  behaviour(
    'a query finds what equals, ordered by the last field of the index and then by key',
    async (t, { documents }) => {
      const collection = await filled(documents)
      t.deepEqual(keysOf(rightOf(await documents.find(collection, byGroup('a')))), ['d', 'a', 'c', 'b'])
      t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...byGroup('a'), descending: true }))), [
        'b',
        'c',
        'a',
        'd',
      ])
      t.deepEqual(keysOf(rightOf(await documents.find(collection, byGroup('b')))), ['e'])
      t.deepEqual(keysOf(rightOf(await documents.find(collection, byGroup('c')))), [])
    },
  )

  behaviour('a query finds whole documents', async (t, { documents }) => {
    const collection = await filled(documents)
    t.deepEqual(rightOf(await documents.find(collection, byGroup('b'))), [
      { key: 'e', document: { group: 'b', rank: 1, name: 'Eve' } },
    ])
  })

  behaviour('an index of one field orders everything that has it', async (t, { documents }) => {
    const collection = await filled(documents)
    const query = { index: 'by_name', equals: [], limit: 10 }
    t.deepEqual(keysOf(rightOf(await documents.find(collection, query))), ['a', 'b', 'e', 'f'])
    t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...query, upTo: 'Bob' }))), ['a', 'b'])
  })

  behaviour('documents without a field of an index stay out of it', async (t, { documents }) => {
    const collection = await filled(documents)
    await apply(documents, collection, [put('a', 20n, { rank: 2 }), put('d', 20n, { group: 'a', rank: null })], 20n)
    t.deepEqual(keysOf(rightOf(await documents.find(collection, byGroup('a')))), ['c', 'b'])
    t.is(rightOf(await documents.count(collection)), 7)
  })

  behaviour('equality tells a number from its text', async (t, { documents }) => {
    const collection = await prepared(documents)
    const changes = [put('number', 1n, { group: 1, rank: 1 }), put('text', 1n, { group: '1', rank: 1 })]
    await apply(documents, collection, changes, 1n)
    t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...byGroup('1'), equals: [1] }))), ['number'])
    t.deepEqual(keysOf(rightOf(await documents.find(collection, byGroup('1')))), ['text'])
  })

  behaviour(
    'an index of three fields is asked for two of them, in the order of the third',
    async (t, { documents }) => {
      const collection = { ...freshCollection(), indexes: { by_both: ['group', 'name', 'rank'] } }
      rightOf(await documents.prepare(collection))
      const changes = [
        put('a', 1n, { group: 'a', name: 'Ann', rank: 2 }),
        put('b', 1n, { group: 'a', name: 'Ann', rank: 1 }),
        put('c', 1n, { group: 'a', name: 'Bob', rank: 1 }),
        put('d', 1n, { group: 'b', name: 'Ann', rank: 1 }),
        put('e', 1n, { group: 'a', name: null, rank: 1 }),
      ]
      await apply(documents, collection, changes, 1n)
      const part = { index: 'by_both', equals: ['a', 'Ann'], limit: 10 }
      t.deepEqual(keysOf(rightOf(await documents.find(collection, part))), ['b', 'a'])
      t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...part, upTo: 1 }))), ['b'])
      t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...part, after: { value: 1, key: 'b' } }))), ['a'])
      t.is(rightOf(await documents.count(collection, part)), 2)
    },
  )

  behaviour('the bounds of a query are inclusive', async (t, { documents }) => {
    const collection = await filled(documents)
    const upTo = async (bound: number) =>
      keysOf(rightOf(await documents.find(collection, { ...byGroup('a'), upTo: bound })))
    t.deepEqual(await upTo(0), [])
    t.deepEqual(await upTo(1), ['d'])
    t.deepEqual(await upTo(1.5), ['d'])
    t.deepEqual(await upTo(2), ['d', 'a', 'c'])
    t.deepEqual(await upTo(99), ['d', 'a', 'c', 'b'])
    const within = async (from: number, upTo: number) =>
      keysOf(rightOf(await documents.find(collection, { ...byGroup('a'), from, upTo })))
    t.deepEqual(await within(2, 2), ['a', 'c'])
    t.deepEqual(await within(1.5, 99), ['a', 'c', 'b'])
    t.deepEqual(await within(3, 2), [])
    const counted = async (bound: number) =>
      rightOf(await documents.count(collection, { index: 'by_group', equals: ['a'], upTo: bound, limit: 99 }))
    t.deepEqual([await counted(0), await counted(1), await counted(2), await counted(99)], [0, 1, 3, 4])
  })

  behaviour('a count goes no further than its limit', async (t, { documents }) => {
    const collection = await filled(documents)
    const counted = async (limit: number) =>
      rightOf(await documents.count(collection, { index: 'by_group', equals: ['a'], limit }))
    t.deepEqual([await counted(1), await counted(3), await counted(4), await counted(5)], [1, 3, 4, 4])
  })

  behaviour('a query finds no more documents than its limit', async (t, { documents }) => {
    const collection = await filled(documents)
    t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...byGroup('a'), limit: 2 }))), ['d', 'a'])
    t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...byGroup('a'), limit: 0 }))), [])
  })

  behaviour('page after page gives everything once, in both directions and within ties', async (t, { documents }) => {
    const collection = await prepared(documents)
    const changes = Array.from({ length: 23 }, (_, n) =>
      put(`key-${n.toString().padStart(2, '0')}`, 1n, { group: n % 5 === 0 ? 'b' : 'a', rank: n % 3 }),
    )
    await apply(documents, collection, changes, 1n)
    for (const descending of [false, true]) {
      const whole = rightOf(await documents.find(collection, { ...byGroup('a'), descending, limit: 100 }))
      t.is(whole.length, 18)
      for (const limit of [1, 2, 5, 18, 19]) {
        const query = { ...byGroup('a'), descending, limit }
        t.deepEqual(await pages(documents, collection, query), whole, `${limit}`)
      }
    }
  })

  behaviour('a cursor holds while documents come and go', async (t, { documents }) => {
    const collection = await filled(documents)
    const first = rightOf(await documents.find(collection, { ...byGroup('a'), limit: 2 }))
    await apply(documents, collection, [remove('a', 20n), put('a2', 20n, { group: 'a', rank: 2 })], 20n)
    const after = cursorOf(first.at(-1))
    t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...byGroup('a'), after }))), ['a2', 'c', 'b'])
    const descending = { ...byGroup('a'), after, descending: true }
    t.deepEqual(keysOf(rightOf(await documents.find(collection, descending))), ['d'])
  })

  behaviour('any query finds what a walk through all documents finds', async (t, { documents }) => {
    const rank = fc.option(fc.integer({ min: -2, max: 3 }), { nil: undefined })
    const document = fc.record({ group: fc.constantFrom('a', 'b', undefined), rank })
    const query = fc.record({
      equals: fc.constantFrom(['a'], ['b'], ['c']),
      from: rank,
      upTo: rank,
      after: fc.option(fc.record({ value: fc.integer({ min: -2, max: 3 }), key: fc.constantFrom('a', 'c', 'e') }), {
        nil: undefined,
      }),
      descending: fc.boolean(),
      limit: fc.integer({ min: 1, max: 8 }),
      except: fc.subarray(['a', 'b', 'c', 'd', 'z']),
    })
    await holdsAsync(
      t,
      fc.asyncProperty(fc.dictionary(fc.stringMatching(/^[a-g]$/), document), fc.array(query), async (all, queries) => {
        const collection = await prepared(documents)
        const plain = JSON.parse(JSON.stringify(all)) as Readonly<Record<string, Ranked>>
        await apply(
          documents,
          collection,
          Object.entries(plain).map(([key, one]) => put(key, 1n, one)),
          1n,
        )
        for (const { from, upTo, after, ...others } of queries) {
          const asked: Query = {
            index: 'by_group',
            ...others,
            ...(from === undefined ? {} : { from }),
            ...(upTo === undefined ? {} : { upTo }),
            ...(after === undefined ? {} : { after }),
          }
          assert.deepEqual(rightOf(await documents.find(collection, asked)), walk(plain, asked))
          const { after: _after, descending: _descending, limit: _limit, except: _except, ...part } = asked
          const counted = rightOf(await documents.count(collection, { ...part, limit: 3 }))
          assert.equal(counted, walk(plain, { ...part, limit: 3 }).length)
        }
      }),
      { numRuns: 60 },
    )
  })

  behaviour(
    'the values of the first field of an index are given, each once, and those of removed documents are not',
    async (t, { documents }) => {
      const collection = await filled(documents)
      t.deepEqual(rightOf(await documents.values(freshCollection(), 'by_group')), [])
      t.deepEqual([...rightOf(await documents.values(collection, 'by_group'))].toSorted(), ['a', 'b'])
      t.deepEqual([...rightOf(await documents.values(collection, 'by_name'))].toSorted(), ['Ann', 'Bob', 'Eve', 'Flo'])
      await apply(documents, collection, [put('a', 11n, { group: 'a' }), remove('b', 11n), remove('e', 11n)], 11n)
      t.deepEqual(rightOf(await documents.values(collection, 'by_group')), ['a'])
      t.deepEqual(rightOf(await documents.values(collection, 'by_name')), ['Flo'])
    },
  )

  behaviour('all documents come once, in the order of their keys, however many', async (t, { documents }) => {
    const collection = await prepared(documents)
    const keys = Array.from({ length: 2500 }, (_, n) => `key-${n.toString().padStart(5, '0')}`)
    await apply(
      documents,
      collection,
      keys.toReversed().map((key) => put(key, 1n, { key })),
      1n,
    )
    await apply(documents, collection, [remove('key-00007', 2n)], 2n)
    const found: Array<string> = []
    for await (const { key, document } of documents.all(collection)) {
      t.is(document?.['key'], key)
      found.push(key)
    }
    t.deepEqual(
      found,
      keys.filter((key) => key !== 'key-00007'),
    )
    t.is(rightOf(await documents.count(collection)), 2499)
  })
}
