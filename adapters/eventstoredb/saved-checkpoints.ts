import { BACKWARDS, END, jsonEvent, NO_STREAM, type AppendResult, type ResolvedEvent } from '@eventstore/db-client'
import { beginning, isPosition, type Position } from '../../domain/event.js'
import type { Conflict, EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { appendsOfThisProcess } from './client/appends-in-flight.js'
import { completeRead } from './complete-read.js'
import { ofLeader, type Connection } from './client/connection.js'
import { checkpointCategory } from './event-codec.js'
import { withoutConflict, type Retry } from './retry.js'

/** What stands in the stream: where the follower is, and the revision that says so. */
type Saved = { readonly position: Position; readonly revision: bigint | typeof NO_STREAM }

const streamOf = (follower: string): string => `${checkpointCategory}-${follower}`

/** About, in bytes. */
const eventSize = 100

/**
 * How far followers of the log have come: a stream of one event for each. None is an event of
 * Leadloop's (`decodeEvent`), so nobody who follows the log is given it.
 */
export const savedCheckpoints = (
  { appends, reads }: Connection,
  retry: Retry,
  stopping: AbortSignal,
): Pick<EventStore, 'checkpoint' | 'saveCheckpoint'> => {
  const newest = async (follower: string): Promise<Either<StoreFailure | Conflict, Saved>> => {
    const last = { direction: BACKWARDS, fromRevision: END, maxCount: 1, ...ofLeader } as const
    const answer = await retry<ReadonlyArray<ResolvedEvent>>(
      reads,
      (cancellation) =>
        completeRead(reads, (client) => client.readStream(streamOf(follower), last), cancellation, stopping),
      [],
    )
    return E.isLeft(answer) ? answer : savedIn(answer.right[0])
  }

  const send = (write: () => Promise<AppendResult>) =>
    appendsOfThisProcess.track(() => retry(appends, () => appendsOfThisProcess.send(eventSize, write)))

  const append = (follower: string, position: Position, { revision }: Saved) => {
    const event = jsonEvent({ type: 'CheckpointSaved', data: { position: Number(position) } })
    const options = { expectedRevision: revision }
    return send(() => appends.current().appendToStream(streamOf(follower), event, options))
  }

  /** Before the first event: so no stream that holds one lacks it. */
  const keepOnlyNewest = (follower: string) =>
    send(() => appends.current().setStreamMetadata(streamOf(follower), { maxCount: 1 }))

  return {
    checkpoint: async (follower) => {
      const saved = await newest(follower)
      return E.isLeft(saved) ? E.left(withoutConflict(saved.left)) : E.right(saved.right.position)
    },
    saveCheckpoint: async (follower, position) => {
      for (;;) {
        const saved = await newest(follower)
        if (E.isLeft(saved)) return E.left(withoutConflict(saved.left))
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
