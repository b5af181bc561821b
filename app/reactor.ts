import type { Decider } from '../domain/decider.js'
import { derivedEventId } from '../domain/derived-id.js'
import { categories, type DomainEvent } from '../domain/domain-event.js'
import { beginning, type Position, type Recorded } from '../domain/event.js'
import type { Clock, Contended, Dispatch, Logger, StoreFailure } from '../domain/ports.js'
import { E, type Either } from '../domain/prelude.js'
import { reactions, type Intent } from '../domain/reactions.js'
import type { Checkpoint } from '../projections/checkpoint.js'
import type { Follower } from '../projections/follower.js'

type Failure = StoreFailure | Contended | { readonly kind: string }
/** The position of the last event that a chain is known to have come to. */
type Chain = Promise<Either<Failure, Position>>

export type Reactor = {
  /**
   * Carries on what follows from these events, and from the events that follow, before a request is answered. What fails
   * here is finished by the follower, so a failure changes nothing about what was accepted. Gives the position of the last
   * event that was written.
   */
  readonly react: (events: ReadonlyArray<Recorded<DomainEvent>>) => Promise<Position>
  /** Runs the very same reactions in the order of the log and finishes whatever a crash left open. */
  readonly follower: Follower
  /** Whether something that was accepted still lacks what follows from it, because the store failed in between. */
  readonly isBehind: () => boolean
}

type ReactorPorts = {
  readonly dispatch: Dispatch
  readonly checkpoint: Checkpoint
  readonly clock: Clock
  readonly logger: Logger
}

/** A decider and a command that belong together, whichever they are. */
type AnyIntent = {
  readonly decider: Decider<unknown, { readonly type: string }, DomainEvent, { readonly kind: string }>
  readonly id: string
  readonly command: { readonly type: string }
}

export const reactor = ({ dispatch, checkpoint, clock, logger }: ReactorPorts): Reactor => {
  const chains = new Map<string, Chain>()
  /** Events whose chains failed and were not finished yet. */
  const unfinished = new Set<string>()
  /** How far the follower has come: it passes each event once, and takes its chain away. */
  let passed = beginning

  const execute = async (intent: Intent, event: Recorded<DomainEvent>): Chain => {
    const { decider, id, command } = intent as unknown as AnyIntent
    const outcome = await dispatch.execute(decider, id, command, {
      actor: 'reaction',
      event,
      eventId: (index) => derivedEventId(event.id, `${id}/${command.type}`, index),
    })
    return E.isLeft(outcome) ? outcome : follows(outcome.right.events)
  }

  const run = async (event: Recorded<DomainEvent>, intents: ReadonlyArray<Intent>): Chain => {
    let last = event.position
    for (const intent of intents) {
      const done = await execute(intent, event)
      if (E.isLeft(done)) return done
      if (done.right > last) last = done.right
    }
    return E.right(last)
  }

  /** One chain an event, whoever asks for it first. */
  const chainOf = (event: Recorded<DomainEvent>): Chain | undefined => {
    const begun = chains.get(event.id)
    if (begun !== undefined) return begun
    const intents = reactions(event, clock.now())
    if (intents.length === 0) return undefined
    const chain = run(event, intents)
    if (event.position > passed) chains.set(event.id, chain)
    // One that failed must not be found again: whoever asks next tries anew.
    void chain.then((done) => {
      if (E.isRight(done)) unfinished.delete(event.id)
      else if (chains.delete(event.id)) unfinished.add(event.id)
    })
    return chain
  }

  const follows = async (events: ReadonlyArray<Recorded<DomainEvent>>): Chain => {
    let last = events.at(-1)?.position ?? beginning
    for (const event of events) {
      const done = await (chainOf(event) ?? E.right(last))
      if (E.isLeft(done)) return done
      if (done.right > last) last = done.right
    }
    return E.right(last)
  }

  /** In the order of the log: by its turn, all that an event needs stands there, so a refusal is final. */
  const finish = async (event: Recorded<DomainEvent>): Promise<void> => {
    const first = await chainOf(event)
    chains.delete(event.id)
    if (first === undefined || E.isRight(first)) return
    const again = await chainOf(event)
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
      const done = await follows(events)
      return E.isRight(done) ? done.right : (events.at(-1)?.position ?? beginning)
    },
    isBehind: () => unfinished.size > 0,
    follower: {
      name: 'reactions',
      categories: categories.filter((category) => reacting.has(category)),
      begin: checkpoint.load,
      handle: async ({ events, position }) => {
        // A request that wrote these begins their chains before the loop turns: it waits for them, and so do we.
        await new Promise(setImmediate)
        for (const event of events) await finish(event)
        passed = position
        await checkpoint.passed(position)
      },
    },
  }
}

/** The categories whose events other streams follow from. */
const reacting: ReadonlySet<string> = new Set([
  'account',
  'lead',
  'contact',
  'conversion_contact',
  'engagement',
  'delivery',
])
