import type { Category } from '../../domain/events.js'
import type { Messenger } from '../../domain/messenger.js'
import type { Clock, CommandHandler, Logger, MonotonicClock } from '../../domain/ports.js'
import { deliveryFanOut, deliveryFanOutName } from '../../projections/delivery/fan-out/fan-out.js'
import { followConcurrently } from '../../projections/subscriptions/concurrent/concurrent-follower.js'
import { eraser, eraserName } from '../../projections/erasure/eraser.js'
import { noticeFanOut, noticeFanOutName } from '../../projections/notices/fan-out.js'
import { collectionOf, type AnyProjection } from '../../projections/projection.js'
import { findThere } from '../../projections/queries.js'
import { contactTimeline } from '../../projections/read-models/contact-timeline.js'
import { messages } from '../../projections/read-models/messages.js'
import { resends } from '../../projections/read-models/resends.js'
import { readModels } from '../../projections/read-models/registry.js'
import { exponentialBackoff } from '../../projections/subscriptions/retries/backoff.js'
import {
  alsoInEventStore,
  checkpointCollection,
  checkpointIn,
  type Checkpoint,
} from '../../projections/subscriptions/checkpoint.js'
import { guardedCommandHandler, guardedDocuments } from '../../projections/subscriptions/lease-guard.js'
import { follow, type FollowPorts, type RunningFollower } from '../../projections/subscriptions/follower.js'
import { leasedFollower, type LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import { buildTogether } from '../../projections/subscriptions/rebuild.js'
import { rebuildsOf, type Rebuilds } from '../../projections/subscriptions/online-rebuilds.js'
import { runProjection } from '../../projections/subscriptions/runner.js'
import { reactionsName, type Reactor } from '../commands/reactions/reactor.js'
import { erasuresOn, type Erasures } from '../commands/erasure/erasure-end.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import { hasErasures } from '../commands/states/has-erasures.js'
import type { Snapshots } from '../commands/snapshots.js'
import type { ServedReadModel } from '../commands/read-your-writes/read-your-writes.js'
import type { Stores } from './stores.js'

/** All that follows the log under a lease: in one process at a time, this one or another. */
export type Followers = {
  readonly readModels: ReadonlyArray<ServedReadModel & { readonly follower: LeasedFollower }>
  readonly rebuilds: Rebuilds
  readonly reactions: LeasedFollower
  readonly erasures: Erasures
  /** The names under which those of them that are process managers park events. */
  readonly processManagers: ReadonlyArray<string>
  /** The read models, the reactions, what makes deliveries and notices due, and what erases contacts. */
  readonly all: ReadonlyArray<LeasedFollower>
}

type Ports = {
  readonly stores: Stores
  readonly commandHandler: CommandHandler
  readonly currentStates: CurrentStates
  readonly reactor: Reactor
  readonly snapshots: Pick<Snapshots, 'remove'>
  /** Asked what a provider has of messages that are erased. */
  readonly messenger: Messenger
  readonly logger: Logger
  readonly clock: Clock
  readonly monotonic: MonotonicClock
}

/** How a store that failed is asked again, in milliseconds. */
export const storeBackoff = { first: 200, longest: 3_000 }

/** Between two looks at how far a follower in another process has come, in milliseconds. */
const polling = { first: 2, longest: 50, factor: 1.5 }

/**
 * Between two saves of a checkpoint, at least, in the unit of the log's positions: some hundred events. Where other
 * processes wait for the checkpoint, each batch saves it.
 */
const checkpointInterval = { events: 500n, bytes: 250_000n, shared: 1n }

/** What keeps its checkpoint without documents, and in the event store too. */
export const checkpointedNames = [reactionsName, deliveryFanOutName, noticeFanOutName, eraserName] as const

type GuardedPorts = { readonly commandHandler: CommandHandler; readonly checkpoint: Checkpoint }

/** How followers are run under a lease: those of read models, and those that have no documents. */
const leasedFollowers = (
  { stores: { store, documents, isShared }, commandHandler, logger, monotonic }: Ports,
  following: FollowPorts,
) => {
  const leased = { documents, pollBackoff: exponentialBackoff(polling, monotonic) }

  const build = buildTogether(monotonic)
  const ofReadModel = (projection: AnyProjection) => ({
    projection,
    follower: leasedFollower(
      projection.name,
      collectionOf(projection),
      (lease) => {
        const guarded = guardedDocuments(documents, lease)
        return runProjection(projection, { ...following, monotonic, documents: guarded, build, isWaitedFor: isShared })
      },
      leased,
    ),
  })
  /** Its checkpoint and its commands end with its lease. */
  const checkpointed = (
    name: (typeof checkpointedNames)[number],
    start: (guarded: GuardedPorts) => RunningFollower,
  ): LeasedFollower => {
    const interval = checkpointInterval[isShared ? 'shared' : store.positionUnit]
    return leasedFollower(
      name,
      checkpointCollection(name),
      (lease) => {
        const inDocuments = checkpointIn(guardedDocuments(documents, lease), name, interval)
        const checkpoint = alsoInEventStore(inDocuments, name, { store, monotonic, logger })
        return start({ commandHandler: guardedCommandHandler(commandHandler, lease), checkpoint })
      },
      { ...leased, store },
    )
  }
  return { ofReadModel, checkpointed }
}

export const followersOn = (ports: Ports): Followers => {
  const { stores, commandHandler, currentStates, reactor, snapshots, messenger, logger, clock, monotonic } = ports
  const { store, documents, isShared } = stores
  const following: FollowPorts = { store, logger, backoff: exponentialBackoff(storeBackoff, monotonic) }
  const { ofReadModel, checkpointed } = leasedFollowers(ports, following)

  const served = readModels.map(ofReadModel)
  const rebuilds = rebuildsOf(served, { documents, store, clock })
  const reactions = checkpointed(reactionsName, (guarded) => follow(reactor.follower({ store, ...guarded }), following))
  const delivery = checkpointed(deliveryFanOutName, (guarded) =>
    follow(
      deliveryFanOut({ store, documents, logger, hasErasures: hasErasures(currentStates), ...guarded }),
      following,
    ),
  )
  const notices = checkpointed(noticeFanOutName, (guarded) =>
    follow(noticeFanOut({ store, logger, ...guarded }), following),
  )
  const erasing = checkpointed(eraserName, (guarded) =>
    followConcurrently(
      eraser({
        ...guarded,
        store,
        messenger,
        logger,
        clock,
        monotonic,
        reactions,
        deliveryFanOut: delivery,
        documents: { ...documents, find: findThere(documents) },
        timeline: followerOf(served, contactTimeline.name),
        messages: followerOf(served, messages.name),
        resends: followerOf(served, resends.name),
        removeSnapshot: snapshots.remove,
      }),
      following,
    ),
  )
  const processManagers = [reactions, delivery, notices, erasing]
  return {
    readModels: served,
    rebuilds,
    reactions,
    erasures: erasuresOn({
      ...thatShowContacts(served),
      commandHandler,
      store,
      documents,
      eraser: erasing,
      isShared,
      monotonic,
      purges: [store.purge, documents.purge],
    }),
    processManagers: processManagers.map(({ name }) => name),
    all: [...served.map(({ follower }) => follower), ...processManagers],
  }
}

/** Categories whose streams tell of contacts. */
const ofContacts: ReadonlySet<Category> = new Set(['lead', 'contact', 'engagement', 'remark', 'message', 'delivery'])

/** Of the read models that show something of contacts what maintains them, and where they are built anew. */
const thatShowContacts = (readModels: Followers['readModels']) => {
  const shown = readModels.filter(({ projection }) => projection.categories.some((one) => ofContacts.has(one)))
  return {
    readModelFollowers: shown.map(({ follower }) => follower),
    builds: shown.map(({ projection }) => collectionOf(projection, 'next')),
  }
}

/** What maintains the read model of this name. */
export const followerOf = (readModels: Followers['readModels'], name: string): LeasedFollower => {
  const found = readModels.find(({ projection }) => projection.name === name)
  if (found === undefined) throw new Error(`there is no read model ${name}`)
  return found.follower
}
