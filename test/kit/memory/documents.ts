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
import { atOnce, type Steps } from './steps.js'

/** `json` is undefined where the document was removed; `fields` is what an index reads, and is never given away. */
type Held = { readonly json: string | undefined; readonly fields: Json; readonly position: Position }

/** `parts`: the documents again, by index and the values of all its fields but the last, so that none has to be looked for. */
type Generation = {
  readonly name: string
  readonly held: Map<string, Held>
  readonly parts: Map<string, Map<string, Held>>
  checkpoint: Position
}

type Indexed = Cursor & { readonly held: Held }

/** What is in the documents: it outlives every store that is opened on it. */
type DocumentState = Map<string, Generation>

export const documentState = (): DocumentState => new Map()

/** The `Documents` port on documents in memory. The checkpoint is written a step after the changes, as a server may do. */
export const memoryDocuments = (state: DocumentState, steps: Steps = atOnce): Documents => {
  const heldIn = (collection: Collection): ReadonlyMap<string, Held> => state.get(keyOf(collection))?.held ?? new Map()

  /** What stands in a part of an index, in no particular order. */
  const indexed = (collection: Collection, { index, equals, from, upTo }: IndexPart): ReadonlyArray<Indexed> => {
    const fields = collection.indexes[index]
    if (fields === undefined) throw new Error(`${collection.name} has no index ${index}`)
    const isWhole = equals.length === fields.length - 1
    const part = state.get(keyOf(collection))?.parts.get(partOf(index, equals))
    const all: Array<Indexed> = []
    for (const [key, held] of isWhole ? (part ?? []) : heldIn(collection)) {
      const value = held.fields[fields.at(-1) ?? '']
      if (typeof value !== 'string' && typeof value !== 'number') continue
      if (from !== undefined && inOrder(value, from) < 0) continue
      if (upTo !== undefined && inOrder(value, upTo) > 0) continue
      if (!isWhole && !equals.every((wanted, nth) => held.fields[fields[nth] ?? ''] === wanted)) continue
      all.push({ key, value, held })
    }
    return all
  }

  const found = (collection: Collection, { after, descending, limit, ...part }: Query): ReadonlyArray<Entry> => {
    const order = (one: Cursor, other: Cursor): number => (descending === true ? -1 : 1) * byCursor(one, other)
    const first: Array<Indexed> = []
    // Few of many are wanted: to sort them all would be most of what a simulated month takes.
    for (const one of indexed(collection, part)) {
      if (after !== undefined && order(one, after) <= 0) continue
      const last = first.at(-1)
      if (first.length >= limit && (last === undefined || order(one, last) > 0)) continue
      const place = first.findLastIndex((other) => order(other, one) < 0) + 1
      first.splice(place, 0, one)
      if (first.length > limit) first.pop()
    }
    return first.flatMap(({ key, held }) => entriesOf({ ...held, key }))
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
        .map(([key, held]) => ({ ...held, key }))
        .sort((one, other) => inOrder(one.key, other.key))
        .flatMap(entriesOf),
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
        if (one !== undefined) stored.set(key, { document: documentOf(one), position: one.position })
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
        if (part !== undefined) return E.right(Math.min(indexed(collection, part).length, part.limit))
        return E.right([...heldIn(collection).values()].filter(({ json }) => json !== undefined).length)
      }),
    values: (collection, index) =>
      steps.read(collection.name, () => {
        const field = collection.indexes[index]?.[0] ?? ''
        const values = [...heldIn(collection).values()].map(({ fields }) => fields[field])
        return E.right([...new Set(values.filter((one) => typeof one === 'string' || typeof one === 'number'))])
      }),
    all,
    apply: async (collection, changes, checkpoint) => {
      const misplaced = misplacedIn(changes, checkpoint)
      if (misplaced !== undefined) return E.left(misplaced)
      if (changes.length > 0) {
        const done = await written(collection, (generation) => {
          for (const { key, document, position } of changes) {
            if (position > (generation.held.get(key)?.position ?? beginning))
              hold(generation, collection, key, heldAs(document, position))
          }
        })
        if (E.isLeft(done)) return done
      }
      return written(collection, (generation) => {
        if (checkpoint > generation.checkpoint) generation.checkpoint = checkpoint
      })
    },
    checkpoint,
    progress: checkpoint,
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

const hold = ({ held, parts }: Generation, { indexes }: Collection, key: string, next: Held): void => {
  const before = held.get(key)
  held.set(key, next)
  for (const [index, fields] of Object.entries(indexes)) {
    const partWith = ({ fields: values }: Held): string =>
      partOf(
        index,
        fields.slice(0, -1).map((field) => values[field]),
      )
    if (before !== undefined) parts.get(partWith(before))?.delete(key)
    const part = parts.get(partWith(next)) ?? new Map<string, Held>()
    parts.set(partWith(next), part.set(key, next))
  }
}

const heldAs = (document: Json | undefined, position: Position): Held => {
  const json = document === undefined ? undefined : JSON.stringify(document)
  return { json, fields: json === undefined ? {} : (JSON.parse(json) as Json), position }
}

const documentOf = ({ json }: Held): Json | undefined => (json === undefined ? undefined : (JSON.parse(json) as Json))

const entriesOf = (one: Held & { readonly key: string }): ReadonlyArray<Entry> => {
  const document = documentOf(one)
  return document === undefined ? [] : [{ key: one.key, document }]
}

/** Numbers stand before texts. */
const inOrder = (one: IndexValue, other: IndexValue): number => {
  if (typeof one !== typeof other) return typeof one === 'number' ? -1 : 1
  return one < other ? -1 : one > other ? 1 : 0
}

const byCursor = (one: Cursor, other: Cursor): number => inOrder(one.value, other.value) || inOrder(one.key, other.key)
