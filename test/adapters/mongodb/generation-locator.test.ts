import test, { type ExecutionContext } from 'ava'
import { MongoNetworkError, MongoServerError } from 'mongodb'
import { generationLocator } from '../../../adapters/mongodb/generations/locator.js'
import type { GenerationRegistry, Place } from '../../../adapters/mongodb/generations/registry.js'
import type { Collection } from '../../../projections/ports.js'

const collection: Collection = { name: 'contacts', version: 1, indexes: {}, generation: 'live' }

const first: Place = { stored: 'contacts', serial: 1 }
const second: Place = { stored: 'contacts', serial: 2 }

/** A registry that a test writes to, a time that it sets, and documents by the generation that wrote them. */
const open = (registered: Place | undefined) => {
  const state = { registered, now: 0, lookups: 0 }
  const registry: Pick<GenerationRegistry, 'find'> = {
    find: () => {
      state.lookups += 1
      return Promise.resolve(state.registered)
    },
  }
  const locator = generationLocator(registry as GenerationRegistry, { now: () => state.now })
  const documents = new Map([[1, ['a', 'b']]])
  const query = ({ serial }: Place): Promise<ReadonlyArray<string>> => Promise.resolve(documents.get(serial) ?? [])
  const read = (): Promise<ReadonlyArray<string>> =>
    locator.read(collection, ['none'], query, (found) => found.length === 2)
  return { state, locator, documents, read }
}

test('a location is looked up once a second at most, as long as everything is found there', async (t) => {
  const { state, read } = open(first)
  for (const now of [0, 1, 999]) {
    state.now = now
    t.deepEqual(await read(), ['a', 'b'])
  }
  t.is(state.lookups, 1)
  state.now = 1_000
  t.deepEqual(await read(), ['a', 'b'])
  t.is(state.lookups, 2)
})

test('what is missing is looked for in the generation that took over', async (t) => {
  const { state, documents, read } = open(first)
  await read()
  documents.delete(1)
  documents.set(2, ['c', 'd'])
  state.registered = second
  t.deepEqual(await read(), ['c', 'd'])
})

test('for a second, what is missing in the generation that this process writes is missing, and not looked for', async (t) => {
  const { state, locator, documents, read } = open(first)
  documents.set(1, ['a'])
  locator.confirm(collection, first)
  state.now = 999
  t.deepEqual(await read(), ['a'])
  t.is(await locator.recent(collection), first)
  t.is(state.lookups, 0)
  state.now = 1_000
  state.registered = second
  documents.set(2, ['c', 'd'])
  t.deepEqual(await read(), ['c', 'd'])
  t.is(state.lookups, 1)
})

test('what is missing in the generation that is live is missing', async (t) => {
  const { documents, read } = open(first)
  documents.set(1, ['a'])
  t.deepEqual(await read(), ['a'])
})

test('where there is no generation nothing is read', async (t) => {
  const { state, read } = open(undefined)
  t.deepEqual(await read(), ['none'])
  state.registered = first
  t.deepEqual(await read(), ['a', 'b'])
})

test('after a name is forgotten it is looked up again', async (t) => {
  const { state, locator, read } = open(first)
  await read()
  locator.forgetAll('contacts')
  await read()
  locator.forgetAll('contact')
  await read()
  t.is(state.lookups, 2)
})

const failsWith = async (t: ExecutionContext, error: Error, lookups: number): Promise<void> => {
  const { state, locator } = open(first)
  const reading = locator.read(
    collection,
    [],
    () => Promise.reject(error),
    () => true,
  )
  t.is(await t.throwsAsync(reading), error)
  t.is(state.lookups, lookups)
}

test('an error of the server may mean that the generation was dropped, and is thrown if it was not', (t) =>
  failsWith(t, new MongoServerError({ message: 'no such index' }), 2))

test('an error of the network says nothing about the generation, and is thrown at once', (t) =>
  failsWith(t, new MongoNetworkError('gone'), 1))
