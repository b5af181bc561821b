import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import type { Category, DomainEvent } from '../../domain/events.js'
import { beginning, type Envelope, type Position, type Recorded, type Revision } from '../../domain/event.js'
import type { Appended, EventBatch, EventStore, NewEvent } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { UndecodableEvent } from '../../domain/store-failed.js'
import { holdsAsync } from '../kit/property.js'
import { rightOf } from '../kit/right-of.js'
import { activity, at, attribution, uuid } from '../kit/samples.js'

export type OpenStore = {
  readonly store: EventStore
  /** Closes the store and opens it again on the same data. */
  readonly reopen: () => Promise<EventStore>
  readonly close: () => Promise<void>
}

type Event = Recorded<DomainEvent>
type Events = readonly [NewEvent, ...ReadonlyArray<NewEvent>]

/**
 * What every `EventStore` does (domain/ports.ts). Nothing is said about what stood in the log before, nor about numbers:
 * positions are only compared.
 */
export const eventStoreContract = (name: string, open: () => Promise<OpenStore>): void => {
  const behaviour = (
    title: string,
    check: (t: ExecutionContext, store: EventStore, opened: OpenStore) => Promise<void>,
  ): void => {
    test.serial(`${name}: ${title}`, async (t) => {
      const opened = await open()
      try {
        await check(t, opened.store, opened)
      } finally {
        await opened.close()
      }
    })
  }

  behaviour('a missing stream has no events and no revision', async (t, store) => {
    t.deepEqual(await store.read(freshStream('account')), E.right({ events: [], revision: 'no-stream' }))
  })

  behaviour('appended events are read back in their order, from revision 0 on', async (t, store) => {
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
    async (t, store) => {
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
    async (t, store) => {
      const [stream, marker, other] = [freshStream('resend'), freshStream('resend'), freshStream('account')]
      const unknown = { ...enabled(), type: 'AccountVanished' } as unknown as NewEvent
      const start = rightOf(await store.head())
      const [first] = await append(store, marker, 'no-stream', [enabled()])
      rightOf(await store.append(stream, 'no-stream', [unknown]))
      await append(store, other, 'no-stream', [enabled()])

      const read = await store.read(stream)
      t.true(E.isLeft(read) && read.left.kind === 'corrupt')
      t.regex(E.isLeft(read) ? read.left.reason : '', /AccountVanished/)
      const seen: Array<Event> = []
      await t.throwsAsync(
        async () => {
          for await (const { events } of store.history(start, ['resend'])) seen.push(...events)
        },
        { instanceOf: UndecodableEvent },
      )
      t.is(idsOf(seen).at(-1), first?.id)
      t.is((await historyOf(store, beginning, ['account'], [other])).length, 1)
    },
  )

  behaviour('any text is kept to the letter', async (t, store) => {
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

  behaviour('any key, empty objects and empty lists are data like any other', async (t, store) => {
    const text = '{"__proto__":{"a":1},"constructor":"b","toString":null,"":"","nothing":{},"none":[],"list":[[],{}]}'
    const properties = JSON.parse(text) as Readonly<Record<string, unknown>>
    const stream = freshStream('engagement')
    await append(store, stream, 'no-stream', [newEvent(recorded(properties))])
    const [read] = rightOf(await store.read(stream)).events
    t.is(JSON.stringify(propertiesOf(read)), text)
  })

  behaviour('whatever JSON is stored comes back as the same JSON', async (t, store) => {
    const json = fc.jsonValue({ noUnicodeString: false })
    await holdsAsync(
      t,
      fc.asyncProperty(fc.dictionary(fc.string({ unit: 'binary' }), json), async (properties) => {
        const stream = freshStream('engagement')
        await append(store, stream, 'no-stream', [newEvent(recorded(properties))])
        const [read] = rightOf(await store.read(stream)).events
        assert.equal(JSON.stringify(propertiesOf(read)), JSON.stringify(properties))
      }),
    )
  })

  behaviour('an append at the revision read continues the stream', async (t, store) => {
    const stream = freshStream('account')
    await append(store, stream, 'no-stream', [enabled(), disabled()])
    const [next] = await append(store, stream, 1, [enabled()])
    t.is(next?.revision, 2)
    t.is(rightOf(await store.read(stream)).revision, 2)
  })

  behaviour('an append anywhere else is a conflict and writes nothing', async (t, store) => {
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

  behaviour('the same append again writes nothing and gives the first answer', async (t, store) => {
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

  behaviour('a repeat that says something else changes nothing of what stands there', async (t, store) => {
    const stream = freshStream('engagement')
    const event = newEvent(recorded({ said: 'first' }))
    const appended = await append(store, stream, 'no-stream', [event])
    const again = newEvent(recorded({ said: 'again' }), { id: event.id, time: at(9000) })
    t.deepEqual(await append(store, stream, 'no-stream', [again]), appended)
    t.deepEqual(rightOf(await store.read(stream)).events, appended)
  })

  behaviour('a repeat that is not the same events is a conflict', async (t, store) => {
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

  behaviour('of fifty who begin one stream at once, one does', async (t, store) => {
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

  behaviour('the same append from many at once is written once, and all get its answer', async (t, store) => {
    const stream = freshStream('account')
    const events: Events = [enabled(), disabled()]
    const results = await Promise.all(Array.from({ length: 20 }, () => store.append(stream, 'no-stream', events)))
    t.true(results.every(E.isRight))
    for (const result of results) t.deepEqual(result, results[0])
    t.is(rightOf(await store.read(stream)).revision, 1)
  })

  behaviour('writers that take turns at one stream lose nothing', async (t, store) => {
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

  behaviour('positions increase in the order of the appends, across streams and within them', async (t, store) => {
    const appended: Array<Event> = []
    for (const category of ['account', 'engagement', 'account', 'contact'] as const) {
      appended.push(...(await append(store, freshStream(category), 'no-stream', many(3))))
    }
    const positions = appended.map(({ position }) => position)
    t.deepEqual(
      positions,
      [...new Set(positions)].toSorted((one, other) => (one < other ? -1 : 1)),
    )
    t.true(positions.every((position) => position > beginning))
  })

  behaviour('the head is the position of the last event', async (t, store) => {
    const [first] = await append(store, freshStream('account'), 'no-stream', [enabled()])
    const head = rightOf(await store.head())
    t.true(first !== undefined && head >= first.position)
    const [second] = await append(store, freshStream('engagement'), 'no-stream', [enabled()])
    t.true(second !== undefined && head < second.position)
  })

  behaviour('history gives the events of its categories alone, in the order of the log', async (t, store) => {
    const start = rightOf(await store.head())
    const written = await writeTo(store, ['account', 'conversion_contact', 'conversion', 'account', 'conversion'])
    const streams = written.map(({ stream }) => stream)
    const of = (categories: ReadonlyArray<Category>): ReadonlyArray<Event> =>
      written.filter(({ stream }) => categories.some((category) => stream.startsWith(`${category}-`)))
    for (const categories of [
      ['account'],
      ['account', 'conversion'],
      ['conversion_contact', 'lead'],
      ['lead'],
    ] as const) {
      t.deepEqual(await historyOf(store, start, categories, streams), of(categories), categories.join())
      t.deepEqual(await historyOf(store, beginning, categories, streams), of(categories), categories.join())
    }
  })

  behaviour('history begins right after its position and ends at the head of its beginning', async (t, store) => {
    const written = await writeTo(store, ['account', 'engagement', 'account', 'account'])
    const streams = written.map(({ stream }) => stream)
    for (const [index, { position }] of written.entries()) {
      const expected = written.slice(index + 1).filter(({ stream }) => stream.startsWith('account-'))
      t.deepEqual(await historyOf(store, position, ['account'], streams), expected)
    }
    t.deepEqual(await historyOf(store, rightOf(await store.head()), ['account'], streams), [])
  })

  behaviour('a long history comes whole, in batches whose positions only grow', async (t, store) => {
    const start = rightOf(await store.head())
    const streams = Array.from({ length: 12 }, (_, n) => freshStream(n % 2 === 0 ? 'account' : 'engagement'))
    const written = (await Promise.all(streams.map((stream) => append(store, stream, 'no-stream', many(200))))).flat()
    const head = rightOf(await store.head())
    for (const categories of [['account'], ['account', 'engagement']] as const) {
      const batches = await collect(store.history(start, categories))
      const positions = batches.map(({ position }) => position)
      t.deepEqual(
        positions,
        [...new Set(positions)].toSorted((one, other) => (one < other ? -1 : 1)),
      )
      t.true((positions.at(-1) ?? beginning) >= head)
      for (const { events, position } of batches) t.true(events.every((event) => event.position <= position))
      const expected = written.filter(({ stream }) => categories.some((category) => stream.startsWith(`${category}-`)))
      t.deepEqual(idsOf(batches.flatMap(({ events }) => events)), idsOf(inOrder(expected)))
    }
  })

  behaviour('a subscription gives the history and then what is written, without gap or repeat', async (t, store) => {
    const start = rightOf(await store.head())
    const marker = freshStream('account')
    const following = untilMarker(store, start, ['account', 'engagement'], marker)
    const writers = Array.from({ length: 20 }, (_, n) => freshStream(n % 2 === 0 ? 'account' : 'engagement'))
    const written: Array<Placed> = []
    const late: Array<{ readonly from: Position; readonly events: Promise<ReadonlyArray<Event>> }> = []
    const write = async (stream: string): Promise<void> => {
      for (let revision: Revision = 'no-stream'; revision !== 299;) {
        const events = many(3)
        const appended: Appended = rightOf(await store.append(stream, revision, events))
        revision = appended.revision
        written.push(...events.map(({ id }) => ({ id, position: appended.position })))
        if (written.length % 1200 !== 0) continue
        for (const from of [start, appended.position]) {
          late.push({ from, events: untilMarker(store, from, ['account', 'engagement'], marker) })
        }
      }
    }
    await Promise.all(writers.map(write))
    written.push(...(await append(store, marker, 'no-stream', [enabled()])))
    const log = inOrder(written)
    t.is(log.length, 6001)
    t.deepEqual(idsOf(await following), idsOf(log))
    t.true(late.length >= 8)
    for (const { from, events } of late) {
      t.deepEqual(idsOf(await events), idsOf(log.filter(({ position }) => position > from)))
    }
  })

  behaviour('a live event arrives as it was written', async (t, store) => {
    const stream = freshStream('engagement')
    const head = rightOf(await store.head())
    const following = untilMarker(store, head, ['engagement'], stream)
    const appended = await append(store, stream, 'no-stream', [newEvent(recorded({ said: 'é\u0000' }))])
    t.deepEqual(await following, appended)
  })

  behaviour('a live subscription gives the events of its categories alone', async (t, store) => {
    const head = rightOf(await store.head())
    const marker = freshStream('contact')
    const following = untilMarker(store, head, ['contact'], marker)
    const written = await writeTo(store, ['account', 'contact', 'engagement', 'contact'])
    const last = await append(store, marker, 'no-stream', [enabled()])
    const expected = [...written.filter(({ stream }) => stream.startsWith('contact-')), ...last]
    t.deepEqual(idsOf(await following), idsOf(expected))
  })

  behaviour('the position of a subscription moves on over events of other categories', async (t, store) => {
    const start = rightOf(await store.head())
    await writeTo(store, ['account', 'account'])
    const head = rightOf(await store.head())
    t.deepEqual(await until(store, start, ['contact'], ({ position }) => position >= head), [])
    const live = until(store, start, ['contact'], ({ position }) => position > head)
    await writeTo(store, ['account'])
    t.deepEqual(await live, [])
  })

  behaviour('a slow consumer misses nothing, nor does a quick one beside it', async (t, store) => {
    const start = rightOf(await store.head())
    const marker = freshStream('account')
    const stopping = new AbortController()
    const subscription = store.subscribe(start, ['account', 'engagement'], stopping.signal)[Symbol.asyncIterator]()
    const written = [...(await append(store, freshStream('account'), 'no-stream', [enabled()]))]
    const first = await subscription.next()
    const quick = untilMarker(store, start, ['account', 'engagement'], marker)
    for (let streams = 0; streams < 30; streams += 1) {
      written.push(...(await append(store, freshStream('engagement'), 'no-stream', many(200))))
    }
    written.push(...(await append(store, marker, 'no-stream', [enabled()])))
    const seen: Array<Event> = first.done === true ? [] : [...first.value.events]
    while (!seen.some(({ stream }) => stream === marker)) {
      const next = await subscription.next()
      if (next.done === true) break
      seen.push(...next.value.events)
    }
    stopping.abort()
    t.deepEqual(idsOf(seen), idsOf(written))
    t.deepEqual(idsOf(await quick), idsOf(written))
    t.true((await subscription.next()).done === true)
  })

  behaviour('a subscription ends when it is aborted, before it begins, in its history and live', async (t, store) => {
    const start = rightOf(await store.head())
    await Promise.all(Array.from({ length: 10 }, () => append(store, freshStream('account'), 'no-stream', many(200))))
    t.deepEqual(await collect(store.subscribe(start, ['account'], AbortSignal.abort())), [])

    const inHistory = new AbortController()
    let batches = 0
    for await (const { events } of store.subscribe(start, ['account'], inHistory.signal)) {
      if (events.length > 0) batches += 1
      inHistory.abort()
    }
    t.is(batches, 1)

    const live = new AbortController()
    const waiting = collect(store.subscribe(rightOf(await store.head()), ['account'], live.signal))
    await new Promise(setImmediate)
    live.abort()
    t.deepEqual(
      (await waiting).flatMap(({ events }) => events),
      [],
    )
  })

  behaviour('a subscription that its consumer leaves is over', async (t, store) => {
    const start = rightOf(await store.head())
    await append(store, freshStream('account'), 'no-stream', [enabled()])
    let seen = 0
    for await (const { events } of store.subscribe(start, ['account'], new AbortController().signal)) {
      seen += events.length
      if (seen > 0) break
    }
    t.is(seen, 1)
  })

  behaviour('everything is there after it is opened again, and the log goes on', async (t, store, { reopen }) => {
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
    const followed = await until(reopened, start, ['account'], ({ position }) => position >= (after[0]?.position ?? 0n))
    t.deepEqual(idsOf(followed), idsOf([...before, ...after]))
  })
}

/** A stream that no other test writes to, on whatever data the store was opened. */
const freshStream = (category: Category): string => `${category}-${randomBytes(13).toString('hex').toUpperCase()}`

const newEvent = (event: DomainEvent, envelope: Partial<Envelope> = {}): NewEvent => {
  const id = envelope.id ?? randomUUID()
  const usual = { id, time: at(), correlationId: id, causationId: id, schemaVersion: 1, actor: 'test' }
  return { ...event, ...usual, ...envelope }
}

const enabled = (): NewEvent => newEvent({ type: 'AccountEnabled', data: {} })
const disabled = (): NewEvent => newEvent({ type: 'AccountDisabled', data: {} })
const many = (count: number): Events => [enabled(), ...Array.from({ length: count - 1 }, disabled)]

const recorded = (properties: Readonly<Record<string, unknown>>): DomainEvent => ({
  type: 'ActivityRecorded',
  data: { activity: activity({ properties }), record_id: null },
})

const propertiesOf = (event: Event | undefined): unknown =>
  event?.type === 'ActivityRecorded' ? event.data.activity.properties : undefined

/** Appends, and gives what then stands at the place that the append tells. */
const append = async (
  store: EventStore,
  stream: string,
  expected: Revision,
  events: Events,
): Promise<ReadonlyArray<Event>> => {
  const { revision, position } = rightOf(await store.append(stream, expected, events))
  const read = rightOf(await store.read(stream)).events
  const appended = read.filter((event) => event.revision > revision - events.length && event.revision <= revision)
  assert.equal(appended.at(-1)?.position, position)
  return appended
}

/** An event to a new stream of each category, one after the other. */
const writeTo = async (store: EventStore, categories: ReadonlyArray<Category>): Promise<ReadonlyArray<Event>> => {
  const written: Array<Event> = []
  for (const category of categories) {
    written.push(...(await append(store, freshStream(category), 'no-stream', [enabled()])))
  }
  return written
}

const collect = async <A>(from: AsyncIterable<A>): Promise<ReadonlyArray<A>> => {
  const all: Array<A> = []
  for await (const one of from) all.push(one)
  return all
}

/** The events of `streams` in the history: the log may hold what others wrote. */
const historyOf = async (
  store: EventStore,
  after: Position,
  categories: ReadonlyArray<Category>,
  streams: ReadonlyArray<string>,
): Promise<ReadonlyArray<Event>> =>
  (await collect(store.history(after, categories))).flatMap(({ events }) =>
    events.filter(({ stream }) => streams.includes(stream)),
  )

const until = async (
  store: EventStore,
  after: Position,
  categories: ReadonlyArray<Category>,
  isLast: (batch: EventBatch) => boolean,
): Promise<ReadonlyArray<Event>> => {
  const stopping = new AbortController()
  const seen: Array<Event> = []
  for await (const batch of store.subscribe(after, categories, stopping.signal)) {
    seen.push(...batch.events)
    if (isLast(batch)) stopping.abort()
  }
  return seen
}

/** What a subscription gives up to the batch with the first event of the stream `marker`. */
const untilMarker = (
  store: EventStore,
  after: Position,
  categories: ReadonlyArray<Category>,
  marker: string,
): Promise<ReadonlyArray<Event>> =>
  until(store, after, categories, ({ events }) => events.some(({ stream }) => stream === marker))

type Placed = Pick<Event, 'id' | 'position'>

/** Stable: events of one append may share the position of the last of them. */
const inOrder = <A extends Placed>(events: ReadonlyArray<A>): ReadonlyArray<A> =>
  events.toSorted((one, other) => (one.position < other.position ? -1 : one.position > other.position ? 1 : 0))

const idsOf = (events: ReadonlyArray<Pick<Event, 'id'>>): ReadonlyArray<string> => events.map(({ id }) => id)
