import { beginning, furthest, type Position } from '../../../domain/event.js'
import type { MonotonicClock } from '../../../domain/ports.js'
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

type Expected = { readonly follower: LogFollower; readonly unshown: UnshownWrites }

/**
 * Commands are answered at once. Whoever reads a document by its key waits until it shows what was written to it, so
 * nobody waits there for what others write; a page or a count waits for all that was written to the read model.
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

  const untilShown = async ({ name }: Collection, wantedOf: (unshown: UnshownWrites) => Position): Promise<void> => {
    const one = expected.get(name)
    if (one === undefined || isLagging(name)) return
    const wanted = wantedOf(one.unshown)
    if (wanted !== beginning) await waitFor(new Map([[one.follower, wanted]]))
  }

  const showingAll =
    <Rest extends ReadonlyArray<unknown>, Result>(
      read: (collection: Collection, ...rest: Rest) => Promise<Result>,
    ): ((collection: Collection, ...rest: Rest) => Promise<Result>) =>
    async (collection, ...rest) => {
      await untilShown(collection, ({ ofAll }) => ofAll())
      return read(collection, ...rest)
    }

  return {
    answerable: (events) => {
      for (const { unshown } of expected.values()) unshown.add(events)
      return Promise.resolve()
    },
    documents: {
      ...documents,
      get: async (collection, keys) => {
        await untilShown(collection, ({ ofKey }) => furthest(beginning, ...keys.map(ofKey)))
        return documents.get(collection, keys)
      },
      find: showingAll(documents.find),
      count: showingAll(documents.count),
      values: showingAll(documents.values),
    },
  }
}
