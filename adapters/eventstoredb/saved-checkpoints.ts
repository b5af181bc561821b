import { BACKWARDS, END, jsonEvent, NO_STREAM, type ResolvedEvent } from '@eventstore/db-client'
import { beginning, isPosition, type Position } from '../../domain/event.js'
import type { EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { checkpointCategory } from './event-codec.js'
import { withoutConflict } from './retry.js'
import type { StreamCalls } from './stream-calls.js'

/** What stands in the stream: where the follower is, and the revision that says so. */
type Saved = { readonly position: Position; readonly revision: bigint | typeof NO_STREAM }

const streamOf = (follower: string): string => `${checkpointCategory}-${follower}`

/** About, in bytes. */
const eventSize = 100

/**
 * How far followers of the log have come: a stream of one event for each. None is an event of
 * Leadloop's (`decodeEvent`), so nobody who follows the log is given it.
 */
export const savedCheckpoints = ({
  readPage,
  write,
}: StreamCalls): Pick<EventStore, 'checkpoint' | 'saveCheckpoint'> => {
  const newest = async (follower: string): Promise<Either<StoreFailure, Saved>> => {
    const page = await readPage(streamOf(follower), { direction: BACKWARDS, fromRevision: END, maxCount: 1 })
    return E.isLeft(page) ? page : savedIn(page.right[0])
  }

  const append = (follower: string, position: Position, { revision }: Saved) => {
    const event = jsonEvent({ type: 'CheckpointSaved', data: { position: Number(position) } })
    return write(eventSize, (client) =>
      client.appendToStream(streamOf(follower), event, { expectedRevision: revision }),
    )
  }

  /** Before the first event: so no stream that holds one lacks it. */
  const keepOnlyNewest = (follower: string) =>
    write(eventSize, (client) => client.setStreamMetadata(streamOf(follower), { maxCount: 1 }))

  return {
    checkpoint: async (follower) => {
      const saved = await newest(follower)
      return E.isLeft(saved) ? saved : E.right(saved.right.position)
    },
    saveCheckpoint: async (follower, position) => {
      for (;;) {
        const saved = await newest(follower)
        if (E.isLeft(saved)) return saved
        if (saved.right.position >= position) return E.right(undefined)
        const kept = saved.right.revision === NO_STREAM ? await keepOnlyNewest(follower) : E.right(undefined)
        if (E.isLeft(kept)) return E.left(withoutConflict(kept.left))
        const appended = await append(follower, position, saved.right)
        if (E.isRight(appended)) return E.right(undefined)
        // Where another process saved first the further one of the two counts.
        if (appended.left.kind !== 'conflict') return E.left(appended.left)
      }
    },
  }
}

const savedIn = (resolved: ResolvedEvent | undefined): Either<StoreFailure, Saved> => {
  if (resolved?.event === undefined) return E.right({ position: beginning, revision: NO_STREAM })
  const { type, data, revision } = resolved.event
  const position = (data as { readonly position?: unknown } | null)?.position
  const stored = type === 'CheckpointSaved' && Number.isSafeInteger(position) ? BigInt(position as number) : -1n
  return isPosition(stored)
    ? E.right({ position: stored, revision })
    : E.left({ kind: 'corrupt', reason: 'a stream of checkpoints holds an event that is none' })
}
