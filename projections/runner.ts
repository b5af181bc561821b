import type { EventBatch } from '../domain/ports.js'
import { beginning } from '../domain/event.js'
import { orThrow } from '../domain/store-failed.js'
import { follow, type Following, type FollowPorts } from './follower.js'
import type { Change, Documents, Stored } from './ports.js'
import { changesOf, collectionOf, keysToRead, type AnyProjection } from './projection.js'

/** Batches without a change move the checkpoint only this often, in positions: it costs a write. */
const idleCheckpoint = 1000n

const none: ReadonlyMap<string, Stored> = new Map()

export type RunnerPorts = FollowPorts & {
  readonly documents: Documents
  /** Called after each batch, once its changes stand. */
  readonly changed: (projection: string, changes: ReadonlyArray<Change>) => void
}

/** Keeps a read model up to date: each batch of events becomes one change a document, written with the checkpoint. */
export const runProjection = (projection: AnyProjection, ports: RunnerPorts): Following => {
  const { documents, changed } = ports
  const collection = collectionOf(projection)
  let saved = beginning
  return follow(
    {
      name: projection.name,
      categories: projection.categories,
      begin: async () => {
        orThrow(await documents.prepare(collection))
        saved = orThrow(await documents.checkpoint(collection))
        return saved
      },
      handle: async ({ events, position }) => {
        const mine = events.filter((event) => projection.keyOf(event) !== undefined)
        if (mine.length === 0 && position - saved < idleCheckpoint) return
        const changes = await applyBatch(projection, documents, { events: mine, position })
        saved = position
        changed(projection.name, changes)
      },
    },
    ports,
  )
}

/** Folds a batch into the live read model, and gives what it changed. */
export const applyBatch = async (
  projection: AnyProjection,
  documents: Documents,
  { events, position }: EventBatch,
): Promise<ReadonlyArray<Change>> => {
  const live = collectionOf(projection)
  const keys = keysToRead(projection, events)
  const before = keys.length === 0 ? none : orThrow(await documents.get(live, keys))
  const changes = changesOf(projection, before, events)
  orThrow(await documents.apply(live, changes, position))
  return changes
}
