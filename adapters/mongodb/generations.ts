import type { Db } from 'mongodb'
import type { Collection } from '../../projections/ports.js'
import { Failed, isDuplicate } from './failure.js'

type Key = Pick<Collection, 'version' | 'generation'>

/** One set of documents, and the collection of the database that holds it. */
type Generation = Key & { readonly stored: string }

/** What there is under one name. `serial` counts its changes and never begins anew: no stored name is used twice. */
type Registered = { readonly _id: string; readonly serial: number; readonly generations: ReadonlyArray<Generation> }

/** Without `generations` everything stays. */
type Decision<A> = { readonly result: A; readonly generations?: ReadonlyArray<Generation> }

/**
 * Which collections of the database hold which generations: one document a name, so that a promotion is one change of one
 * document, which happens at once or not at all. Everything here throws what the driver throws.
 */
export type Generations = {
  readonly find: (collection: Collection) => Promise<string | undefined>
  /** Finds it or makes it. Processes that do so at once get the same one. */
  readonly add: (collection: Collection) => Promise<string>
  /** Makes the next generation the only one of its name. */
  readonly promote: (collection: Collection) => Promise<string>
  /** Gives what was removed. */
  readonly remove: (collection: Collection) => Promise<string | undefined>
  /** Everything that a name has now. */
  readonly stored: (name: string) => Promise<ReadonlyArray<string>>
}

export const generationsIn = (db: Db): Generations => {
  const registry = db.collection<Registered>('collections')

  const read = async (name: string): Promise<Registered> =>
    (await registry.findOne({ _id: name })) ?? { _id: name, serial: 0, generations: [] }

  /** Decides anew until nobody else changed the name in between. */
  const change = async <A>(name: string, decide: (registered: Registered) => Decision<A>): Promise<A> => {
    for (;;) {
      const before = await read(name)
      const { generations, result } = decide(before)
      if (generations === undefined) return result
      if (await replaced(before, { _id: name, serial: before.serial + 1, generations })) return result
    }
  }
  const replaced = async ({ _id, serial }: Registered, after: Registered): Promise<boolean> => {
    if (serial > 0) return (await registry.replaceOne({ _id, serial }, after)).matchedCount === 1
    try {
      await registry.insertOne(after)
      return true
    } catch (error) {
      if (!isDuplicate(error)) throw error
      return false
    }
  }

  return {
    find: async (collection) => storedIn(await read(collection.name), collection),
    add: (collection) =>
      change(collection.name, (registered) => {
        const known = storedIn(registered, collection)
        if (known !== undefined) return { result: known }
        const { name, version, generation } = collection
        const stored = `${prefixOf(name)}${version}#${registered.serial + 1}`
        return { result: stored, generations: [...registered.generations, { version, generation, stored }] }
      }),
    promote: ({ name, version }) =>
      change(name, (registered) => {
        const stored = storedIn(registered, { version, generation: 'next' })
        if (stored === undefined) throw new Failed({ kind: 'corrupt', reason: `${name} has no next generation` })
        return { result: stored, generations: [{ version, generation: 'live', stored }] }
      }),
    remove: (collection) =>
      change(collection.name, (registered) => {
        const stored = storedIn(registered, collection)
        if (stored === undefined) return { result: undefined }
        return { result: stored, generations: registered.generations.filter((one) => one.stored !== stored) }
      }),
    stored: async (name) => (await read(name)).generations.map(({ stored }) => stored),
  }
}

/** What the name of every collection begins with that holds documents of `name`. */
export const prefixOf = (name: string): string => `${name}@`

const storedIn = ({ generations }: Registered, { version, generation }: Key): string | undefined =>
  generations.find((one) => one.version === version && one.generation === generation)?.stored
