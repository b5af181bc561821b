import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { beginning } from '../../domain/event.js'
import { E } from '../../domain/prelude.js'
import type { Change, Collection, Cursor, Documents, Entry, Json, Query, Stored } from '../../projections/ports.js'
import { holdsAsync } from '../kit/property.js'
import { rightOf } from '../kit/right-of.js'

export type OpenDocuments = {
  readonly documents: Documents
  /** Closes the store and opens it again on the same data. */
  readonly reopen: () => Promise<Documents>
  readonly close: () => Promise<void>
}

/** What every `Documents` does (projections/ports.ts). */
export const documentsContract = (name: string, open: () => Promise<OpenDocuments>): void => {
  const behaviour = (
    title: string,
    check: (t: ExecutionContext, documents: Documents, opened: OpenDocuments) => Promise<void>,
  ): void => {
    test.serial(`${name}: ${title}`, async (t) => {
      const opened = await open()
      try {
        await check(t, opened.documents, opened)
      } finally {
        await opened.close()
      }
    })
  }

  behaviour('a prepared collection is empty and begins at the beginning', async (t, documents) => {
    const collection = await prepared(documents)
    t.deepEqual(await contentOf(documents, collection), {})
    t.is(rightOf(await documents.count(collection)), 0)
    t.is(rightOf(await documents.checkpoint(collection)), beginning)
    t.deepEqual(rightOf(await documents.find(collection, byGroup('a'))), [])
    t.is(rightOf(await documents.get(collection, ['k'])).size, 0)
  })

  behaviour('a collection that was never prepared is empty too', async (t, documents) => {
    const collection = freshCollection()
    t.deepEqual(await contentOf(documents, collection), {})
    t.is(rightOf(await documents.count(collection)), 0)
    t.is(rightOf(await documents.checkpoint(collection)), beginning)
    t.is(rightOf(await documents.get(collection, ['k'])).size, 0)
  })

  behaviour('a generation exists from its preparation until it is dropped or promoted', async (t, documents) => {
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

  behaviour('preparing again leaves what is there', async (t, documents) => {
    const collection = await prepared(documents)
    await apply(documents, collection, [put('k', 1n, { group: 'a', rank: 1 })], 1n)
    rightOf(await documents.prepare(collection))
    t.deepEqual(await contentOf(documents, collection), { k: { group: 'a', rank: 1 } })
    t.is(rightOf(await documents.checkpoint(collection)), 1n)
  })

  behaviour('many may prepare one collection at once', async (t, documents) => {
    const collection = freshCollection()
    const results = await Promise.all(Array.from({ length: 5 }, () => documents.prepare(collection)))
    t.true(results.every(E.isRight))
    await apply(documents, collection, [put('k', 1n, {})], 1n)
    t.deepEqual(await contentOf(documents, collection), { k: {} })
  })

  behaviour('a document is what was put, found by its key', async (t, documents) => {
    const collection = await prepared(documents)
    const document = { group: 'a', rank: 1, nested: { list: [1, 'two', null, {}], deep: { empty: [] } }, none: null }
    await apply(documents, collection, [put('k', 1n, document), put('other', 1n, {})], 1n)
    t.deepEqual(
      rightOf(await documents.get(collection, ['other', 'missing', 'k'])),
      new Map<string, Stored>([
        ['other', { document: {}, position: 1n }],
        ['k', { document, position: 1n }],
      ]),
    )
    t.is(rightOf(await documents.get(collection, [])).size, 0)
    t.is(rightOf(await documents.count(collection)), 2)
  })

  behaviour('any JSON stays the same JSON', async (t, documents) => {
    const collection = await prepared(documents)
    let position = beginning
    await holdsAsync(
      t,
      fc.asyncProperty(fc.jsonValue({ noUnicodeString: false }), async (value) => {
        position += 1n
        await apply(documents, collection, [put('k', position, { value })], position)
        const read = rightOf(await documents.get(collection, ['k'])).get('k')?.document
        assert.deepEqual(read, JSON.parse(JSON.stringify({ value })))
      }),
    )
  })

  behaviour('a newer change replaces, one that is not newer is passed over', async (t, documents) => {
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

  behaviour('a position that is passed over takes none of the others with it', async (t, documents) => {
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

  behaviour('positions too large for 32 bits are compared rightly', async (t, documents) => {
    const collection = await prepared(documents)
    const large = 2n ** 40n
    await apply(documents, collection, [put('k', large + 1n, { rank: 1 })], large + 1n)
    await apply(documents, collection, [put('k', large, { rank: 0 })], large)
    t.deepEqual(await contentOf(documents, collection), { k: { rank: 1 } })
    await apply(documents, collection, [put('k', large + 2n, { rank: 2 })], large + 2n)
    t.deepEqual(await contentOf(documents, collection), { k: { rank: 2 } })
    t.is(rightOf(await documents.checkpoint(collection)), large + 2n)
  })

  behaviour('a removed document is nowhere, and a stale change does not bring it back', async (t, documents) => {
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

  behaviour('what was never there may be removed, and stays so against a stale change', async (t, documents) => {
    const collection = await prepared(documents)
    await apply(documents, collection, [remove('k', 3n)], 3n)
    await apply(documents, collection, [put('k', 2n, {})], 3n)
    t.deepEqual(await contentOf(documents, collection), {})
  })

  behaviour('any sequence of changes leaves, under each key, the newest', async (t, documents) => {
    const change = fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      position: fc.bigInt({ min: 1n, max: 12n }),
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

  behaviour('an index finds what equals, ordered by its last field and then by key', async (t, documents) => {
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
  })

  behaviour('what is found is the whole document', async (t, documents) => {
    const collection = await filled(documents)
    t.deepEqual(rightOf(await documents.find(collection, byGroup('b'))), [
      { key: 'e', document: { group: 'b', rank: 1, name: 'Eve' } },
    ])
  })

  behaviour('an index of one field orders everything that has it', async (t, documents) => {
    const collection = await filled(documents)
    const query = { index: 'by_name', equals: [], limit: 10 }
    t.deepEqual(keysOf(rightOf(await documents.find(collection, query))), ['a', 'b', 'e', 'f'])
    t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...query, upTo: 'Bob' }))), ['a', 'b'])
  })

  behaviour('documents without a field of an index stay out of it', async (t, documents) => {
    const collection = await filled(documents)
    await apply(documents, collection, [put('a', 20n, { rank: 2 }), put('d', 20n, { group: 'a', rank: null })], 20n)
    t.deepEqual(keysOf(rightOf(await documents.find(collection, byGroup('a')))), ['c', 'b'])
    t.is(rightOf(await documents.count(collection)), 7)
  })

  behaviour('equality tells a number from its text', async (t, documents) => {
    const collection = await prepared(documents)
    const changes = [put('number', 1n, { group: 1, rank: 1 }), put('text', 1n, { group: '1', rank: 1 })]
    await apply(documents, collection, changes, 1n)
    t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...byGroup('1'), equals: [1] }))), ['number'])
    t.deepEqual(keysOf(rightOf(await documents.find(collection, byGroup('1')))), ['text'])
  })

  behaviour('a bound is inclusive', async (t, documents) => {
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
      rightOf(await documents.count(collection, { index: 'by_group', equals: ['a'], upTo: bound }))
    t.deepEqual([await counted(0), await counted(1), await counted(2), await counted(99)], [0, 1, 3, 4])
  })

  behaviour('no more than the limit is found', async (t, documents) => {
    const collection = await filled(documents)
    t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...byGroup('a'), limit: 2 }))), ['d', 'a'])
    t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...byGroup('a'), limit: 0 }))), [])
  })

  behaviour('page after page gives everything once, in both directions and within ties', async (t, documents) => {
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

  behaviour('a cursor holds while documents come and go', async (t, documents) => {
    const collection = await filled(documents)
    const first = rightOf(await documents.find(collection, { ...byGroup('a'), limit: 2 }))
    await apply(documents, collection, [remove('a', 20n), put('a2', 20n, { group: 'a', rank: 2 })], 20n)
    const after = cursorOf(first.at(-1))
    t.deepEqual(keysOf(rightOf(await documents.find(collection, { ...byGroup('a'), after }))), ['a2', 'c', 'b'])
    const descending = { ...byGroup('a'), after, descending: true }
    t.deepEqual(keysOf(rightOf(await documents.find(collection, descending))), ['d'])
  })

  behaviour('every query finds what a walk through all documents finds', async (t, documents) => {
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
          const { after: _after, descending: _descending, limit: _limit, ...part } = asked
          assert.equal(rightOf(await documents.count(collection, part)), walk(plain, { ...part, limit: 99 }).length)
        }
      }),
      { numRuns: 60 },
    )
  })

  behaviour('the checkpoint moves with the changes, without any, and never backward', async (t, documents) => {
    const collection = await prepared(documents)
    await apply(documents, collection, [put('k', 3n, {})], 5n)
    t.is(rightOf(await documents.checkpoint(collection)), 5n)
    await apply(documents, collection, [], 9n)
    t.is(rightOf(await documents.checkpoint(collection)), 9n)
    await apply(documents, collection, [put('other', 4n, {})], 4n)
    t.is(rightOf(await documents.checkpoint(collection)), 9n)
    t.deepEqual(await contentOf(documents, collection), { k: {}, other: {} })
  })

  behaviour('all documents come once, in the order of their keys, however many', async (t, documents) => {
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
      t.is(document['key'], key)
      found.push(key)
    }
    t.deepEqual(
      found,
      keys.filter((key) => key !== 'key-00007'),
    )
    t.is(rightOf(await documents.count(collection)), 2499)
  })

  behaviour('collections and versions of one name do not see each other', async (t, documents) => {
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
    t.is(rightOf(await documents.checkpoint(one)), 1n)
    t.is(rightOf(await documents.checkpoint(newer)), 3n)
  })

  behaviour('the next generation is invisible until it is promoted', async (t, documents) => {
    const live = await filled(documents)
    const before = await contentOf(documents, live)
    const next = await nextOf(documents, live)
    await apply(documents, next, [put('a', 30n, { group: 'a', rank: 7 }), put('z', 30n, { group: 'a', rank: 8 })], 31n)
    t.deepEqual(await contentOf(documents, live), before)
    t.is(rightOf(await documents.checkpoint(live)), 10n)
    t.deepEqual(keysOf(rightOf(await documents.find(live, byGroup('a')))), ['d', 'a', 'c', 'b'])
    t.deepEqual(await contentOf(documents, next), { a: { group: 'a', rank: 7 }, z: { group: 'a', rank: 8 } })
    t.is(rightOf(await documents.checkpoint(next)), 31n)
    t.is(rightOf(await documents.count(next)), 2)
  })

  behaviour('what is promoted replaces all that was live and keeps its checkpoint', async (t, documents) => {
    const live = await filled(documents)
    const next = await nextOf(documents, live)
    await apply(documents, next, [put('a', 3n, { group: 'a', rank: 7 }), put('z', 3n, { group: 'a', rank: 6 })], 4n)
    rightOf(await documents.promote(live))
    t.deepEqual(await contentOf(documents, live), { a: { group: 'a', rank: 7 }, z: { group: 'a', rank: 6 } })
    t.is(rightOf(await documents.checkpoint(live)), 4n)
    t.is(rightOf(await documents.count(live)), 2)
    t.deepEqual(keysOf(rightOf(await documents.find(live, byGroup('a')))), ['z', 'a'])
    t.deepEqual(await contentOf(documents, next), {})
    t.is(rightOf(await documents.checkpoint(next)), beginning)
  })

  behaviour(
    'what is live after a promotion takes changes as before, and guards them by position',
    async (t, documents) => {
      const live = await filled(documents)
      const next = await nextOf(documents, live)
      await apply(documents, next, [put('a', 30n, { group: 'a', rank: 7 }), remove('b', 30n)], 30n)
      rightOf(await documents.promote(live))
      await apply(documents, live, [put('a', 29n, {}), put('b', 29n, {}), put('c', 31n, { group: 'a', rank: 1 })], 31n)
      t.deepEqual(await contentOf(documents, live), { a: { group: 'a', rank: 7 }, c: { group: 'a', rank: 1 } })
      t.is(rightOf(await documents.checkpoint(live)), 31n)
    },
  )

  behaviour('one generation after the other can be built and promoted', async (t, documents) => {
    const live = await filled(documents)
    for (let generation = 1; generation <= 4; generation += 1) {
      const next = await nextOf(documents, live)
      const position = BigInt(100 * generation)
      await apply(documents, next, [put('k', position, { group: 'a', rank: generation })], position)
      rightOf(await documents.promote(live))
      t.deepEqual(await contentOf(documents, live), { k: { group: 'a', rank: generation } })
      t.is(rightOf(await documents.checkpoint(live)), position)
      t.deepEqual(keysOf(rightOf(await documents.find(live, byGroup('a')))), ['k'])
    }
  })

  behaviour('a first generation may be built and promoted where none was live', async (t, documents) => {
    const live = freshCollection()
    const next = await nextOf(documents, live)
    await apply(documents, next, [put('k', 1n, { group: 'a', rank: 1 })], 2n)
    rightOf(await documents.promote(live))
    t.deepEqual(await contentOf(documents, live), { k: { group: 'a', rank: 1 } })
    rightOf(await documents.prepare(live))
    t.deepEqual(await contentOf(documents, live), { k: { group: 'a', rank: 1 } })
    t.is(rightOf(await documents.checkpoint(live)), 2n)
  })

  behaviour('a promoted version takes the place of every other version', async (t, documents) => {
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
      t.is(rightOf(await documents.checkpoint(other)), beginning)
    }
  })

  behaviour('where nothing was built, nothing is promoted', async (t, documents) => {
    const live = await filled(documents)
    const before = await contentOf(documents, live)
    await documents.promote(live)
    t.deepEqual(await contentOf(documents, live), before)
  })

  behaviour('a reader sees the old generation or the new one, never neither or both', async (t, documents) => {
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
        await new Promise(setImmediate)
      }
      t.true(E.isRight(await promoting))
      t.is(await read(), `${generation},${generation},${generation}`)
    }
  })

  behaviour('a dropped generation leaves the live one, and may be built again', async (t, documents) => {
    const live = await filled(documents)
    const before = await contentOf(documents, live)
    for (const rank of [1, 2]) {
      const next = await nextOf(documents, live)
      t.deepEqual(await contentOf(documents, next), {})
      await apply(documents, next, [put('z', 50n, { rank })], 50n)
      rightOf(await documents.drop(next))
      t.deepEqual(await contentOf(documents, next), {})
      t.is(rightOf(await documents.checkpoint(next)), beginning)
      t.deepEqual(await contentOf(documents, live), before)
    }
    rightOf(await documents.drop({ ...live, generation: 'next' }))
    t.deepEqual(await contentOf(documents, live), before)
  })

  behaviour('a dropped collection begins anew', async (t, documents) => {
    const live = await filled(documents)
    rightOf(await documents.drop(live))
    t.deepEqual(await contentOf(documents, live), {})
    t.is(rightOf(await documents.checkpoint(live)), beginning)
    rightOf(await documents.prepare(live))
    await apply(documents, live, [put('a', 1n, { group: 'a', rank: 1 })], 1n)
    t.deepEqual(await contentOf(documents, live), { a: { group: 'a', rank: 1 } })
    t.is(rightOf(await documents.checkpoint(live)), 1n)
  })

  behaviour('dropping an old version leaves the new one', async (t, documents) => {
    const old = await filled(documents)
    const newer = { ...old, version: 2 }
    rightOf(await documents.prepare(newer))
    await apply(documents, newer, [put('k', 1n, { group: 'a', rank: 1 })], 1n)
    rightOf(await documents.drop(old))
    t.deepEqual(await contentOf(documents, newer), { k: { group: 'a', rank: 1 } })
  })

  behaviour('everything is there after it is opened again', async (t, documents, { reopen }) => {
    const live = await filled(documents)
    await apply(documents, live, [remove('a', 20n)], 21n)
    const next = await nextOf(documents, live)
    await apply(documents, next, [put('z', 30n, { group: 'a', rank: 1 })], 31n)
    const [before, building] = [await contentOf(documents, live), await contentOf(documents, next)]
    const again = await reopen()
    rightOf(await again.prepare(live))
    t.deepEqual(await contentOf(again, live), before)
    t.is(rightOf(await again.checkpoint(live)), 21n)
    t.deepEqual(keysOf(rightOf(await again.find(live, byGroup('a')))), ['d', 'c', 'b'])
    t.deepEqual(await contentOf(again, next), building)
    t.is(rightOf(await again.checkpoint(next)), 31n)
    await apply(again, live, [put('a', 19n, {})], 21n)
    t.deepEqual(await contentOf(again, live), before)
    rightOf(await again.promote(live))
    t.deepEqual(await contentOf(again, live), building)
  })
}

