import type { Position } from '../../domain/event.js'
import type { AppendAll, Clock, CommandHandler, EventStore, Logger, MonotonicClock } from '../../domain/ports.js'
import type { HasPendingReactions } from '../../projections/queries.js'
import { exponentialBackoff } from '../../projections/subscriptions/retries/backoff.js'
import { follow, type RunningFollower } from '../../projections/subscriptions/follower.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import { aggregateCache } from '../commands/aggregate-cache.js'
import { storedAggregates } from '../commands/aggregates.js'
import { commandHandler } from '../commands/command-handler.js'
import { documentSnapshots, type Snapshots } from '../commands/snapshots.js'
import { loadedStates, type CurrentStates } from '../commands/states/current-states.js'
import { inMemoryProjection, type InMemoryProjection } from '../commands/states/in-memory-projection.js'
import { ownPendingReactions, sharedPendingReactions } from '../commands/reactions/pending-reactions.js'
import { reactor, type Reactor } from '../commands/reactions/reactor.js'
import { streamQueue } from '../commands/stream-queue.js'
import { unitOfWork, type UnitOfWork } from '../commands/reactions/unit-of-work.js'
import { storeBackoff } from './followers.js'
import type { Stores } from './stores.js'

/** How events come about in this process. */
type CommandSide = {
  readonly store: EventStore
  /** For requests. */
  readonly commandHandler: CommandHandler
  /** For what this process does beside them. */
  readonly workHandler: CommandHandler
  readonly currentStates: CurrentStates
  readonly snapshots: Snapshots
  readonly reactor: Reactor
  /** Set where no other process may write to the log. */
  readonly unitOfWork: UnitOfWork | undefined
  /** Set where other processes may write to the log. */
  readonly projection: InMemoryProjection | undefined
}

type Ports = { readonly clock: Clock; readonly logger: Logger; readonly monotonic: MonotonicClock }

export const commandSide = (stores: Stores, ports: Ports): CommandSide => {
  const snapshots = documentSnapshots(stores.documents)
  return stores.appendAll === undefined
    ? whereShared(stores.store, snapshots, ports)
    : whereAlone(stores.store, stores.appendAll, snapshots, ports)
}

/** Only this process writes to the log, so its cache is current. */
const whereAlone = (
  store: EventStore,
  appendAll: AppendAll,
  snapshots: Snapshots,
  { clock, logger }: Ports,
): CommandSide => {
  const cache = aggregateCache(storedAggregates(store, snapshots))
  const queue = streamQueue(commandHandler({ aggregates: cache, store, clock }))
  const handlers = { commandHandler: queue.ofRequests, workHandler: queue.ofWork }
  const currentStates = loadedStates(queue.ofRequests)
  const reactions = reactor({ commandHandler: queue.ofRequests, logger })
  const atOnce = unitOfWork({ cache, queue, reactor: reactions, store, appendAll, clock })
  return { store, ...handlers, currentStates, snapshots, reactor: reactions, unitOfWork: atOnce, projection: undefined }
}

/** Others may write: every command reads its stream, and what each request rests on follows the log. */
const whereShared = (stored: EventStore, snapshots: Snapshots, { clock, logger, monotonic }: Ports): CommandSide => {
  const { load } = commandHandler({ aggregates: storedAggregates(stored, snapshots), store: stored, clock })
  const projection = inMemoryProjection({ store: stored, load, monotonic })
  const store = projection.observed(stored)
  const aggregates = storedAggregates(store, snapshots)
  const { ofRequests, ofWork } = streamQueue(commandHandler({ aggregates, store, clock }))
  const reactions = reactor({ commandHandler: ofRequests, logger })
  const handlers = { commandHandler: ofRequests, workHandler: ofWork }
  return {
    store,
    ...handlers,
    currentStates: projection,
    snapshots,
    reactor: reactions,
    unitOfWork: undefined,
    projection,
  }
}

/** How this process follows what the others write. */
type LogFollowing = {
  /**
   * Resolves once this process has followed the log up to a position, or the signal aborts; at once where nobody else
   * writes.
   */
  readonly followed: (position: Position, signal: AbortSignal) => Promise<void>
  readonly hasPendingReactions: HasPendingReactions
  readonly everyProcessFollowers: ReadonlyArray<{ readonly start: () => RunningFollower }>
}

export const logFollowing = (
  { store, projection, reactor }: Pick<CommandSide, 'store' | 'projection' | 'reactor'>,
  { isShared }: Stores,
  reactions: LeasedFollower,
  { logger, monotonic }: Ports,
): LogFollowing => {
  const backoff = exponentialBackoff(storeBackoff, monotonic)
  let running: RunningFollower | undefined
  const following = projection && {
    start: () => (running = follow(projection.follower, { store, logger, backoff })),
  }
  const pending = isShared ? sharedPendingReactions(store, reactions, monotonic) : undefined
  const pendingFollower = pending && { start: () => follow(pending.follower, { store, logger, backoff }) }
  return {
    followed: async (position, signal) => running?.caughtUpTo(position, signal),
    hasPendingReactions: pending?.hasPending ?? ownPendingReactions(reactor),
    everyProcessFollowers: [following, pendingFollower].filter((one) => one !== undefined),
  }
}
