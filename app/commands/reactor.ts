import type { Decider } from '../../domain/decider.js'
import { derivedEventId } from '../../domain/derived-id.js'
import { newAggregate } from '../../domain/aggregate.js'
import type { DomainEvent } from '../../domain/events.js'
import type { Position, Recorded } from '../../domain/event.js'
import type { Clock, CommandHandler, Contended, Logger, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { reactingCategories, reactions, type Intent } from '../../domain/reactions.js'
import type { Checkpoint } from '../../projections/subscriptions/checkpoint.js'
import type { Follower } from '../../projections/subscriptions/follower.js'

type Failure = StoreFailure | Contended | { readonly kind: string }
/** All that was written in a chain of reactions, in no order. */
type Written = ReadonlyArray<Recorded<DomainEvent>>
type Chain = Promise<Either<Failure, Written>>

export type Reactor = {
  /**
   * Carries on what follows from these events, and from the events that follow, before a request is answered. What fails
   * here is finished by the follower, so a failure changes nothing about what was accepted. Gives these events and all that
   * were written because of them.
   */
  readonly react: (events: Written) => Promise<Written>
  /**
   * Runs the very same reactions in the order of the log and finishes whatever a crash left open. One process at a time
   * does so, with commands and a checkpoint that end with its lease.
   */
  readonly follower: (ports: { readonly commandHandler: CommandHandler; readonly checkpoint: Checkpoint }) => Follower
  /** Whether something that was accepted here still lacks what follows from it, because the store failed in between. */
  readonly hasUnfinished: () => boolean
}

type ReactorPorts = { readonly commandHandler: CommandHandler; readonly clock: Clock; readonly logger: Logger }

/** A decider and a command that belong together, whichever they are. */
type AnyIntent = {
  readonly decider: Decider<unknown, { readonly type: string }, DomainEvent, { readonly kind: string }>
  readonly id: string
  readonly command: { readonly type: string }
  readonly beginsStream?: true
}

export const reactor = ({ commandHandler, clock, logger }: ReactorPorts): Reactor => {
  const chains = new Map<string, Chain>()
  /** Events whose chains failed here, until the follower of this process has finished them. */
  const unfinished = new Set<string>()
  /** How far the follower of this process has come: it handles each event once, and takes its chain away. */
  let handledUpTo: Position | undefined

  const execute = async (via: CommandHandler, intent: Intent, event: Recorded<DomainEvent>): Chain => {
    const { decider, id, command, beginsStream } = intent as unknown as AnyIntent
    const eventId = (index: number): string => derivedEventId(event.id, `${id}/${command.type}`, index)
    const cause = { actor: 'reaction', event, eventId }
    const assumed = beginsStream === undefined ? undefined : newAggregate(decider)
    const result = await via.execute(decider, id, command, cause, assumed)
    return E.isLeft(result) ? result : follows(via, result.right.events)
  }

  const run = async (via: CommandHandler, event: Recorded<DomainEvent>, intents: ReadonlyArray<Intent>): Chain => {
    const written: Array<Recorded<DomainEvent>> = []
    for (const intent of intents) {
      const done = await execute(via, intent, event)
      if (E.isLeft(done)) return done
      written.push(...done.right)
    }
    return E.right(written)
  }

  /** One chain an event, whoever asks for it first. */
  const chainOf = (via: CommandHandler, event: Recorded<DomainEvent>): Chain | undefined => {
    const begun = chains.get(event.id)
    if (begun !== undefined) return begun
    const intents = reactions(event, clock.now())
    if (intents.length === 0) return undefined
    const chain = run(via, event, intents)
    if (handledUpTo === undefined || event.position > handledUpTo) chains.set(event.id, chain)
    void chain.then((done) => {
      if (E.isRight(done)) unfinished.delete(event.id)
      // One that failed must not be found again: whoever asks next tries anew.
      else if (chains.delete(event.id) && handledUpTo !== undefined) unfinished.add(event.id)
      // Where no follower comes by, nobody else takes it away.
      if (handledUpTo === undefined) chains.delete(event.id)
    })
    return chain
  }

  const follows = async (via: CommandHandler, events: Written): Chain => {
    const written = [...events]
    for (const event of events) {
      const done = await (chainOf(via, event) ?? E.right([]))
      if (E.isLeft(done)) return done
      written.push(...done.right)
    }
    return E.right(written)
  }

  /** In the order of the log: by its turn, all that an event needs stands there, so a refusal is final. */
  const finish = async (via: CommandHandler, event: Recorded<DomainEvent>): Promise<void> => {
    const first = await chainOf(via, event)
    chains.delete(event.id)
    if (first === undefined || E.isRight(first)) return
    const again = await chainOf(via, event)
    chains.delete(event.id)
    if (again === undefined || E.isRight(again)) return
    const failure = again.left
    if ('reason' in failure) throw new Error(`a reaction could not be written, ${failure.reason}`)
    if (failure.kind === 'contended') throw new Error('a reaction was contended')
    unfinished.delete(event.id)
    logger.warn({ event: event.id, type: event.type, refusal: failure.kind }, 'a reaction was refused')
  }

  return {
    react: async (events) => {
      const done = await follows(commandHandler, events)
      return E.isRight(done) ? done.right : events
    },
    hasUnfinished: () => unfinished.size > 0,
    follower: ({ commandHandler: via, checkpoint }) => ({
      name: 'reactions',
      categories: reactingCategories,
      begin: async () => {
        handledUpTo = await checkpoint.load()
        return handledUpTo
      },
      handle: async ({ events, position }) => {
        // A request that wrote these begins their chains before the loop turns: it waits for them, and so do we.
        await new Promise(setImmediate)
        for (const event of events) await finish(via, event)
        handledUpTo = position
        await checkpoint.advance(position)
      },
      end: async (position) => {
        handledUpTo = undefined
        chains.clear()
        unfinished.clear()
        await checkpoint.flush(position)
      },
    }),
  }
}