type Ranked = { readonly group?: string; readonly rank?: number }

/** A collection that no other test writes to, on whatever data the store was opened. */
const freshCollection = (): Collection => ({
  name: `contract_${randomBytes(8).toString('hex')}`,
  version: 1,
  indexes: { by_group: ['group', 'rank'], by_name: ['name'] },
  generation: 'live',
})

const prepared = async (documents: Documents): Promise<Collection> => {
  const collection = freshCollection()
  rightOf(await documents.prepare(collection))
  return collection
}

const nextOf = async (documents: Documents, live: Collection): Promise<Collection> => {
  const next = { ...live, generation: 'next' } as const
  rightOf(await documents.prepare(next))
  return next
}

const filled = async (documents: Documents): Promise<Collection> => {
  const collection = await prepared(documents)
  const changes = [
    put('a', 10n, { group: 'a', rank: 2, name: 'Ann' }),
    put('b', 10n, { group: 'a', rank: 3, name: 'Bob' }),
    put('c', 10n, { group: 'a', rank: 2 }),
    put('d', 10n, { group: 'a', rank: 1 }),
    put('e', 10n, { group: 'b', rank: 1, name: 'Eve' }),
    put('f', 10n, { group: 'a', name: 'Flo' }),
    put('g', 10n, { rank: 1 }),
  ]
  await apply(documents, collection, changes, 10n)
  return collection
}

