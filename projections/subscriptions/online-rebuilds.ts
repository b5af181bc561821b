import { reasonOf } from '../../domain/failure-reason.js'
import type { Instant } from '../../domain/instant.js'
import type { Clock, EventStore } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Documents } from '../ports.js'
import { collectionOf, type AnyProjection } from '../projection.js'
import type { RunningProjection } from './runner.js'

/** The newest rebuild of a read model that this process began. `documents`: how many it has, once it is completed. */
type Rebuild = {
  readonly read_model: string
  readonly state: 'running' | 'completed' | 'failed'
  readonly started_at: Instant
  readonly ended_at: Instant | null
  readonly documents: number | null
  readonly reason: string | null
}

/** `progress`: how far into the log it has come, from 0 to 1; null where the stores do not say so. */
type Shown = Rebuild & { readonly progress: number | null }

/** Rebuilds of read models while they are served. */
export type Rebuilds = {
  /**
   * Begins one of each that is not being rebuilt, all in one pass over the log. Left: the names of those that this
   * process does not maintain, or not yet; then none is begun.
   */
  readonly begin: (names: ReadonlyArray<string>) => Either<ReadonlyArray<string>, ReadonlyArray<Rebuild>>
  readonly all: () => Promise<ReadonlyArray<Shown>>
}

type Maintained = {
  readonly projection: AnyProjection
  readonly follower: {
    /** Undefined while it is maintained in another process. */
    readonly here: () => Pick<RunningProjection, 'position' | 'rebuild'> | undefined
  }
}

type Ports = {
  readonly documents: Pick<Documents, 'checkpoint'>
  readonly store: Pick<EventStore, 'head'>
  readonly clock: Pick<Clock, 'now'>
}

export const rebuildsOf = (readModels: ReadonlyArray<Maintained>, { documents, store, clock }: Ports): Rebuilds => {
  const newest = new Map<string, Rebuild>()

  const run = async (name: string, rebuild: () => Promise<number>): Promise<void> => {
    const running: Rebuild = {
      read_model: name,
      state: 'running',
      started_at: clock.now(),
      ended_at: null,
      documents: null,
      reason: null,
    }
    newest.set(name, running)
    try {
      newest.set(name, { ...running, state: 'completed', documents: await rebuild(), ended_at: clock.now() })
    } catch (error) {
      newest.set(name, { ...running, state: 'failed', reason: reasonOf(error), ended_at: clock.now() })
    }
  }
  const begun = (): ReadonlyArray<Rebuild> => readModels.flatMap(({ projection }) => newest.get(projection.name) ?? [])
  const progressOf = async ({ state, read_model }: Rebuild): Promise<number | null> => {
    if (state !== 'running') return state === 'completed' ? 1 : null
    const [model] = readModels.filter(({ projection }) => projection.name === read_model)
    const at = model && (await documents.checkpoint(collectionOf(model.projection, 'next')))
    const head = await store.head()
    if (at === undefined || E.isLeft(at) || E.isLeft(head)) return null
    return head.right === 0n ? 1 : Number(at.right) / Number(head.right)
  }

  return {
    begin: (names) => {
      const wanted = readModels
        .filter(({ projection }) => names.includes(projection.name))
        .map(({ projection, follower }) => ({ name: projection.name, running: follower.here() }))
      const missing = wanted.filter(({ running }) => running?.position() === undefined)
      if (missing.length > 0) return E.left(missing.map(({ name }) => name))
      for (const { name, running } of wanted) {
        if (running !== undefined && newest.get(name)?.state !== 'running') void run(name, running.rebuild)
      }
      return E.right(begun().filter(({ read_model }) => names.includes(read_model)))
    },
    all: () => Promise.all(begun().map(async (one) => ({ ...one, progress: await progressOf(one) }))),
  }
}
