import type { Collection as MongoCollection, Db } from 'mongodb'
import type { Collection } from '../../../projections/ports.js'
import { isDuplicate, OperationFailed } from '../failure.js'
import type { Server } from '../servers/server.js'
import { hasPlainName, refuseForeign } from './foreign.js'

type Key = Pick<Collection, 'version' | 'generation'>

/** Where a generation stands: its collection of the database, and the number that its records carry. */
export type Place = { readonly stored: string; readonly serial: number }

/**
 * One set of documents. `from` is the collection that takes over the name `stored`, until it has done so; `uuid` is its
 * own in the database, which stays under another name. So a collection that a late write makes under the same name is
 * told from it.
 */
type Generation = Key & Place & { readonly from?: string; readonly uuid?: string }

/**
 * The generations of one name. `serial` counts its changes and never starts again, so that no two generations share
 * one. `promoted` is the serial of what the last promotion made the live one.
 */
type Registered = {
  readonly _id: string
  readonly serial: number
  readonly generations: ReadonlyArray<Generation>
  readonly promoted?: number
}

/** Without `change` the registry stays as it is. */
type Decision<A> = { readonly result: A; readonly change?: Pick<Registered, 'generations' | 'promoted'> }

/**
 * Which collections of the database hold which generations. There is one document for each name, so that a promotion is
 * one change of one document, which is atomic without a transaction. The live generation stands under the plain name. A
 * promotion is decided here first; then the next generation takes that name over. Whoever finds that this was not done
 * yet does it. All methods throw what the driver throws.
 */
export type GenerationRegistry = {
  /** Where a generation stands; undefined when there is none. */
  readonly find: (collection: Collection) => Promise<Place | undefined>
  /** Finds a generation or adds it. Processes that do so at the same time get the same one. */
  readonly add: (collection: Collection) => Promise<Place>
  /**
   * Makes the next generation the only one of its name. May be repeated, by whoever did not learn that it succeeded.
   * `built` is where the caller built it, if it did: one that another process began since is not complete.
   */
  readonly promote: (collection: Collection, built?: Place) => Promise<Place>
  /** Returns where the removed generation stood. */
  readonly remove: (collection: Collection) => Promise<Place | undefined>
  readonly all: (name: string) => Promise<ReadonlyArray<Generation>>
}

