import fc from 'fast-check'
import assert from 'node:assert/strict'
import { neverAborted } from '../../domain/abortable.js'
import { largestAppend, tooLargeAppend } from '../../domain/append-limit.js'
import { beginning, type Revision } from '../../domain/event.js'
import type { NewEvent } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { UndecodableEvent } from '../../domain/store-failed.js'
import { codePoint } from '../kit/domain/code-point.js'
import { holdsAsync } from '../kit/domain/property.js'
import { rightOf } from '../kit/right-of.js'
import { at, attribution, uuid } from '../kit/domain/samples.js'
import type { Behaviour } from './behaviour.js'
import {
  append,
  disabled,
  enabled,
  freshStream,
  historyOf,
  idsOf,
  many,
  newEvent,
  propertiesOf,
  recorded,
  eventsUntil,
  type Event,
  type Events,
  type OpenStore,
} from './event-store-fixtures.js'

/** What appends write and what reads of streams give. */
export const eventStoreAppends = (behaviour: Behaviour<OpenStore>): void => {
  behaviour('a missing stream has no events and no revision', async (t, { store }) => {
    t.deepEqual(await store.read(freshStream('account')), E.right({ events: [], revision: 'no-stream' }))
  })

  behaviour('appended events are read back in their order, from revision 0 on', async (t, { store }) => {
    const stream = freshStream('account')
    const events = [enabled(), disabled(), enabled()] as const
    const appended = await append(store, stream, 'no-stream', events)
    t.deepEqual(
      appended.map(({ type, revision }) => ({ type, revision })),
      [
        { type: 'AccountEnabled', revision: 0 },
        { type: 'AccountDisabled', revision: 1 },
        { type: 'AccountEnabled', revision: 2 },
      ],
    )
    t.deepEqual(await store.read(stream), E.right({ events: appended, revision: 2 }))
  })

  behaviour(
    'an append tells where its last event stands, and every field of the envelope is read back',
    async (t, { store }) => {
      const stream = freshStream('engagement')
      const events: Events = [
        newEvent(recorded({}), { actor: 'key_00000000000000000000000001' }),
        newEvent(
          { type: 'EngagementStarted', data: attribution() },
          {
            time: at(123),
            correlationId: uuid(5),
            causationId: uuid(6),
            schemaVersion: 1,
            actor: 'Ümläut \u{1f600}',
          },
        ),
      ]
      const appended = await append(store, stream, 'no-stream', events)
      t.deepEqual(
        appended,
        events.map((event, index) => ({
          ...event,
          stream,
          revision: index,
          position: appended[index]?.position ?? beginning,
        })),
      )
      t.deepEqual(await historyOf(store, beginning, ['engagement'], [stream]), appended)
    },
  )

  behaviour(
    'an event that can not be decoded is corrupt where it is read, and others notice nothing',
    async (t, { store }) => {
      const [stream, marker, other] = [freshStream('resend'), freshStream('resend'), freshStream('account')]
      const known = enabled()
      const unknown = { ...enabled(), type: 'AccountVanished' } as unknown as NewEvent
      const start = rightOf(await store.head())
      const [first] = await append(store, marker, 'no-stream', [enabled()])
      rightOf(await store.append(stream, 'no-stream', [known, unknown]))
      await append(store, other, 'no-stream', [enabled()])

      const read = await store.read(stream)
      t.true(E.isLeft(read) && read.left.kind === 'corrupt')
      t.regex(E.isLeft(read) ? read.left.reason : '', /AccountVanished/)
      const seen: Array<Event> = []
      const met = await t.throwsAsync(
        async () => {
          for await (const { events } of store.history(start, ['resend'], neverAborted)) seen.push(...events)
        },
        { instanceOf: UndecodableEvent },
      )
      const { position, ...named } = met.entry
      t.like(named, { stream, revision: 1, id: unknown.id, type: unknown.type })
      const after: Array<Event> = []
      for await (const { events } of store.history(position, ['resend', 'account'], neverAborted)) after.push(...events)
      t.deepEqual(idsOf(after), idsOf(await historyOf(store, beginning, ['account'], [other])))
      t.deepEqual(idsOf(seen).slice(-2), [first?.id, known.id])
      t.is((await historyOf(store, beginning, ['account'], [other])).length, 1)
    },
  )

  behaviour('when the newest event happened is told, which no checkpoint changes', async (t, { store }) => {
    await append(store, freshStream('account'), 'no-stream', [{ ...enabled(), time: at(1) }])
    await append(store, freshStream('account'), 'no-stream', [{ ...enabled(), time: at(2) }])
    t.deepEqual(await store.newestTime(), E.right(at(2)))
    rightOf(await store.saveCheckpoint('a follower', rightOf(await store.head())))
    t.deepEqual(await store.newestTime(), E.right(at(2)))
  })

  behaviour('any text is read back to the letter', async (t, { store }) => {
    const texts = [
      '',
      '\u0000',
      'a\u0000b',
      '\ud800',
      '\udfff\ud800',
      '\u{1f600}',
      '\u2028',
      '"\\\n\r\t',
      'é',
      'e\u0301',
    ]
    for (const text of texts) {
      const stream = freshStream('engagement')
      const [event] = await append(store, stream, 'no-stream', [newEvent(recorded({ [text]: text }))])
      const [read] = rightOf(await store.read(stream)).events
      t.deepEqual(JSON.stringify(read?.data), JSON.stringify(event?.data))
    }
  })

  behaviour('any key, empty objects and empty lists are data like any other', async (t, { store }) => {
    const text = '{"__proto__":{"a":1},"constructor":"b","toString":null,"":"","nothing":{},"none":[],"list":[[],{}]}'
    const properties = JSON.parse(text) as Readonly<Record<string, unknown>>
    const stream = freshStream('engagement')
    await append(store, stream, 'no-stream', [newEvent(recorded(properties))])
    const [read] = rightOf(await store.read(stream)).events
    t.is(JSON.stringify(propertiesOf(read)), text)
  })

  behaviour('whatever JSON is stored comes back as the same JSON', async (t, { store }) => {
    const json = fc.jsonValue({ stringUnit: codePoint })
    await holdsAsync(
      t,
      fc.asyncProperty(fc.dictionary(fc.string({ unit: codePoint }), json), async (properties) => {
        const stream = freshStream('engagement')
        await append(store, stream, 'no-stream', [newEvent(recorded(properties))])
        const [read] = rightOf(await store.read(stream)).events
        assert.equal(JSON.stringify(propertiesOf(read)), JSON.stringify(properties))
      }),
    )
  })

  behaviour('the largest append is taken, and one byte more is refused for good', async (t, { store }) => {
    const sized = (bytes: number): Events => {
      const little = newEvent(recorded({ '': '' }))
      const pad = bytes - Buffer.byteLength(JSON.stringify([little]))
      return [newEvent(recorded({ '': 'x'.repeat(pad) }), { id: little.id })]
    }
    const stream = freshStream('engagement')
    t.deepEqual(await store.append(stream, 'no-stream', sized(largestAppend + 1)), E.left(tooLargeAppend))
    t.deepEqual(await store.read(stream), E.right({ events: [], revision: 'no-stream' }))
    const appended = await append(store, stream, 'no-stream', sized(largestAppend))
    t.deepEqual(await append(store, stream, 0, [enabled()]), rightOf(await store.read(stream)).events.slice(1))
    t.is(appended.length, 1)
  })

  behaviour('of many small events as many are taken as there is room for', async (t, { store }) => {
    const one = Buffer.byteLength(JSON.stringify(enabled())) + 1
    const stream = freshStream('account')
    const tooMany = many(Math.ceil(largestAppend / one) + 10)
    t.deepEqual(await store.append(stream, 'no-stream', tooMany), E.left(tooLargeAppend))
    const appended = await append(store, stream, 'no-stream', many(Math.floor(largestAppend / one) - 20))
    t.true(appended.length > 3_000)
  })

  behaviour('an append at the revision read continues the stream', async (t, { store }) => {
    const stream = freshStream('account')
    await append(store, stream, 'no-stream', [enabled(), disabled()])
    const [next] = await append(store, stream, 1, [enabled()])
    t.is(next?.revision, 2)
    t.is(rightOf(await store.read(stream)).revision, 2)
  })

  behaviour('a stream of many pages is read whole, and from any of its revisions on', async (t, { store }) => {
    const stream = freshStream('account')
    const appended = await append(store, stream, 'no-stream', many(1_501))
    for (const from of [0, 1, 499, 500, 501, 1_000, 1_001, 1_500]) {
      t.deepEqual(await store.read(stream, from), E.right({ events: appended.slice(from), revision: 1_500 }), `${from}`)
    }
    t.deepEqual(await store.read(stream, 1_501), E.right({ events: [], revision: 'no-stream' }))
    t.deepEqual(await store.read(stream, 9_999), E.right({ events: [], revision: 'no-stream' }))
    t.deepEqual(await store.read(freshStream('account'), 3), E.right({ events: [], revision: 'no-stream' }))
  })

  behaviour('of a stream the newest events are read, in their order', async (t, { store }) => {
    const stream = freshStream('account')
    const appended = await append(store, stream, 'no-stream', many(60))
    for (const count of [1, 2, 59, 60, 61, 500]) {
      t.deepEqual(await store.readLast(stream, count), E.right(appended.slice(-count)), `${count}`)
    }
    t.deepEqual(await store.readLast(freshStream('account'), 3), E.right([]))
  })

  behaviour('an append at another revision is a conflict and writes nothing', async (t, { store }) => {
    const stream = freshStream('account')
    const appended = await append(store, stream, 'no-stream', [enabled(), disabled()])
    const elsewhere: ReadonlyArray<Revision> = ['no-stream', 0, 2, 100]
    for (const expected of elsewhere) {
      t.deepEqual(await store.append(stream, expected, [enabled()]), E.left({ kind: 'conflict' }), `${expected}`)
    }
    t.deepEqual(await store.read(stream), E.right({ events: appended, revision: 1 }))
    const missing = freshStream('account')
    t.deepEqual(await store.append(missing, 0, [enabled()]), E.left({ kind: 'conflict' }))
    t.deepEqual(await store.read(missing), E.right({ events: [], revision: 'no-stream' }))
  })

  behaviour('the same append again writes nothing and gives the first answer', async (t, { store }) => {
    const stream = freshStream('account')
    const first: Events = [enabled(), disabled()]
    const second: Events = [enabled()]
    const [one, two] = [await append(store, stream, 'no-stream', first), await append(store, stream, 1, second)]
    t.deepEqual(await append(store, stream, 'no-stream', first), one)
    t.deepEqual(await append(store, stream, 1, second), two)
    await append(store, stream, 2, [disabled()])
    t.deepEqual(await append(store, stream, 'no-stream', first), one)
    t.deepEqual(await append(store, stream, 1, second), two)
    t.is(rightOf(await store.read(stream)).revision, 3)
  })

  behaviour('a repeat with other data changes nothing of what was written first', async (t, { store }) => {
    const stream = freshStream('engagement')
    const event = newEvent(recorded({ said: 'first' }))
    const appended = await append(store, stream, 'no-stream', [event])
    const again = newEvent(recorded({ said: 'again' }), { id: event.id, time: at(9000) })
    t.deepEqual(await append(store, stream, 'no-stream', [again]), appended)
    t.deepEqual(rightOf(await store.read(stream)).events, appended)
  })

  behaviour('a repeat with other events is a conflict', async (t, { store }) => {
    const stream = freshStream('account')
    const [one, two] = [enabled(), disabled()]
    const appended = await append(store, stream, 'no-stream', [one, two])
    const others: ReadonlyArray<Events> = [[two, one], [one, two, enabled()], [one, enabled()], [enabled(), two], [two]]
    for (const events of others) {
      t.deepEqual(await store.append(stream, 'no-stream', events), E.left({ kind: 'conflict' }))
    }
    t.deepEqual(await store.append(stream, 0, [one]), E.left({ kind: 'conflict' }))
    t.deepEqual(await store.read(stream), E.right({ events: appended, revision: 1 }))
  })

  behaviour('of fifty writers that begin one stream at the same time one succeeds', async (t, { store }) => {
    const stream = freshStream('account')
    const racers = Array.from({ length: 50 }, () => [enabled(), disabled()] as const)
    const results = await Promise.all(racers.map((events) => store.append(stream, 'no-stream', events)))
    const won = results.filter(E.isRight)
    t.is(won.length, 1)
    t.true(results.every((result) => E.isRight(result) || result.left.kind === 'conflict'))
    const { events, revision } = rightOf(await store.read(stream))
    const winner = racers[results.findIndex(E.isRight)] ?? []
    t.deepEqual(
      idsOf(events),
      winner.map(({ id }) => id),
    )
    t.deepEqual(won[0]?.right, { revision: 1, position: events.at(-1)?.position ?? beginning })
    t.is(revision, 1)
  })

  behaviour(
    'the same append from many writers at the same time is written once, and all get its answer',
    async (t, { store }) => {
      const stream = freshStream('account')
      const events: Events = [enabled(), disabled()]
      const results = await Promise.all(Array.from({ length: 20 }, () => store.append(stream, 'no-stream', events)))
      t.true(results.every(E.isRight))
      for (const result of results) t.deepEqual(result, results[0])
      t.is(rightOf(await store.read(stream)).revision, 1)
    },
  )

  behaviour('writers that take turns at one stream lose nothing', async (t, { store }) => {
    const stream = freshStream('account')
    const write = async (): Promise<void> => {
      for (let written = 0; written < 5;) {
        const { revision } = rightOf(await store.read(stream))
        if (E.isRight(await store.append(stream, revision, [enabled()]))) written += 1
      }
    }
    await Promise.all(Array.from({ length: 8 }, write))
    t.is(rightOf(await store.read(stream)).revision, 39)
  })

  behaviour(
    'everything is there after the store is opened again, and the log goes on',
    async (t, { store, reopen }) => {
      const start = rightOf(await store.head())
      const stream = freshStream('account')
      const events: Events = [enabled(), disabled()]
      const before = await append(store, stream, 'no-stream', events)
      const reopened = await reopen()
      t.deepEqual(await reopened.read(stream), E.right({ events: before, revision: 1 }))
      t.deepEqual(await append(reopened, stream, 'no-stream', events), before)
      const after = await append(reopened, stream, 1, [enabled()])
      t.true((after[0]?.position ?? beginning) > (before[1]?.position ?? beginning))
      t.deepEqual(await historyOf(reopened, start, ['account'], [stream]), [...before, ...after])
      const followed = await eventsUntil(
        reopened,
        start,
        ['account'],
        ({ position }) => position >= (after[0]?.position ?? 0n),
      )
      t.deepEqual(idsOf(followed), idsOf([...before, ...after]))
    },
  )
}
