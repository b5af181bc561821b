import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { categoryOf, codecOf } from '../../domain/events.js'
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

for (const projection of readModels) {
  const { name, categories, indexes, keyOf } = projection

  test(`${name}: however a history is split into batches, the documents are the same`, (t) => {
    holds(
      t,
      fc.property(histories, cuts, (history, at) => {
        const split = appliedInBatches(projection, new Map(), batchesOf(history, at))
        assert.deepEqual(split, applied(projection, new Map(), history))
      }),
    )
  })

  test(`${name}: a history that comes again from any point, in any batches, changes nothing`, (t) => {
    holds(
      t,
      fc.property(histories, fc.nat(80), cuts, (history, from, at) => {
        const held = applied(projection, new Map(), history)
        const again = batchesOf(history.slice(from), at)
        assert.deepEqual(appliedInBatches(projection, held, again), held)
      }),
    )
  })

  test(`${name}: a checkpoint that lies behind the documents is caught up with`, (t) => {
    holds(
      t,
      fc.property(histories, fc.nat(80), fc.nat(80), cuts, (history, written, from, at) => {
        const held = applied(projection, new Map(), history.slice(0, written))
        const again = batchesOf(history.slice(Math.min(from, written)), at)
        const caughtUp = documentsIn(appliedInBatches(projection, held, again))
        assert.deepEqual(Object.fromEntries(caughtUp), project(projection, history))
      }),
    )
  })

  test(`${name}: its documents are JSON, with indexed fields that can be ordered`, (t) => {
    const indexed = new Set(Object.values(indexes).flat())
    holds(
      t,
      fc.property(histories, (history) => {
        const documents = project(projection, history)
        assert.deepEqual(JSON.parse(JSON.stringify(documents)), documents)
        for (const document of Object.values(documents)) {
          for (const field of indexed) {
            assert.ok(!(field in document) || ['string', 'number'].includes(typeof document[field]), field)
          }
        }
      }),
    )
  })

  test(`${name}: every event that concerns a document lies in its categories`, (t) => {
    holds(
      t,
      fc.property(histories, (history) => {
        const own = history.filter((event) => categories.some((category) => category === categoryOf(event.stream)))
        assert.deepEqual(
          history.filter((event) => keyOf(event) !== undefined),
          own.filter((event) => keyOf(event) !== undefined),
        )
        assert.deepEqual(project(projection, own), project(projection, history))
      }),
    )
  })

  test(`${name}: folding changes neither the documents nor the events that it is given`, (t) => {
    holds(
      t,
      fc.property(histories, fc.nat(80), (history, at) => {
        const held = applied(projection, new Map(), history.slice(0, at))
        const before = structuredClone({ held, history })
        applied(projection, held, history.slice(at))
        assert.deepEqual({ held, history }, before)
      }),
    )
  })
}

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
