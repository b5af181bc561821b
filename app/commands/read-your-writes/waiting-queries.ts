import { beginning, furthest, type Position } from '../../../domain/event.js'
import type { MonotonicClock, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Collection, Documents } from '../../../projections/ports.js'
import { limitedWait, type LogFollower } from './limited-wait.js'
import type { ReadYourWrites, ServedReadModel } from './read-your-writes.js'
import { unshownWrites, type UnshownWrites } from './unshown-writes.js'

type Ports = {
  readonly readModels: ReadonlyArray<ServedReadModel>
  /** Where the log ended when this process began: what was answered before may stand in no read model yet. */
  readonly head: Position
  readonly documents: Documents
  readonly monotonic: MonotonicClock
  /** Aborts when the service stops. */
  readonly stopping: AbortSignal
}

const nothingUnshown = E.right(undefined)

type Expected = { readonly follower: LogFollower; readonly unshown: UnshownWrites }

/** Events: where a read model has so many to catch up with, commands wait for it. Else it would lag ever further. */
const mostUnshown = 2_000

/**
 * Commands are answered at once, unless a read model has much to catch up with. Whoever reads a document by its key
 * waits until it shows what was written to it, so nobody waits there for what others write; a page or a count waits for
 * all that was written to the read model.
 */
export const waitingQueries = ({ readModels, head, documents, monotonic, stopping }: Ports): ReadYourWrites => {
  const { waitFor, isLagging } = limitedWait(monotonic, stopping)
  const expected = new Map<string, Expected>(
    readModels.map(({ projection, follower: { caughtUpTo } }) => [
      projection.name,
      { follower: { name: projection.name, caughtUpTo }, unshown: unshownWrites(projection, caughtUpTo, stopping) },
    ]),
  )

  for (const { unshown } of expected.values()) unshown.expectAll(head)

  /** Left: the documents do not answer. */
  const untilShown = async (
    collection: Collection,
    wantedOf: (unshown: UnshownWrites) => Position,
  ): Promise<Either<StoreFailure, unknown>> => {
    const one = expected.get(collection.name)
    const wanted = one === undefined || isLagging(collection.name) ? beginning : wantedOf(one.unshown)
    if (one === undefined || wanted === beginning) return nothingUnshown
    // One that is being built shows nothing, so nothing that is out of date, and may take long.
    const isThere = await documents.exists(collection)
    if (E.isRight(isThere) && isThere.right) await waitFor(new Map([[one.follower, wanted]]))
    return isThere
  }

  const showingAll =
    <Rest extends ReadonlyArray<unknown>, Result>(
      read: (collection: Collection, ...rest: Rest) => Promise<Either<StoreFailure, Result>>,
    ): typeof read =>
    async (collection, ...rest) => {
      const shown = await untilShown(collection, ({ ofAll }) => ofAll())
      return E.isLeft(shown) ? shown : read(collection, ...rest)
    }

  return {
    untilAnswerable: async (events) => {
      const late = new Map<LogFollower, Position>()
      for (const { follower, unshown } of expected.values()) {
        const wanted = unshown.add(events)
        const isLate = unshown.count() > mostUnshown && !isLagging(follower.name)
        if (wanted !== beginning && isLate) late.set(follower, wanted)
      }
      if (late.size > 0) await waitFor(late)
    },
    documents: {
      ...documents,
      get: async (collection, keys) => {
        const shown = await untilShown(collection, ({ ofKey }) => furthest(beginning, ...keys.map(ofKey)))
        return E.isLeft(shown) ? shown : documents.get(collection, keys)
      },
      find: showingAll(documents.find),
      count: showingAll(documents.count),
      values: showingAll(documents.values),
    },
  }
}
