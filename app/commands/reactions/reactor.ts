import type { RecordedEvent } from '../../../domain/events.js'
import type { CommandHandler, EventStore, Logger } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { reactingCategories } from '../../../domain/reactions.js'
import { isTransient } from '../../../domain/store-failed.js'
import { errorOf, type CommandFailure } from '../../../projections/parking/final-failure.js'
import { parking } from '../../../projections/parking/parking.js'
import type { Checkpoint } from '../../../projections/subscriptions/checkpoint.js'
import type { Follower } from '../../../projections/subscriptions/follower.js'
import { reactionChains, type ReactionChains, type ReactionFailure } from './reaction-chains.js'

type Reacted = {
  /** Those that were given, and all that were appended because of them. */
  readonly events: ReadonlyArray<RecordedEvent>
  /**
   * Something that follows waits for the follower, since a store failed, or another process has not yet written what it
   * depends on.
   */
  readonly isPending: boolean
}

export type Reactor = {
  /**
   * Carries out what follows from these events, and from the events that follow, before a request is answered. What
   * fails here is finished by the follower, so a failure changes nothing about what was accepted.
   */
  readonly react: (events: ReadonlyArray<RecordedEvent>) => Promise<Reacted>
  /** The same by commands that a unit of work appends; left: nothing of it may be appended. */
  readonly carryOutAll: ReactionChains['carryOutAll']
  /** These events were appended together with all that follows from them. */
  readonly carriedOut: ReactionChains['carriedOut']
  /**
   * Carries out the very same reactions in the order of the log and finishes whatever a crash left open. One process at
   * a time does so, with commands and a checkpoint that end with its lease.
   */
  readonly follower: (ports: FollowerPorts) => Follower
  /** Whether something that was accepted here still lacks what follows from it, because the store failed in between. */
  readonly hasUnfinished: () => boolean
}

type FollowerPorts = {
  readonly store: Pick<EventStore, 'read'>
  readonly commandHandler: CommandHandler
  readonly checkpoint: Checkpoint
}

type ReactorPorts = { readonly commandHandler: CommandHandler; readonly logger: Logger }

/** The checkpoint, lease and parked events of its follower are stored under this name, so it stays as it is. */
export const reactionsName = 'reactions'

/**
 * A request may meet an engagement that its contact names and that has no stream yet: another process is about to begin
 * it. The follower, which goes in the order of the log, meets none.
 */
const isBeingWritten = ({ kind }: CommandFailure): boolean => kind === 'engagement-not-found'

export const reactor = ({ commandHandler, logger }: ReactorPorts): Reactor => {
  const chains = reactionChains()

  /**
   * Events are handled in the order of the log, so all that a reaction depends on has been written, and a refusal is
   * final.
   * @throws where it could not be carried out
   */
  const carryOutOrThrow = async (guarded: CommandHandler, event: RecordedEvent): Promise<void> => {
    // The chain may have been started by a request, on an older state of the store: so it is tried once more.
    const failed = (await failureOf(guarded, event)) && (await failureOf(guarded, event))
    if (failed !== undefined && isTransient(failed.failure)) throw errorOf('a reaction', failed.failure)
    // An event that was appended on the way is handled when it comes here.
    if (failed !== undefined && failed.event.id === event.id) throw errorOf('a reaction', failed.failure)
  }

  const failureOf = async (guarded: CommandHandler, event: RecordedEvent): Promise<ReactionFailure | undefined> => {
    const done = await chains.of(guarded, event)
    return done === undefined || E.isRight(done) ? undefined : done.left
  }

  return {
    react: async (events) => {
      const done = await chains.carryOutAll(commandHandler, events)
      if (E.isRight(done)) return { events: done.right, isPending: false }
      const { failure } = done.left
      return { events, isPending: isTransient(failure) || isBeingWritten(failure) }
    },
    carryOutAll: chains.carryOutAll,
    carriedOut: chains.carriedOut,
    hasUnfinished: chains.hasUnfinished,
    follower: ({ store, commandHandler: guarded, checkpoint }) => {
      const work = (event: RecordedEvent): Promise<void> => carryOutOrThrow(guarded, event)
      const { handle, skip } = parking(
        { name: reactionsName, actor: 'reaction', work },
        { store, commandHandler: guarded, logger },
      )
      return {
        name: reactionsName,
        categories: [...reactingCategories, 'parked'],
        begin: async () => {
          const position = await checkpoint.load()
          chains.handledUpTo(position)
          return position
        },
        handle: async (batch) => {
          // The request that appended these events starts their chains in the same turn of the event loop; one turn
          // later the follower finds and shares them.
          await new Promise(setImmediate)
          for (const event of batch.events) await handle(event)
          chains.handledUpTo(batch.position)
          await checkpoint.advance(batch)
        },
        skip,
        end: async (position) => {
          chains.followerEnded()
          await checkpoint.flush(position)
        },
      }
    },
  }
}
