import { neverAborted, withinLimit } from '../../../domain/abortable.js'
import { erasure, type ErasureSummary } from '../../../domain/erasure.js'
import { beginning, furthest, type Position } from '../../../domain/event.js'
import type { EventType } from '../../../domain/events.js'
import type { ErasureId, LeadId, MessageId } from '../../../domain/ids.js'
import { lead } from '../../../domain/lead.js'
import { message } from '../../../domain/message.js'
import type { CommandHandler, EventStore, MonotonicClock, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { streamOf } from '../../../domain/stream-name.js'
import type { Collection, Documents } from '../../../projections/ports.js'
import { exponentialBackoff } from '../../../projections/subscriptions/retries/backoff.js'
import type { LeasedFollower } from '../../../projections/subscriptions/leased-follower.js'
import { haveCaughtUp, type ReadModelFollower } from '../caught-up-read-models.js'
import { loadState } from '../states/current-states.js'
import { longestTrust } from '../states/in-memory-projection.js'

/** How far an erasure has come. */
type ErasureEnd = {
  /** Undefined while the process manager is at it. */
  readonly summary: ErasureSummary | undefined
  /** Nothing of the contact is left in the files of the stores either. */
  readonly isPurged: boolean
}

export type Erasures = {
  /**
   * Waits some seconds for the end of an erasure that was requested at this position; of one that was requested before,
   * not at all.
   */
  readonly ended: (id: ErasureId, requestedAt: Position | undefined) => Promise<Either<StoreFailure, ErasureEnd>>
  /** Resolves once every process knows of what this one has just changed in an account. */
  readonly knownToAll: () => Promise<void>
}

type Ports = {
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly store: Pick<EventStore, 'readLast'>
  readonly eraser: Pick<LeasedFollower, 'caughtUpTo'>
  /** What maintains the read models that show something of contacts. */
  readonly readModelFollowers: ReadonlyArray<ReadModelFollower>
  readonly documents: Pick<Documents, 'exists'>
  /**
   * Where these read models are built anew, by any process: what was read of the contact may stand there, also after a
   * rebuild that failed, and may be put in place afterwards.
   */
  readonly builds: ReadonlyArray<Collection>
  /** Of each store: true once no byte of what was removed is left in its files. */
  readonly purges: ReadonlyArray<() => Promise<Either<StoreFailure, boolean>>>
  /** Whether other processes work on the same stores. */
  readonly isShared: boolean
  readonly monotonic: Pick<MonotonicClock, 'sleep'>
}

/** In milliseconds. */
const longestWait = 5_000

/** In milliseconds: between two looks for the end of an erasure. */
const looks = { first: 20, longest: 250 }

export const erasuresOn = (ports: Ports): Erasures => {
  const { commandHandler, eraser, readModelFollowers, purges, isShared, monotonic } = ports
  return {
    ended: async (id, requestedAt) => {
      if (requestedAt !== undefined)
        // Erasures end in any order, so its own end is watched. A parked one never ends: then the eraser's position
        // passes it.
        await withinLimit(monotonic, longestWait, (isOver) =>
          Promise.race([eraser.caughtUpTo(requestedAt, isOver), untilCompleted(ports, id, isOver)]),
        )
      const state = await loadState(commandHandler, erasure, id)
      if (E.isLeft(state)) return state
      if (state.right.kind === 'unknown' || state.right.summary === undefined)
        return E.right({ summary: undefined, isPurged: false })
      const { summary } = state.right
      const pending = E.right({ summary, isPurged: false })
      const closed = await lastClosing(ports, id, state.right)
      if (E.isLeft(closed)) return closed
      if (closed.right === undefined) return pending
      const isBuilding = await areBuilding(ports)
      if (E.isLeft(isBuilding)) return isBuilding
      if (isBuilding.right || !(await haveCaughtUp(monotonic, readModelFollowers, closed.right, longestWait)))
        return pending
      for (const purge of purges) {
        const isPurged = await purge()
        if (E.isLeft(isPurged)) return isPurged
        if (!isPurged.right) return pending
      }
      return E.right({ summary, isPurged: true })
    },
    knownToAll: () => (isShared ? monotonic.sleep(longestTrust, neverAborted) : Promise.resolve()),
  }
}

/** Whether one of the read models is built anew, or what a rebuild that failed has read still stands. */
const areBuilding = async ({ documents, builds }: Ports): Promise<Either<StoreFailure, boolean>> => {
  for (const collection of builds) {
    const isThere = await documents.exists(collection)
    if (E.isLeft(isThere) || isThere.right) return isThere
  }
  return E.right(false)
}

/** Resolves once the erasure has ended, or `isOver` aborts. */
const untilCompleted = async (
  { commandHandler, monotonic }: Pick<Ports, 'commandHandler' | 'monotonic'>,
  id: ErasureId,
  isOver: AbortSignal,
): Promise<void> => {
  const pause = exponentialBackoff(looks, monotonic)
  for (let before = 0; !isOver.aborted; before += 1) {
    const state = await loadState(commandHandler, erasure, id)
    if (E.isRight(state) && state.right.kind === 'completed') return
    await pause(before, isOver)
  }
}

/** What closes the stream of something that came late, and may follow that. */
const closings: ReadonlySet<string> = new Set<EventType>([
  'LeadErased',
  'MessageErased',
  'MessageCopyFound',
  'MessageCopiesErased',
  'MessageCopiesKept',
])

/**
 * The position of the newest event that closes something of the contact; undefined while something that came late is
 * not closed.
 */
const lastClosing = async (
  { store }: Ports,
  id: ErasureId,
  {
    lateLeads,
    lateMessages,
  }: { readonly lateLeads: ReadonlyArray<LeadId>; readonly lateMessages: ReadonlyArray<MessageId> },
): Promise<Either<StoreFailure, Position | undefined>> => {
  const end = await store.readLast(streamOf(erasure, id), 1)
  if (E.isLeft(end)) return end
  let newest = end.right.at(-1)?.position ?? beginning
  const late = [...lateLeads.map((one) => streamOf(lead, one)), ...lateMessages.map((one) => streamOf(message, one))]
  for (const stream of late) {
    const read = await store.readLast(stream, 1)
    if (E.isLeft(read)) return read
    const last = read.right.at(-1)
    if (last === undefined || !closings.has(last.type)) return E.right(undefined)
    newest = furthest(newest, last.position)
  }
  return E.right(newest)
}
