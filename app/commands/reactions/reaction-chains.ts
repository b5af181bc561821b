import type { Decider } from '../../../domain/decider.js'
import { derivedEventId } from '../../../domain/derived-id.js'
import { newAggregate } from '../../../domain/aggregate.js'
import type { DomainEvent, RecordedEvent } from '../../../domain/events.js'
import { beginning, furthest, type Position } from '../../../domain/event.js'
import type { CommandHandler } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Intent } from '../../../domain/reaction.js'
import { reactions } from '../../../domain/reactions.js'
import { unrememberedLead } from './unremembered-lead.js'
import { reasonOf } from '../../../domain/failure-reason.js'
import { isTransient } from '../../../domain/store-failed.js'
import type { CommandFailure } from '../../../projections/parking/final-failure.js'

/**
 * What could not be carried out, and the event that it follows from: that of the chain, or one that was appended in it.
 */
export type ReactionFailure = { readonly failure: CommandFailure; readonly event: RecordedEvent }

/** All events that were appended because of an event, directly or through further reactions, in no particular order. */
type Chain = Promise<Either<ReactionFailure, ReadonlyArray<RecordedEvent>>>

type Handler = Pick<CommandHandler, 'load' | 'execute'>

/** The reaction chains in flight in this process: one for each event, shared by all who ask for it. */
export type ReactionChains = {
  /** Carries out what follows from these events; gives them and all that was appended because of them. */
  readonly carryOutAll: (handler: Handler, events: ReadonlyArray<RecordedEvent>) => Chain
  /** For the follower: undefined where nothing follows from the event, or all of it is known to have been done. */
  readonly of: (handler: Handler, event: RecordedEvent) => Chain | undefined
  /** All that follows from these events was appended with them, so the follower need not carry it out. */
  readonly carriedOut: (events: ReadonlyArray<RecordedEvent>) => void
  /** The position up to which the follower of this process has carried out the reactions, or parked their events. */
  readonly handledUpTo: (position: Position) => void
  /** No follower runs in this process any more. */
  readonly followerEnded: () => void
  /** Whether a chain failed here that the follower has still to carry out. */
  readonly hasUnfinished: () => boolean
}

/**
 * Chains that ended before the follower came to their events, in ids at most: so it need not carry them out again.
 * While it stands still, later ones are not remembered, and it carries them out once more, which writes nothing.
 */
const mostFinished = 20_000

/** A decider and a command that belong together, whichever they are. */
type AnyIntent = {
  readonly decider: Decider<unknown, { readonly type: string }, DomainEvent, { readonly kind: string }>
  readonly id: string
  readonly command: { readonly type: string }
}

export const reactionChains = (): ReactionChains => {
  const inFlight = new Map<string, Chain>()
  /** Events in front of the follower whose chains have succeeded. */
  const finished = new Map<string, Position>()
  /** The newest event whose chain failed here: once the follower has come so far it has carried out all of them. */
  let newestFailed: Position = beginning
  /** How far the follower of this process has come; undefined where none runs here. */
  let handled: Position | undefined

  const carryOutAll: ReactionChains['carryOutAll'] = async (handler, events) => {
    const appended = [...events]
    let failed: Either<ReactionFailure, never> | undefined
    for (const event of events) {
      const done = await (chainOf(handler, event) ?? E.right([]))
      if (E.isRight(done)) appended.push(...done.right)
      else if (isTransient(done.left.failure)) return done
      else failed ??= done
    }
    return failed ?? E.right(appended)
  }

  const run = async (handler: Handler, event: RecordedEvent, intents: ReadonlyArray<Intent>): Chain => {
    const appended: Array<RecordedEvent> = []
    let failed: Either<ReactionFailure, never> | undefined
    try {
      for (const intent of intents) {
        const result = await carryOut(handler, intent, event)
        if (E.isLeft(result)) return E.left({ failure: result.left, event })
        // What was appended has its own place in the log: where its reactions can't succeed, those of this event go on.
        const done = await carryOutAll(handler, result.right.events)
        if (E.isRight(done)) appended.push(...done.right)
        else if (isTransient(done.left.failure)) return done
        else failed ??= done
      }
    } catch (error) {
      return E.left({ failure: { kind: reasonOf(error) }, event })
    }
    return failed ?? E.right(appended)
  }

  const end = ({ id, position }: RecordedEvent, isDone: boolean): void => {
    inFlight.delete(id)
    if (!isDone) newestFailed = furthest(newestFailed, position)
    else remember(id, position)
  }

  const remember = (id: string, position: Position): void => {
    if (handled !== undefined && position > handled && finished.size < mostFinished) finished.set(id, position)
  }

  const chainOf = (handler: Handler, event: RecordedEvent): Chain | undefined => {
    const begun = inFlight.get(event.id)
    if (begun !== undefined) return begun
    const intents = E.tryCatch(() => reactions(event), reasonOf)
    if (E.isRight(intents) && intents.right.length === 0) return undefined
    const chain = E.isLeft(intents)
      ? Promise.resolve(E.left({ failure: { kind: intents.left }, event }))
      : run(handler, event, intents.right)
    inFlight.set(event.id, chain)
    void chain.then((ended) => end(event, E.isRight(ended)))
    return chain
  }

  return {
    carryOutAll,
    of: (handler, event) => (finished.has(event.id) ? undefined : chainOf(handler, event)),
    carriedOut: (events) => {
      for (const { id, position } of events) remember(id, position)
    },
    handledUpTo: (position) => {
      handled = position
      for (const [id, at] of finished) if (at <= position) finished.delete(id)
    },
    followerEnded: () => {
      handled = undefined
      finished.clear()
    },
    hasUnfinished: () => newestFailed > (handled ?? beginning),
  }
}

/** Commands that usually begin their stream: they are decided on a new aggregate first, which spares a read. */
const beginningCommands: ReadonlySet<string> = new Set<Intent['command']['type']>([
  'DefineConversion',
  'CreatePlaybook',
  'EngageLead',
  'StartEngagement',
])

const carryOut = async (handler: Handler, intent: Intent, event: RecordedEvent) => {
  const { decider, id, command } = intent as unknown as AnyIntent
  const eventId = (index: number): string => derivedEventId(event.id, `${id}/${command.type}`, index)
  const envelope = { actor: 'reaction', cause: event, at: event.time, eventId }
  const assumed = beginningCommands.has(command.type) ? newAggregate(decider) : undefined
  const done = await handler.execute(decider, id, command, envelope, assumed)
  if (E.isRight(done) || done.left.kind !== 'lead-not-remembered' || intent.command.type !== 'EngageLead') return done
  const unremembered = await unrememberedLead(handler, intent.command)
  if (E.isLeft(unremembered)) return unremembered
  if (unremembered.right === undefined) return E.right({ events: [] })
  return handler.execute(decider, id, unremembered.right, envelope)
}
