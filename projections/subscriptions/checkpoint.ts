import { withinLimit } from '../../domain/abortable.js'
import { beginning, furthest, type Position } from '../../domain/event.js'
import type { EventBatch, EventStore, Logger, MonotonicClock, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Collection, Documents } from '../ports.js'
import { exponentialBackoff } from './retries/backoff.js'

/**
 * How far a follower has come in the log. It is saved now and then: what lies between is handled a second time after a
 * crash, which changes nothing.
 */
export type Checkpoint = {
  readonly load: () => Promise<Position>
  /** Saves that a batch is handled, where the last position saved is an interval older. */
  readonly advance: (batch: EventBatch) => Promise<void>
  /** Saves at the end; a failure is ignored, since what was not saved is handled again and changes nothing. */
  readonly flush: (position: Position) => Promise<void>
}

/** The collection that holds nothing but the checkpoint `name`. */
export const checkpointCollection = (name: string): Collection => ({
  name,
  version: 1,
  indexes: {},
  generation: 'live',
})

/** `interval`: the positions between two saves at least. */
export const checkpointIn = (documents: Documents, name: string, interval: bigint): Checkpoint => {
  const collection = checkpointCollection(name)
  let saved = beginning

  return {
    load: async () => {
      orThrow(await documents.prepare(collection))
      saved = orThrow(await documents.confirmedCheckpoint(collection))
      return saved
    },
    advance: async ({ position }) => {
      if (position - saved < interval) return
      orThrow(await documents.apply(collection, [], position))
      saved = position
    },
    flush: async (position) => {
      if (position > saved) await documents.apply(collection, [], position)
    },
  }
}

/**
 * In milliseconds: between what was handled and its save in the event store, which is an append there, and between two
 * tries.
 */
const savedAfter = { first: 5_000, longest: 60_000 }

/** In milliseconds: how long an orderly end waits for the event store. */
const longestFlush = 1_000

type SavingPorts = {
  readonly store: Pick<EventStore, 'checkpoint' | 'saveCheckpoint'>
  readonly monotonic: Pick<MonotonicClock, 'sleep'>
  readonly logger: Pick<Logger, 'warn'>
}

/**
 * The same checkpoint, saved in the event store now and then as well, so that the documents can be thrown away. Neither
 * of the two runs ahead of what was done, so it goes on from the further one. Only events that were handled move the
 * one in the event store: were it moved by the log alone, on a server its own saves would move it for ever. The work
 * does not wait for it, and its failure does not stop the work: it is tried again.
 */
export const alsoInEventStore = (
  checkpoint: Checkpoint,
  name: string,
  { store, monotonic, logger }: SavingPorts,
): Checkpoint => {
  const pause = exponentialBackoff(savedAfter, monotonic)
  const ending = new AbortController()
  let saved = beginning
  let handled = beginning
  /** While there is something to save: at most one save is under way. */
  let saving: Promise<void> | undefined

  const save = async (): Promise<Either<StoreFailure, void>> => {
    const position = handled
    const answer = await store.saveCheckpoint(name, position)
    if (E.isRight(answer)) saved = furthest(saved, position)
    return answer
  }
  const saveInTime = async (): Promise<void> => {
    for (let failures = 0; handled > saved;) {
      await pause(failures, ending.signal)
      if (ending.signal.aborted) return
      const answer = await save()
      if (E.isRight(answer)) failures = 0
      else {
        const { reason } = answer.left
        if (failures === 0) logger.warn({ follower: name, reason }, 'the event store does not save a checkpoint')
        failures += 1
      }
    }
    saving = undefined
  }
  const beginSaving = (): void => {
    if (handled <= saved || ending.signal.aborted) return
    saving ??= saveInTime()
  }

  return {
    load: async () => {
      const inDocuments = await checkpoint.load()
      saved = furthest(saved, orThrow(await store.checkpoint(name)))
      // Older versions saved nothing here.
      handled = furthest(handled, saved === beginning ? inDocuments : saved)
      beginSaving()
      return furthest(saved, inDocuments)
    },
    advance: async (batch) => {
      await checkpoint.advance(batch)
      if (batch.events.length > 0) handled = furthest(handled, batch.position)
      beginSaving()
    },
    flush: async (position) => {
      await checkpoint.flush(position)
      ending.abort()
      await withinLimit(monotonic, longestFlush, async () => {
        await saving
        if (handled > saved) await save()
      })
    },
  }
}