const put = (key: string, position: bigint, document: Json): Change => ({ key, position, document })
const remove = (key: string, position: bigint): Change => ({ key, position, document: undefined })

const apply = async (
  documents: Documents,
  collection: Collection,
  changes: ReadonlyArray<Change>,
  checkpoint: bigint,
): Promise<void> => {
  rightOf(await documents.apply(collection, changes, checkpoint))
}

const contentOf = async (documents: Documents, collection: Collection): Promise<Readonly<Record<string, Json>>> => {
  const content: Record<string, Json> = {}
  for await (const { key, document } of documents.all(collection)) content[key] = document
  return content
}

const byGroup = (group: string): Query => ({ index: 'by_group', equals: [group], limit: 10 })

const keysOf = (entries: ReadonlyArray<Entry>): ReadonlyArray<string> => entries.map(({ key }) => key)

const cursorOf = (entry: Entry | undefined): Cursor => ({
  value: (entry?.document as Ranked | undefined)?.rank ?? 0,
  key: entry?.key ?? '',
})

const pages = async (documents: Documents, collection: Collection, query: Query): Promise<ReadonlyArray<Entry>> => {
  const all: Array<Entry> = []
  for (;;) {
    const last = all.at(-1)
    const asked = last === undefined ? query : { ...query, after: cursorOf(last) }
    const page = rightOf(await documents.find(collection, asked))
    if (page.length === 0) return all
    all.push(...page)
  }
}

/** What a query of `by_group` must find, worked out the slow way. */
const walk = (all: Readonly<Record<string, Ranked>>, query: Query): ReadonlyArray<Entry> => {
  const direction = query.descending === true ? -1 : 1
  const compare = (one: Cursor, other: Cursor): number => {
    if (one.value !== other.value) return one.value < other.value ? -direction : direction
    return one.key < other.key ? -direction : one.key > other.key ? direction : 0
  }
  return Object.entries(all)
    .map(([key, document]) => ({ key, document }))
    .filter(({ document }) => document.group === query.equals[0] && document.rank !== undefined)
    .filter((entry) => query.from === undefined || cursorOf(entry).value >= query.from)
    .filter((entry) => query.upTo === undefined || cursorOf(entry).value <= query.upTo)
    .filter((entry) => query.after === undefined || compare(cursorOf(entry), query.after) > 0)
    .toSorted((one, other) => compare(cursorOf(one), cursorOf(other)))
    .slice(0, query.limit)
}
