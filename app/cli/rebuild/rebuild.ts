import { existsSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../adapters/node/clock.js'
import { randomIds } from '../../../adapters/node/ids.js'
import { jsonLogger } from '../../../adapters/node/logger.js'
import type { EventStore } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { orThrow } from '../../../domain/store-failed.js'
import { aborted, neverAborted } from '../../../domain/abortable.js'
import type { Membership } from '../../../projections/subscriptions/leases.js'
import type { Documents } from '../../../projections/ports.js'
import { collectionOf, type AnyProjection } from '../../../projections/projection.js'
import { readModels } from '../../../projections/read-models/registry.js'
import { compareGenerations } from '../../../projections/subscriptions/comparison.js'
import { rebuild } from '../../../projections/subscriptions/rebuild.js'
import { applyBatch } from '../../../projections/subscriptions/runner.js'
import type { Config } from '../../composition/config.js'
import { ofNobodyElse } from '../../composition/start/store-checks.js'
import { openStores } from '../../composition/stores.js'
import { progressBar } from '../progress.js'
import { toldReason } from '../run.js'

type Stores = { readonly store: EventStore; readonly documents: Documents }

/** `equal`: document for document what is served now. */
type Verdict = { readonly line: string; readonly equal: boolean }

/** Builds the read models of these names anew, or all. Left: one sentence that says why it could not be done. */
export const rebuildReadModels = async (
  config: Config,
  names: ReadonlyArray<string>,
): Promise<Either<string, undefined>> => {
  const projections = named(names)
  return E.isLeft(projections) ? projections : rebuildIn(config, projections.right)
}

const named = (names: ReadonlyArray<string>): Either<string, ReadonlyArray<AnyProjection>> => {
  const known = readModels.map(({ name }) => name)
  const wrong = names.filter((name) => !known.includes(name))
  if (wrong.length > 0) return E.left(`There is no read model ${wrong.join(', ')}. There are ${known.join(', ')}.`)
  return E.right(names.length === 0 ? readModels : readModels.filter(({ name }) => names.includes(name)))
}

const rebuildIn = async (
  config: Config,
  projections: ReadonlyArray<AnyProjection>,
): Promise<Either<string, undefined>> => {
  const { dataDir, eventStoreUrl, mongoUrl } = config
  const isEmbedded = eventStoreUrl === undefined || mongoUrl === undefined
  // Opening would make the directory, and a path that was mistyped would look like an empty store.
  if (isEmbedded && !existsSync(dataDir)) return E.left(`DATA_DIR: there is no ${dataDir}.`)
  const { ulid } = randomIds(systemClock(config.clockRate))
  const opened = await openStores(config, { newId: ulid, logger: jsonLogger('silent') })
  if (E.isLeft(opened)) return opened
  const { membership, close } = opened.right
  try {
    const own = await ofNobodyElse(opened.right)
    if (E.isLeft(own)) return own
    if (!(await holdsAll(membership, projections))) {
      return E.left('A process with the role projector maintains these read models: stop it first.')
    }
    return await rebuilt(projections, opened.right)
  } catch (error) {
    return E.left(`The rebuild stopped: ${toldReason(error)}. What is served stays as it was.`)
  } finally {
    await membership.leave()
    await close()
  }
}

/** In milliseconds: longer than it takes to notice that the former holder of the leases is gone. */
const longestWait = 10_000

/** Whether this process holds the lease on each of these read models, so that nobody else writes to them. */
const holdsAll = (membership: Membership, projections: ReadonlyArray<AnyProjection>): Promise<boolean> =>
  new Promise((resolve) => {
    const names = projections.map(({ name }) => name)
    const leased = new Set<string>()
    const timeout = setTimeout(resolve, longestWait, false)
    membership.share(
      'projector',
      () => names,
      async (lease) => {
        leased.add(lease.name)
        if (leased.size === names.length) {
          clearTimeout(timeout)
          resolve(true)
        }
        await aborted(lease.ending)
        leased.delete(lease.name)
      },
    )
  })

const rebuilt = async (
  projections: ReadonlyArray<AnyProjection>,
  stores: Stores,
): Promise<Either<string, undefined>> => {
  const rate = await build(projections, stores)
  let differs = false
  for (const projection of projections) {
    const { line, equal } = await compared(projection, stores)
    differs ||= !equal
    say(line)
  }
  const promoted = await promote(projections, stores)
  if (E.isLeft(promoted)) return promoted
  say(differs ? 'What differed is right from now on.' : 'All equal what was served.')
  say(rate)
  return E.right(undefined)
}

/** Builds the next generation of each, with a bar; gives the rate as a sentence. */
const build = async (projections: ReadonlyArray<AnyProjection>, { store, documents }: Stores): Promise<string> => {
  const head = orThrow(await store.head())
  const log = counted(store)
  const started = performance.now()
  const bar = progressBar(Number(head))
  try {
    await rebuild(projections, { store: log.store, documents }, (position) => {
      bar.update(Number(position))
    })
  } catch (error) {
    await clear(projections, documents)
    throw error
  } finally {
    bar.stop()
  }
  const seconds = (performance.now() - started) / 1000
  const rate = Math.round(log.events() / seconds)
  return `${shown(log.events())} events in ${seconds.toFixed(2)} s: ${shown(rate)} events/s.`
}

/** The same store, which counts the events that are read of it. */
const counted = (store: EventStore): { readonly store: EventStore; readonly events: () => number } => {
  let events = 0
  async function* history(...range: Parameters<EventStore['history']>): ReturnType<EventStore['history']> {
    for await (const batch of store.history(...range)) {
      events += batch.events.length
      yield batch
    }
  }
  return { store: { ...store, history }, events: () => events }
}

const compared = async (projection: AnyProjection, stores: Stores): Promise<Verdict> => {
  const name = projection.name.padEnd(widest)
  const line = (documents: number, verdict: string): string =>
    `${name}  ${shown(documents).padStart(9)} ${documents === 1 ? 'document' : 'documents'}, ${verdict}`
  try {
    if (!orThrow(await stores.documents.exists(collectionOf(projection)))) {
      const made = orThrow(await stores.documents.count(collectionOf(projection, 'next')))
      return { line: line(made, 'none were served before'), equal: true }
    }
    await catchUp(projection, stores)
    const { documents, differing } = await compareGenerations(projection, stores.documents)
    const equal = differing === 0
    const verdict = equal ? 'equal to what was served' : `${shown(differing)} differing from what was served`
    return { line: line(documents, verdict), equal }
  } catch (error) {
    // Live documents that can't even be read are a reason to replace them.
    return { line: `${name}  what was served can't be read: ${toldReason(error)}`, equal: false }
  }
}

const widest = Math.max(...readModels.map(({ name }) => name.length))

/** What the next start of the service would do first: at its last stop a read model may not have been up to date. */
const catchUp = async (projection: AnyProjection, { store, documents }: Stores): Promise<void> => {
  const live = collectionOf(projection)
  const checkpoint = orThrow(await documents.checkpoint(live))
  for await (const batch of store.history(checkpoint, projection.categories, neverAborted)) {
    await applyBatch(projection, documents, batch)
  }
}

const promote = async (
  projections: ReadonlyArray<AnyProjection>,
  { documents }: Stores,
): Promise<Either<string, undefined>> => {
  for (const projection of projections) {
    const promoted = await documents.promote(collectionOf(projection))
    if (E.isLeft(promoted)) {
      return E.left(`${projection.name} and what follows it in the list stay as they were: ${promoted.left.reason}.`)
    }
  }
  return E.right(undefined)
}

/** Whatever this leaves behind, the next rebuild clears away. */
const clear = async (projections: ReadonlyArray<AnyProjection>, documents: Documents): Promise<void> => {
  for (const projection of projections) await documents.drop(collectionOf(projection, 'next'))
}

const shown = (count: number): string => count.toLocaleString('en-US')

const say = (line: string): void => {
  process.stdout.write(`${line}\n`)
}
