import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { codecOf } from '../../domain/events.js'
import { Instant } from '../../domain/instant.js'
import { categoryOf } from '../../domain/stream-name.js'
import type { AnyProjection } from '../../projections/projection.js'
import { readModels } from '../../projections/read-models/registry.js'
import { histories, type History } from '../kit/domain/histories.js'
import { applied, documentsIn, project, type Held } from '../kit/parts/project.js'
import { holds } from '../kit/domain/property.js'

const cuts = fc.array(fc.nat(80), { maxLength: 12 })

/** The batches that `at` cuts a history into; some are empty. */
const batchesOf = (history: History, at: ReadonlyArray<number>): ReadonlyArray<History> => {
  const places = [0, ...at.toSorted((one, other) => one - other), history.length]
  return places.slice(1).map((place, index) => history.slice(places[index], place))
}

const appliedInBatches = (projection: AnyProjection, held: Held, batches: ReadonlyArray<History>): Held =>
  batches.reduce((before, batch) => applied(projection, before, batch), held)

test('the histories hold nothing that could not be stored', (t) => {
  holds(
    t,
    fc.property(histories, (history) => {
      for (const { type, data } of history) assert.ok(codecOf(type)?.is({ type, data }), type)
    }),
  )
})

/** A failure shows whose documents they are. */
const areEqual = ({ name }: AnyProjection, found: unknown, expected: unknown): void =>
  assert.deepEqual({ [name]: found }, { [name]: expected })

/**
 * A law of every read model. A history costs more than what a read model makes of it, so each is put to all of them.
 */
const law = <Values>(
  title: string,
  values: fc.Arbitrary<Values>,
  holdsFor: (one: AnyProjection, values: Values) => void,
) =>
  test(title, (t) => {
    holds(
      t,
      fc.property(values, (drawn) => {
        for (const projection of readModels) holdsFor(projection, drawn)
      }),
    )
  })

law(
  'however a history is split into batches, the documents are the same',
  fc.record({ history: histories, at: cuts }),
  (projection, { history, at }) => {
    const split = appliedInBatches(projection, new Map(), batchesOf(history, at))
    areEqual(projection, split, applied(projection, new Map(), history))
  },
)

law(
  'a history that comes again from any point, in any batches, changes nothing',
  fc.record({ history: histories, from: fc.nat(80), at: cuts }),
  (projection, { history, from, at }) => {
    const held = applied(projection, new Map(), history)
    const again = batchesOf(history.slice(from), at)
    areEqual(projection, appliedInBatches(projection, held, again), held)
  },
)

law(
  'a checkpoint that lies behind the documents is caught up with',
  fc.record({ history: histories, written: fc.nat(80), from: fc.nat(80), at: cuts }),
  (projection, { history, written, from, at }) => {
    const held = applied(projection, new Map(), history.slice(0, written))
    const again = batchesOf(history.slice(Math.min(from, written)), at)
    const caughtUp = documentsIn(appliedInBatches(projection, held, again))
    areEqual(projection, Object.fromEntries(caughtUp), project(projection, history))
  },
)

law('documents are JSON, with indexed fields that can be asked for and ordered', histories, (projection, history) => {
  const indexes = Object.values(projection.indexes)
  const indexed = new Set(indexes.flat())
  const ordering = new Set(indexes.map((fields) => fields.at(-1)))
  const documents = project(projection, history)
  areEqual(projection, JSON.parse(JSON.stringify(documents)), documents)
  for (const document of Object.values(documents)) {
    for (const field of indexed) {
      const value = document[field]
      // No query that asks for a value finds null.
      const isNone = !(field in document) || (value === null && !ordering.has(field))
      assert.ok(isNone || ['string', 'number'].includes(typeof value), `${projection.name}: ${field}`)
    }
  }
})

/** A document store may keep an instant as one, and orders values of one type only. */
const typeOf = (value: unknown): string => (Instant.is(value) ? 'instant' : typeof value)

/** In whichever history: one alone seldom has both. */
const typesSeen = new Map<string, string>()

law('an indexed field holds values of one type, in whichever document', histories, (projection, history) => {
  for (const document of Object.values(project(projection, history))) {
    for (const field of Object.values(projection.indexes).flat()) {
      const value = document[field]
      if (value === undefined || value === null) continue
      const place = `${projection.name}.${field}`
      typesSeen.set(place, typesSeen.get(place) ?? typeOf(value))
      assert.equal(typeOf(value), typesSeen.get(place), place)
    }
  }
})

law(
  'every event that concerns a document lies in the categories of its read model',
  histories,
  (projection, history) => {
    const { categories, keyOf } = projection
    const own = history.filter((event) => categories.some((category) => category === categoryOf(event.stream)))
    const concerning = (events: History): History => events.filter((event) => keyOf(event) !== undefined)
    areEqual(projection, concerning(history), concerning(own))
    areEqual(projection, project(projection, own), project(projection, history))
  },
)

law(
  'folding changes neither the documents nor the events that it is given',
  fc.record({ history: histories, at: fc.nat(80) }),
  (projection, { history, at }) => {
    const held = applied(projection, new Map(), history.slice(0, at))
    const before = structuredClone({ held, history })
    applied(projection, held, history.slice(at))
    areEqual(projection, { held, history }, before)
  },
)

const textOf = (name: string, history: History): string => {
  const projection = readModels.find((one) => one.name === name)
  return projection === undefined ? '' : JSON.stringify(project(projection, history))
}

test('no read model but the contacts holds a value of a person', (t) => {
  holds(
    t,
    fc.property(histories, (history) => {
      for (const { name } of readModels.filter((one) => one.name !== 'contacts')) {
        assert.doesNotMatch(textOf(name, history), /\+1415|Name \d|ada@|consent\.example/, name)
      }
    }),
  )
})

test('no read model holds a token, a secret or the body of a delivery', (t) => {
  holds(
    t,
    fc.property(histories, (history) => {
      for (const { name } of readModels)
        assert.doesNotMatch(textOf(name, history), /token|secret|sealed|\\"how\\"/, name)
    }),
  )
})