export const generationRegistry = (db: Db, server: () => Promise<Server>): GenerationRegistry => {
  const { read, change } = registrations(db.collection<Registered>('generations'))

  const takeOver = async (name: string, { serial, stored, from, uuid }: Generation): Promise<void> => {
    if (from === undefined) return
    const isAt = async (place: string): Promise<boolean> => {
      const found = await uuidOf(db, place)
      // An older version left none: then the name alone tells.
      return found !== undefined && (uuid === undefined || found === uuid)
    }
    if (await isAt(from)) {
      // Whatever the registry says: what is dropped here can't be got back.
      await refuseForeign(db, stored)
      await (await server()).takeOver(db, from, stored)
    }
    // A new name that another process gave may be lost with the primary, until a majority acknowledges a later write.
    await change(name, ({ generations }) => ({ result: undefined, change: { generations } }))
    if (!(await isAt(stored)))
      throw new OperationFailed({ kind: 'unavailable', reason: `${name} was not taken over yet` })
    await change(name, ({ generations }) => {
      if (!generations.some((one) => one.serial === serial && one.from !== undefined)) return { result: undefined }
      const settled = generations.map((one) => (one.serial === serial ? withoutFrom(one) : one))
      return { result: undefined, change: { generations: settled } }
    })
  }

  const promotedTo = async (name: string, next: Generation): Promise<Generation | undefined> => {
    const uuid = await uuidOf(db, next.stored)
    return uuid === undefined ? undefined : { ...next, generation: 'live', stored: name, from: next.stored, uuid }
  }

  return {
    find: async (collection) => {
      for (;;) {
        const found = generationIn(await read(collection.name), collection)
        if (found?.from === undefined) return found
        await takeOver(collection.name, found)
      }
    },
    add: (collection) =>
      change(collection.name, async (registered) => {
        const known = generationIn(registered, collection)
        if (known !== undefined) return { result: known }
        if (!hasPlainName(registered)) await refuseForeign(db, collection.name)
        const { version, generation } = collection
        const serial = registered.serial + 1
        const added = { version, generation, serial, stored: nameFor(collection, serial, registered) }
        return { result: added, change: { generations: [...registered.generations, added] } }
      }),
    promote: async ({ name, version }, built) => {
      const promoted = await change(name, async (registered) => {
        const live = generationIn(registered, { version, generation: 'live' })
        const next = generationIn(registered, { version, generation: 'next' })
        if (next !== undefined && built !== undefined && next.serial !== built.serial)
          throw new OperationFailed({ kind: 'unavailable', reason: `${name} is built anew by another process` })
        // What was promoted already is written once more: until then its success may not be confirmed.
        const again = live !== undefined && live.serial === registered.promoted ? live : undefined
        // Before it is decided: what is decided and can't be done would keep everybody from the generation.
        if (next !== undefined && !hasPlainName(registered)) await refuseForeign(db, name)
        const result = next === undefined ? again : await promotedTo(name, next)
        if (result === undefined)
          throw new OperationFailed({ kind: 'corrupt', reason: `${name} has no next generation` })
        return { result, change: { generations: [result], promoted: result.serial } }
      })
      await takeOver(name, promoted)
      return promoted
    },
    remove: (collection) =>
      change(collection.name, (registered) => {
        const found = generationIn(registered, collection)
        if (found === undefined) return { result: undefined }
        return {
          result: found,
          change: { generations: registered.generations.filter(({ serial }) => serial !== found.serial) },
        }
      }),
    all: async (name) => (await read(name)).generations,
  }
}

type Registrations = {
  readonly read: (name: string) => Promise<Registered>
  /** Decides again until no other process changed the registry between the read and the write. */
  readonly change: <A>(
    name: string,
    decide: (registered: Registered) => Decision<A> | Promise<Decision<A>>,
  ) => Promise<A>
}

const registrations = (registry: MongoCollection<Registered>): Registrations => {
  const read = async (name: string): Promise<Registered> =>
    (await registry.findOne({ _id: name })) ?? { _id: name, serial: 0, generations: [] }

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
    read,
    change: async (name, decide) => {
      for (;;) {
        const before = await read(name)
        const { change, result } = await decide(before)
        if (change === undefined) return result
        if (await replaced(before, { ...before, ...change, serial: before.serial + 1 })) return result
      }
    },
  }
}

/** The beginning of the names of all collections that hold documents of `name`, its own aside. */
export const prefixOf = (name: string): string => `${name}-`

export const generationName = ({ name, version, generation }: Collection): string =>
  `${prefixOf(name)}${version}/${generation}`

/** The live generation has the plain name. Versions share it only until the newer one is promoted. */
const nameFor = ({ name, generation }: Collection, serial: number, registered: Registered): string => {
  if (generation === 'live' && !hasPlainName(registered)) return name
  return `${prefixOf(name)}${generation}-${serial}`
}

/** Whether Leadloop alone names a collection so, as `nameFor` does: any other may belong to someone else. */
export const isNameOfBuild = (name: string, stored: string): boolean =>
  stored.startsWith(prefixOf(name)) && /^(next|live)-\d+$/.test(stored.slice(prefixOf(name).length))

const generationIn = ({ generations }: Registered, { version, generation }: Key): Generation | undefined =>
  generations.find((one) => one.version === version && one.generation === generation)

const withoutFrom = ({ from: _from, uuid: _uuid, ...generation }: Generation): Generation => generation

/** Undefined where there is no such collection. */
const uuidOf = async (db: Db, name: string): Promise<string | undefined> => {
  const [found] = await db.listCollections({ name }, { nameOnly: false }).toArray()
  return found?.info?.uuid?.toString('hex')
}
