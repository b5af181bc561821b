import type { DomainEvent } from '../../../domain/events.js'
import type { Recorded } from '../../../domain/event.js'
import type { Clock, CommandHandler, Logger } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { reactingCategories } from '../../../domain/reactions.js'
import type { Checkpoint } from '../../../projections/subscriptions/checkpoint.js'
import type { Follower } from '../../../projections/subscriptions/follower.js'
import { reactionChains } from './reaction-chains.js'

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
   * In the order of the log all that an event needs stands there by its turn, so a refusal is final.
   * @throws where it could not be carried out now
   */
  const finish = async (fenced: CommandHandler, event: Recorded<DomainEvent>): Promise<void> => {
    // The first may be one that a request began, which met another state of the store.
    for (const isLast of [false, true]) {
      const done = await chains.of(fenced, event)
      chains.forget(event)
      if (done === undefined || E.isRight(done)) return
      const { left: failure } = done
      if (!isLast) continue
      if ('reason' in failure) throw new Error(`a reaction could not be written, ${failure.reason}`)
      if (failure.kind === 'contended') throw new Error('a reaction was contended')
      chains.giveUp(event)
      logger.warn({ event: event.id, type: event.type, refusal: failure.kind }, 'a reaction was refused')
    }
  }

  return {
    react: async (events) => {
      const done = await chains.follow(commandHandler, events)
      return E.isRight(done) ? done.right : events
    },
    hasUnfinished: chains.hasUnfinished,
    follower: ({ commandHandler: fenced, checkpoint }) => ({
      name: 'reactions',
      categories: reactingCategories,
      begin: async () => {
        const position = await checkpoint.load()
        chains.handledUpTo(position)
        return position
      },
      handle: async ({ events, position }) => {
        // A request that wrote these begins their chains before the loop turns: it waits for them, and so does this.
        await new Promise(setImmediate)
        for (const event of events) await finish(fenced, event)
        chains.handledUpTo(position)
        await checkpoint.advance(position)
      },
      end: async (position) => {
        chains.handledUpTo(undefined)
        await checkpoint.flush(position)
      },
    }),
  }
}
