import type { DomainEvent } from '../../../domain/events.js'
import type { Recorded } from '../../../domain/event.js'
import type { Clock, CommandHandler, Logger } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { reactingCategories } from '../../../domain/reactions.js'
import type { Checkpoint } from '../../../projections/subscriptions/checkpoint.js'
import type { Follower } from '../../../projections/subscriptions/follower.js'
import { reactionChains, type Chain, type ReactionFailure } from './reaction-chains.js'

export type Reactor = {
  /**
   * Carries out what follows from these events, and from the events that follow, before a request is answered. What fails
   * here is finished by the follower, so a failure changes nothing about what was accepted. Gives these events and all that
   * were appended because of them.
   */
  readonly react: (events: ReadonlyArray<Recorded<DomainEvent>>) => Promise<ReadonlyArray<Recorded<DomainEvent>>>
  /**
   * Carries out the very same reactions in the order of the log and finishes whatever a crash left open. One process at a
   * time does so, with commands and a checkpoint that end with its lease.
   */
  readonly follower: (ports: { readonly commandHandler: CommandHandler; readonly checkpoint: Checkpoint }) => Follower
  /** Whether something that was accepted here still lacks what follows from it, because the store failed in between. */
  readonly hasUnfinished: () => boolean
}

type ReactorPorts = { readonly commandHandler: CommandHandler; readonly clock: Clock; readonly logger: Logger }

export const reactor = ({ commandHandler, clock, logger }: ReactorPorts): Reactor => {
  const chains = reactionChains(clock)

  /**
   * Events are handled in the order of the log, so all that a reaction depends on has been written, and a refusal is
   * final.
   * @throws where it could not be carried out now
   */
  const carryOut = async (guarded: CommandHandler, event: Recorded<DomainEvent>): Promise<void> => {
    const failure = failureOf(await chains.of(guarded, event))
    chains.drop(event)
    if (failure === undefined) return
    // That chain may have been started by a request, on an older state of the store: so it is tried once more.
    const finalFailure = failureOf(await chains.of(guarded, event))
    chains.drop(event)
    if (finalFailure === undefined) return
    if ('reason' in finalFailure) throw new Error(`a reaction could not be written, ${finalFailure.reason}`)
    if (finalFailure.kind === 'contended') throw new Error('a reaction was contended')
    chains.dropForGood(event)
    logger.warn({ event: event.id, type: event.type, refusal: finalFailure.kind }, 'a reaction was refused')
  }

  return {
    react: async (events) => {
      const done = await chains.follow(commandHandler, events)
      return E.isRight(done) ? done.right : events
    },
    hasUnfinished: chains.hasUnfinished,
    follower: ({ commandHandler: guarded, checkpoint }) => ({
      name: 'reactions',
      categories: reactingCategories,
      begin: async () => {
        const position = await checkpoint.load()
        chains.handledUpTo(position)
        return position
      },
      handle: async ({ events, position }) => {
        // The request that appended these events starts their chains in the same turn of the event loop; one turn later
        // the follower finds and shares them.
        await new Promise(setImmediate)
        for (const event of events) await carryOut(guarded, event)
        chains.handledUpTo(position)
        await checkpoint.advance(position)
      },
      end: async (position) => {
        chains.followerEnded()
        await checkpoint.flush(position)
      },
    }),
  }
}

const failureOf = (done: Awaited<Chain> | undefined): ReactionFailure | undefined =>
  done === undefined || E.isRight(done) ? undefined : done.left
