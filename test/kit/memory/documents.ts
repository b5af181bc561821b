import { beginning, type Position } from '../../../domain/event.js'
import type { StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import {
  misplacedIn,
  type Collection,
  type Cursor,
  type Documents,
  type Entry,
  type IndexPart,
  type IndexValue,
  type Json,
  type Query,
  type Stored,
  type WalkedEntry,
} from '../../../projections/ports.js'
import { frozen } from '../frozen.js'
import { firstWhere } from '../ordered.js'
import { atOnce, type Steps } from './steps.js'

/**
 * The document is undefined where it was removed. It is frozen, so that whoever is given it changes nothing that is
 * held. `places`: where it stands, by the index.
 */
type Held = { readonly stored: Stored; readonly places: ReadonlyMap<string, Place> }

/** The name of a part of an index, and the value there. */
type Place = { readonly part: string; readonly value: IndexValue }

/**
 * `parts`: the documents again, by index and the values of all its fields but the last, each part in the order of that
 * one.
 */
type Generation = {
  readonly name: string
  readonly held: Map<string, Held>
  readonly parts: Map<string, Array<Indexed>>
  checkpoint: Position
}

type Indexed = Cursor & { readonly held: Held }

type Range = { readonly part: ReadonlyArray<Indexed>; readonly first: number; readonly end: number }

/** What is in the documents: it outlives every store that is opened on it. */
type DocumentState = Map<string, Generation>

export const documentState = (): DocumentState => new Map()

/**
 * The `Documents` port on documents in memory. The checkpoint is written a step after the changes, as a server may do.
 */
export const memoryDocuments = (state: DocumentState, steps: Steps = atOnce): Documents => {
  const heldIn = (collection: Collection): ReadonlyMap<string, Held> => state.get(keyOf(collection))?.held ?? new Map()

  /** A part of an index in its order, and which of it stand between the bounds: from `first` on, before `end`. */
  const indexed = (
    collection: Collection,
    { index, equals, from, upTo, after }: IndexPart & Pick<Query, 'after'>,
  ): Range => {
    const fields = collection.indexes[index]
    if (fields === undefined) throw new Error(`${collection.name} has no index ${index}`)
    const isWhole = equals.length === fields.length - 1
    const part = isWhole
      ? (state.get(keyOf(collection))?.parts.get(partOf(index, equals)) ?? [])
      : [...heldIn(collection)]
          .filter(([, held]) => equals.every((wanted, nth) => held.stored.document?.[fields[nth] ?? ''] === wanted))
          .flatMap(([key, held]) => {
            const place = held.places.get(index)
            return place === undefined ? [] : [{ key, value: place.value, held }]
          })
          .sort(byCursor)
    const bound = from ?? upTo ?? after?.value
    const kind = bound === undefined ? undefined : kindOf(bound)
    const first = firstWhere(part, ({ value }) =>
      from === undefined ? kind === undefined || kindOf(value) >= kind : inOrder(value, from) >= 0,
    )
    const end = firstWhere(part, ({ value }) =>
      upTo === undefined ? kind !== undefined && kindOf(value) > kind : inOrder(value, upTo) > 0,
    )
    return { part, first, end }
  }

  const found = (collection: Collection, query: Query): ReadonlyArray<Entry> => {
    const { after, descending, except = [], limit: wanted } = query
    const { part, first, end } = indexed(collection, query)
    const limit = wanted + except.length
    const start = after === undefined ? first : firstWhere(part, (one) => byCursor(one, after) > 0)
    const stop = after === undefined ? end : firstWhere(part, (one) => byCursor(one, after) >= 0)
    const some =
      descending === true
        ? part.slice(Math.max(first, Math.min(stop, end) - limit), Math.min(stop, end)).reverse()
        : part.slice(Math.max(start, first), Math.min(Math.max(start, first) + limit, end))
    return without(except, some)
      .slice(0, wanted)
      .flatMap(({ key, held }) => entriesOf(key, held))
  }

  const written = (
    collection: Collection,
    put: (generation: Generation) => void,
  ): Promise<Either<StoreFailure, void>> =>
    steps.write(collection.name, () => {
      const generation = state.get(keyOf(collection))
      if (generation === undefined) return E.left({ kind: 'corrupt', reason: `${collection.name} was not prepared` })
      put(generation)
      return E.right(undefined)
    })

  async function* all(collection: Collection): AsyncGenerator<WalkedEntry> {
    yield* await steps.read(collection.name, () =>
      [...heldIn(collection)]
        .sort(([one], [other]) => compared(one, other))
        .flatMap(([key, held]) => entriesOf(key, held)),
    )
  }

  const checkpoint: Documents['checkpoint'] = (collection) =>
    steps.read(collection.name, () => E.right(state.get(keyOf(collection))?.checkpoint ?? beginning))

  const get: Documents['get'] = (collection, keys) =>
    steps.read(collection.name, () => {
      const held = heldIn(collection)
      const stored = new Map<string, Stored>()
      for (const key of keys) {
        const one = held.get(key)
        if (one !== undefined) stored.set(key, one.stored)
      }
      return E.right(stored)
    })

  return {
    purge: () => Promise.resolve(E.right(true)),
    prepare: (collection) =>
      steps.write(collection.name, () => {
        const { name } = collection
        const key = keyOf(collection)
        if (!state.has(key)) state.set(key, { name, held: new Map(), parts: new Map(), checkpoint: beginning })
        return E.right(undefined)
      }),
    exists: (collection) => steps.read(collection.name, () => E.right(state.has(keyOf(collection)))),
    get,
    getToFold: get,
    find: (collection, query) => steps.read(collection.name, () => E.right(found(collection, query))),
    count: (collection, part) =>
      steps.read(collection.name, () => {
        if (part !== undefined) {
          const { first, end } = indexed(collection, part)
          return E.right(Math.min(Math.max(end - first, 0), part.limit))
        }
        return E.right([...heldIn(collection).values()].filter(({ stored }) => stored.document !== undefined).length)
      }),
    values: (collection, index) =>
      steps.read(collection.name, () => {
        const field = collection.indexes[index]?.[0] ?? ''
        const values = [...heldIn(collection).values()].map(({ stored }) => stored.document?.[field])
        return E.right([...new Set(values.filter((one) => typeof one === 'string' || typeof one === 'number'))])
      }),
    all,
    apply: async (collection, changes, checkpoint) => {
      const misplaced = misplacedIn(changes, checkpoint)
      if (misplaced !== undefined) return E.left(misplaced)
      if (changes.length > 0) {
        const done = await written(collection, (generation) => {
          for (const { key, document, position } of changes) {
            if (position > (generation.held.get(key)?.stored.position ?? beginning))
              hold(generation, key, heldAs(collection, document, position))
          }
        })
        if (E.isLeft(done)) return done
      }
      return written(collection, (generation) => {
        if (checkpoint > generation.checkpoint) generation.checkpoint = checkpoint
      })
    },
    confirmedCheckpoint: checkpoint,
    checkpoint,
    promote: (collection) =>
      steps.write(collection.name, () => {
        const next = state.get(keyOf({ ...collection, generation: 'next' }))
        if (next === undefined) {
          return E.left({ kind: 'corrupt', reason: `${collection.name} has no next generation` })
        }
        for (const [key, { name }] of state) if (name === collection.name) state.delete(key)
        state.set(keyOf({ ...collection, generation: 'live' }), next)
        return E.right(undefined)
      }),
    drop: (collection) =>
      steps.write(collection.name, () => {
        state.delete(keyOf(collection))
        return E.right(undefined)
      }),
  }
}

const keyOf = ({ name, version, generation }: Collection): string => `${name}@${version}/${generation}`

const partOf = (index: string, values: ReadonlyArray<unknown>): string => JSON.stringify([index, ...values])

const hold = ({ held, parts }: Generation, key: string, next: Held): void => {
  const partAt = ({ part }: Place): Array<Indexed> => {
    const known = parts.get(part)
    if (known !== undefined) return known
    const empty: Array<Indexed> = []
    parts.set(part, empty)
    return empty
  }
  const before = held.get(key)
  held.set(key, next)
  for (const [index, old] of before?.places ?? []) {
    const there = next.places.get(index)
    const one = { key, value: old.value, held: next }
    const part = partAt(old)
    if (isSame(there, old)) part[placeOf(part, one)] = one
    else part.splice(placeOf(part, one), 1)
  }
  for (const [index, place] of next.places) {
    if (isSame(before?.places.get(index), place)) continue
    const one = { key, value: place.value, held: next }
    const part = partAt(place)
    part.splice(placeOf(part, one), 0, one)
  }
}

const isSame = (one: Place | undefined, { part, value }: Place): boolean => one?.part === part && one.value === value

const placeOf = (part: ReadonlyArray<Indexed>, one: Indexed): number =>
  firstWhere(part, (other) => byCursor(other, one) >= 0)

/** As it is read from a store. */
const heldAs = ({ indexes }: Collection, given: Json | undefined, position: Position): Held => {
  const document = given === undefined ? undefined : frozen(JSON.parse(JSON.stringify(given)) as Json)
  const places = new Map<string, Place>()
  for (const [index, fields] of Object.entries(indexes)) {
    const [value, ...others] = fields.map((field) => document?.[field]).reverse()
    if (typeof value === 'string' || typeof value === 'number')
      places.set(index, { part: partOf(index, others.reverse()), value })
  }
  return { stored: { document, position }, places }
}

const without = (keys: ReadonlyArray<string>, all: ReadonlyArray<Indexed>): ReadonlyArray<Indexed> => {
  if (keys.length === 0) return all
  const isLeftOut = new Set(keys)
  return all.filter(({ key }) => !isLeftOut.has(key))
}

const entriesOf = (key: string, { stored: { document } }: Held): ReadonlyArray<Entry> =>
  document === undefined ? [] : [{ key, document }]

/**
 * As on MongoDB: numbers stand before texts, and these before instants, which are dates there. A bound matches only its
 * own kind.
 */
const kindOf = (value: IndexValue): number => (typeof value === 'number' ? 0 : isInstant(value) ? 2 : 1)

const isInstant = (text: string): boolean => text.length === 24 && text[10] === 'T' && text.endsWith('Z')

const inOrder = (one: IndexValue, other: IndexValue): number => kindOf(one) - kindOf(other) || compared(one, other)

const compared = <A extends IndexValue>(one: A, other: A): number => (one < other ? -1 : one > other ? 1 : 0)

const byCursor = (one: Cursor, other: Cursor): number => inOrder(one.value, other.value) || compared(one.key, other.key)
