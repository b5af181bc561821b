import type { Db } from 'mongodb'
import type { Collection } from '../../../projections/ports.js'
import { isDuplicate, OperationFailed } from '../failure.js'

type Key = Pick<Collection, 'version' | 'generation'>

/** One set of documents; `stored` is the collection of the database that holds it. */
type Generation = Key & { readonly stored: string }

/**
 * The generations of one name. `serial` counts its changes and never starts again, so that no stored name is used twice.
 * `promoted` is what the last promotion made the live one.
 */
type Registered = {
  readonly _id: string
  readonly serial: number
  readonly generations: ReadonlyArray<Generation>
  readonly promoted?: string
}

/** Without `change` the registry stays as it is. */
type Decision<A> = { readonly result: A; readonly change?: Pick<Registered, 'generations' | 'promoted'> }

/**
 * Which collections of the database hold which generations. There is one document for each name, so that a promotion is one
 * change of one document, which is atomic without a transaction. All methods throw what the driver throws.
 */
export type GenerationRegistry = {
  /** Where a generation is stored; undefined when there is none. */
  readonly find: (collection: Collection) => Promise<string | undefined>
  /** Finds a generation or adds it. Processes that do so at the same time get the same one. */
  readonly add: (collection: Collection) => Promise<string>
  /** Makes the next generation the only one of its name. May be repeated, by whoever did not learn that it succeeded. */
  readonly promote: (collection: Collection) => Promise<string>
  /** Returns where the removed generation is stored. */
  readonly remove: (collection: Collection) => Promise<string | undefined>
  /** Where all generations of a name are stored. */
  readonly stored: (name: string) => Promise<ReadonlyArray<string>>
}

export const generationRegistry = (db: Db): GenerationRegistry => {
  const registry = db.collection<Registered>('collections')

  const read = async (name: string): Promise<Registered> =>
    (await registry.findOne({ _id: name })) ?? { _id: name, serial: 0, generations: [] }

  /** Decides again until no other process changed the registry between the read and the write. */
  const change = async <A>(name: string, decide: (registered: Registered) => Decision<A>): Promise<A> => {
    for (;;) {
      const before = await read(name)
      const { change: changed, result } = decide(before)
      if (changed === undefined) return result
      if (await replaced(before, { ...before, ...changed, serial: before.serial + 1 })) return result
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
        return { result: stored, change: { generations: [...registered.generations, { version, generation, stored }] } }
      }),
    promote: ({ name, version }) =>
      change(name, (registered) => {
        const live = storedIn(registered, { version, generation: 'live' })
        const promoted = live !== undefined && live === registered.promoted ? live : undefined
        // What was promoted already is written once more: until then its success may not be confirmed.
        const stored = storedIn(registered, { version, generation: 'next' }) ?? promoted
        if (stored === undefined)
          throw new OperationFailed({ kind: 'corrupt', reason: `${name} has no next generation` })
        const generations = [{ version, generation: 'live', stored }] as const
        return { result: stored, change: { generations, promoted: stored } }
      }),
    remove: (collection) =>
      change(collection.name, (registered) => {
        const stored = storedIn(registered, collection)
        if (stored === undefined) return { result: undefined }
        return {
          result: stored,
          change: { generations: registered.generations.filter((one) => one.stored !== stored) },
        }
      }),
    stored: async (name) => (await read(name)).generations.map(({ stored }) => stored),
  }
}

/** The beginning of the names of all collections that hold documents of `name`. */
export const prefixOf = (name: string): string => `${name}@`

export const generationName = ({ name, version, generation }: Collection): string =>
  `${prefixOf(name)}${version}/${generation}`

const storedIn = ({ generations }: Registered, { version, generation }: Key): string | undefined =>
  generations.find((one) => one.version === version && one.generation === generation)?.stored
