import { existsSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { systemClock } from '../../../adapters/node/clock.js'
import { randomIds } from '../../../adapters/node/ids.js'
import { jsonLogger } from '../../../adapters/node/logger.js'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import { databaseFile } from '../../../adapters/sqlite/database.js'
import type { EventStore } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { orThrow, StoreFailed } from '../../../domain/store-failed.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { Lease } from '../../../projections/subscriptions/leases.js'
import type { Documents } from '../../../projections/ports.js'
import { collectionOf, type AnyProjection } from '../../../projections/projection.js'
import { readModels } from '../../../projections/read-models/registry.js'
import { exponentialBackoff } from '../../../projections/subscriptions/retries/backoff.js'
import { guardedDocuments } from '../../../projections/subscriptions/lease-guard.js'
import { buildAlone, rebuild } from '../../../projections/subscriptions/rebuild.js'
import { applyBatch } from '../../../projections/subscriptions/runner.js'
import { areStoresShared, type Config } from '../../composition/config.js'
import { storeBackoff } from '../../composition/followers.js'
import { ofNobodyElse } from '../../composition/start/store-checks.js'
import { openStores } from '../../composition/stores.js'
import { progressBar, sayBesideBar } from '../progress.js'
import { toldReason } from '../run.js'
import { compareGenerations } from './comparison.js'
import { areMaintainedElsewhere, leasesOn, type Leases } from './leases.js'
import { attempts, oneAttempt, type Attempts } from './retries.js'

type Stores = { readonly store: EventStore; readonly documents: Documents }

/** `equal`: document for document what is served now. */
type Verdict = { readonly line: string; readonly equal: boolean }

/** Builds the read models of these names anew, or all. Left: one sentence that says why it could not be done. */
export const rebuildReadModels = async (
  config: Config,
  names: ReadonlyArray<string>,
): Promise<Either<string, undefined>> => {
  const projections = names.length === 0 ? readModels : readModels.filter(({ name }) => names.includes(name))
  const { dataDir, eventStoreUrl, mongoUrl } = config
  // Opening would make them, and a path that was mistyped would look like an empty store. Beside a log on a server the
  // file may be missing: it holds read models alone.
  const needed = eventStoreUrl === undefined ? databaseFile(dataDir) : dataDir
  if (!areStoresShared(config) && !existsSync(needed)) return E.left(`DATA_DIR: there is no ${needed}.`)
  const { ulid } = randomIds(systemClock(config.clockRate))
  const opened = await openStores(config, { newId: ulid, logger: jsonLogger('silent') })
  if (E.isLeft(opened)) return opened
  const { membership, close } = opened.right
  const isOnServers = eventStoreUrl !== undefined || mongoUrl !== undefined
  const trying = isOnServers
    ? attempts({ backoff: exponentialBackoff(storeBackoff, monotonicClock), tell })
    : oneAttempt
  try {
    const own = await trying.until(() => ofNobodyElse(opened.right))
    if (E.isLeft(own)) return own
    if (await trying.until(() => areMaintainedElsewhere(membership))) return maintained
    // All of them, whatever is rebuilt: of a part a projector that starts now would give up its fair share.
    const leases = leasesOn(
      membership,
      readModels.map(({ name }) => name),
    )
    if (!(await leases.acquired)) return maintained
    return await rebuildAndPromote(projections, opened.right, leases, trying)
  } catch (error) {
    return E.left(`The rebuild stopped: ${toldReason(error)}. What is served stays as it was.`)
  } finally {
    await membership.leave()
    await close()
  }
}

const maintained = E.left('A process with the role projector maintains these read models: stop it first.')

const tell = (reason: string): void =>
  sayBesideBar(`The rebuild tries again and goes on from where it came to: ${reason}.`)

/**
 * Builds the read models beside what is served, compares them, and has them served: from the comparison on no lease may
 * be lost.
 */
const rebuildAndPromote = async (
  projections: ReadonlyArray<AnyProjection>,
  { store, documents }: Stores,
  leases: Leases,
  trying: Attempts,
): Promise<Either<string, undefined>> => {
  let held = leases.held()
  const onDocuments = <A>(work: (guarded: Documents) => Promise<A>): Promise<A> =>
    trying.until(() => {
      held = leases.held()
      return work(guardedDocuments(documents, held))
    })
  const rate = await build(projections, { store, documents, onDocuments }, trying)
  const verdicts = await onDocuments(async (guarded) => {
    const all: Array<Verdict> = []
    for (const projection of projections) {
      // Where the leases were lost meanwhile another process may have dropped it.
      await buildAlone({ projection, documents: guarded }, store, neverAborted)
      all.push(await compared(projection, { store, documents: guarded }, trying))
    }
    return all
  })
  for (const { line } of verdicts) say(line)
  const promoted = await promote(projections, guardedDocuments(documents, held), held, trying)
  if (E.isLeft(promoted)) return promoted
  say(verdicts.every(({ equal }) => equal) ? 'All equal what was served.' : 'What differed is right from now on.')
  say(rate)
  return E.right(undefined)
}

type Built = Stores & Pick<Parameters<typeof rebuild>[1], 'onDocuments'>

/** Builds the next generation of each, with a bar; gives the rate as a sentence. */
const build = async (
  projections: ReadonlyArray<AnyProjection>,
  { store, documents, onDocuments }: Built,
  trying: Attempts,
): Promise<string> => {
  const head = await trying.until(async () => orThrow(await store.head()))
  const log = counted(store)
  const started = performance.now()
  const bar = progressBar(Number(head))
  try {
    await rebuild(projections, { store: log.store, onDocuments }, (position) => {
      trying.wentOn()
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

const compared = async (projection: AnyProjection, stores: Stores, trying: Attempts): Promise<Verdict> => {
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
    if (trying.isForNow(error)) throw error
    // Live documents that can't even be read are a reason to replace them.
    return { line: `${name}  what was served can't be read: ${toldReason(error)}`, equal: false }
  }
}

const widest = Math.max(...readModels.map(({ name }) => name.length))

/** What the next start of the service would do first: at its last stop a read model may not have been up to date. */
const catchUp = async (projection: AnyProjection, { store, documents }: Stores): Promise<void> => {
  const live = collectionOf(projection)
  const checkpoint = orThrow(await documents.confirmedCheckpoint(live))
  for await (const batch of store.history(checkpoint, projection.categories, neverAborted)) {
    await applyBatch(projection, documents, batch)
  }
}

/** What was built under leases that are lost by now may be gone: it is not put in the place of what is served. */
const promote = async (
  projections: ReadonlyArray<AnyProjection>,
  documents: Documents,
  held: Pick<Lease, 'isValid'>,
  trying: Attempts,
): Promise<Either<string, undefined>> => {
  for (const projection of projections) {
    const promoted = await trying.until(async () => {
      const done = await documents.promote(collectionOf(projection))
      if (E.isLeft(done) && held.isValid()) throw new StoreFailed(done.left)
      return done
    })
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
