import { reactor as reactorOf } from '../../../app/commands/reactions/reactor.js'
import type { Decider } from '../../../domain/decider.js'
import type { DomainEvent } from '../../../domain/events.js'
import { later, millisecondsOf } from '../../../domain/instant.js'
import type { AnyCommand, CommandHandler, MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { streamOf } from '../../../domain/stream-name.js'
import type { Checkpoint } from '../../../projections/subscriptions/checkpoint.js'
import { alsoInEventStore, checkpointCollection, checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import { exponentialBackoff, type Backoff } from '../../../projections/subscriptions/retries/backoff.js'
import { follow, type Follower, type FollowPorts } from '../../../projections/subscriptions/follower.js'
import { guardedCommandHandler, guardedDocuments } from '../../../projections/subscriptions/lease-guard.js'
import { leasedFollower, type LeasedFollower } from '../../../projections/subscriptions/leased-follower.js'
import { buildAlone } from '../../../projections/subscriptions/rebuild.js'
import { runProjection } from '../../../projections/subscriptions/runner.js'
import { collectionOf, type AnyProjection } from '../../../projections/projection.js'
import { cachedHandler, sharedHandler } from '../parts/command-handlers.js'
import { rightOf } from '../right-of.js'
import type { LifeParts } from './lives.js'

type FollowerPorts = Pick<LifeParts, 'store' | 'documents' | 'clock' | 'ids' | 'logger'> & {
  /** Positions that a follower may advance without saving its checkpoint. */
  readonly unsaved: bigint
  /** Whether other processes work on the same stores. */
  readonly isShared?: boolean
}

/**
 * In milliseconds: how long a follower waits before it looks again at one in another process, and before it tries again
 * what failed. Where a lease of simulated time is long, whoever waits for its end looks seldom.
 */
const pauses = {
  alone: { polling: { first: 2, longest: 2 }, retrying: { first: 200, longest: 3_000 } },
  shared: { polling: { first: 2, longest: 600_000 }, retrying: { first: 30_000, longest: 600_000 } },
}

/** Executes a client's command and the reactions to its events; resolves when the client has its answer. */
export type Execute = <
  State,
  Command extends AnyCommand,
  Event extends DomainEvent,
  Refusal extends { readonly kind: string },
>(
  decider: Decider<State, Command, Event, Refusal>,
  id: string,
  command: Command,
) => Promise<void>

/** What followers of a virtual process have in common, wired as `app/composition` wires them. */
type VirtualFollowers = {
  readonly commandHandler: CommandHandler
  readonly monotonic: MonotonicClock
  readonly backoff: Backoff
  readonly following: FollowPorts
  readonly readModel: (projection: AnyProjection) => LeasedFollower
  /** One that sends commands, and saves how far it has come. */
  readonly commanding: (
    name: string,
    begin: (commandHandler: CommandHandler, checkpoint: Checkpoint) => Follower,
  ) => LeasedFollower
  readonly reactions: LeasedFollower
  readonly execute: Execute
}

export const virtualFollowers = ({
  store,
  documents,
  clock,
  ids,
  logger,
  unsaved,
  isShared = false,
}: FollowerPorts): VirtualFollowers => {
  const commandHandler = (isShared ? sharedHandler : cachedHandler)(store, clock)
  const { polling, retrying } = pauses[isShared ? 'shared' : 'alone']
  const reactor = reactorOf({ commandHandler, logger })
  const monotonic: MonotonicClock = {
    now: () => millisecondsOf(clock.now()),
    sleep: (milliseconds, signal) => clock.sleepUntil(later(clock.now(), milliseconds), signal),
  }
  const backoff = exponentialBackoff(retrying, monotonic)
  const following: FollowPorts = { store, logger, backoff }
  const leased = { documents, pollBackoff: exponentialBackoff(polling, monotonic) }

  const commanding: VirtualFollowers['commanding'] = (name, begin) =>
    leasedFollower(
      name,
      checkpointCollection(name),
      (lease) => {
        const inDocuments = checkpointIn(guardedDocuments(documents, lease), name, unsaved)
        const checkpoint = alsoInEventStore(inDocuments, name, { store, monotonic, logger })
        return follow(begin(guardedCommandHandler(commandHandler, lease), checkpoint), following)
      },
      leased,
    )
  return {
    ...{ commandHandler, monotonic, backoff, following, commanding },
    readModel: (projection) =>
      leasedFollower(
        projection.name,
        collectionOf(projection),
        (lease) =>
          runProjection(projection, {
            ...following,
            monotonic,
            documents: guardedDocuments(documents, lease),
            build: buildAlone,
            isWaitedFor: isShared,
          }),
        leased,
      ),
    reactions: commanding('reactions', (guarded, checkpoint) =>
      reactor.follower({ store, commandHandler: guarded, checkpoint }),
    ),
    execute: async (decider, id, command) => {
      const done = await commandHandler.execute(decider, id, command, { actor: 'client', eventId: ids.uuid })
      // Too late: the webhook was removed before, or the conversation has ended, perhaps by this very command before a
      // crash.
      if (E.isLeft(done) && tooLate.has(done.left.kind)) return
      const { events } = rightOf(done)
      // Another process may have crashed before it reacted to what it wrote.
      const isThere = events.length === 0 && isShared
      await reactor.react(isThere ? rightOf(await store.read(streamOf(decider, id))).events : events)
    },
  }
}

const tooLate: ReadonlySet<string> = new Set(['webhook-not-found', 'engagement-ended'])
