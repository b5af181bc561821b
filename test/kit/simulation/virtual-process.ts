import { singleProcessMembership } from '../../../adapters/in-process/single-process-leases.js'
import { reactor as reactorOf } from '../../../app/commands/reactions/reactor.js'
import type { Decider } from '../../../domain/decider.js'
import type { DomainEvent } from '../../../domain/events.js'
import { later, millisecondsOf } from '../../../domain/instant.js'
import type { AnyCommand, Clock, EventStore, Ids, Logger, Time } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { orThrow } from '../../../domain/store-failed.js'
import { alsoInEventStore, checkpointCollection, checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import { deliveries } from '../../../projections/read-models/deliveries.js'
import { deliveryFanOut } from '../../../projections/delivery/fan-out/fan-out.js'
import type { WebhookSender } from '../../../projections/delivery/sender.js'
import { shards } from '../../../projections/delivery/shards.js'
import { deliveryWorker } from '../../../projections/delivery/worker.js'
import { guardedCommandHandler, guardedDocuments } from '../../../projections/subscriptions/lease-guard.js'
import { follow, type FollowPorts } from '../../../projections/subscriptions/follower.js'
import type { Documents } from '../../../projections/ports.js'
import { anyProjection, collectionOf, type AnyProjection } from '../../../projections/projection.js'
import { resends } from '../../../projections/read-models/resends.js'
import { build } from '../../../projections/subscriptions/rebuild.js'
import { runProjection } from '../../../projections/subscriptions/runner.js'
import { leasedFollower, type LeasedFollower } from '../../../projections/subscriptions/leased-follower.js'
import { webhookList } from '../../../projections/read-models/lists/webhook-list.js'
import { loadState } from '../../../app/commands/states/current-states.js'
import { webhook } from '../../../domain/webhook.js'
import { exponentialBackoff } from '../../../projections/subscriptions/backoff.js'
import type { Random } from '../load/random.js'
import { rightOf } from '../right-of.js'
import { plainVault } from './plain-vault.js'
import { cachedHandler } from '../parts/command-handlers.js'

/** The parts of the service that deliver, wired as `app/composition` wires them where one process works alone. */
export type VirtualProcess = {
  /** Resolves once the process takes commands. */
  readonly begin: () => Promise<void>
  /** Executes a client's command and the reactions to its events; resolves when the client has its answer. */
  readonly execute: <
    State,
    Command extends AnyCommand,
    Event extends DomainEvent,
    Refusal extends { readonly kind: string },
  >(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    command: Command,
  ) => Promise<void>
}

type ProcessPorts = {
  readonly store: EventStore
  readonly documents: Documents
  readonly sender: WebhookSender
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly random: Random
  /** Positions that a follower may advance without saving its checkpoint. */
  readonly unsaved: bigint
}

export const simulatedReadModels: ReadonlyArray<AnyProjection> = [
  anyProjection(deliveries),
  anyProjection(resends),
  anyProjection(webhookList),
]

export const virtualProcess = (ports: ProcessPorts): VirtualProcess => {
  const { store, documents, clock, ids, logger, unsaved } = ports
  const commandHandler = cachedHandler(store, clock)
  const reactor = reactorOf({ commandHandler, logger })
  const time: Time = {
    now: () => millisecondsOf(clock.now()),
    sleep: (milliseconds, signal) => clock.sleepUntil(later(clock.now(), milliseconds), signal),
  }
  const backoff = exponentialBackoff({ first: 200, longest: 3_000 }, time)
  const following: FollowPorts = { store, logger, backoff }
  const leased = { documents, pollBackoff: exponentialBackoff({ first: 2, longest: 2 }, time) }

  const readModel = (projection: AnyProjection): LeasedFollower =>
    leasedFollower(
      projection.name,
      collectionOf(projection),
      (lease) =>
        runProjection(projection, {
          ...following,
          time,
          documents: guardedDocuments(documents, lease),
          build,
          isWaitedFor: false,
        }),
      leased,
    )
  const projected = readModel(anyProjection(deliveries))
  const reactions = leasedFollower(
    'reactions',
    checkpointCollection('reactions'),
    (lease) => {
      const inDocuments = checkpointIn(guardedDocuments(documents, lease), 'reactions', unsaved)
      const checkpoint = alsoInEventStore(inDocuments, 'reactions', { store, time, logger })
      return follow(
        reactor.follower({ store, commandHandler: guardedCommandHandler(commandHandler, lease), checkpoint }),
        following,
      )
    },
    leased,
  )
  const projecting = leasedFollower(
    'delivery_projector',
    checkpointCollection('delivery_projector'),
    (lease) => {
      const inDocuments = checkpointIn(guardedDocuments(documents, lease), 'delivery_projector', unsaved)
      const checkpoint = alsoInEventStore(inDocuments, 'delivery_projector', { store, time, logger })
      return follow(
        deliveryFanOut({
          hasErasures: () => Promise.resolve(false),
          store,
          documents,
          commandHandler: guardedCommandHandler(commandHandler, lease),
          checkpoint,
          logger,
        }),
        following,
      )
    },
    leased,
  )
  const shownBeside = simulatedReadModels.filter(({ name }) => name !== projected.name).map(readModel)
  const followers = [projected, ...shownBeside, reactions, projecting]
  const worker = deliveryWorker({
    ...ports,
    commandHandler,
    vault: plainVault,
    projected,
    backoff,
    currentWebhook: (id) => loadState(commandHandler, webhook, id),
    hasErasures: () => Promise.resolve(false),
    observe: () => undefined,
  })

  return {
    begin: async () => {
      const head = orThrow(await store.head())
      const membership = singleProcessMembership()
      const byName = new Map(followers.map((one) => [one.name, one]))
      membership.share(
        'projector',
        () => [...byName.keys()],
        async (lease) => byName.get(lease.name)?.run(lease),
      )
      membership.share('delivery', () => shards, worker.work)
      await Promise.all(followers.map((one) => one.caughtUpHere(head, new AbortController().signal)))
      follow(worker.follower, following)
    },
    execute: async (decider, id, command) => {
      const done = await commandHandler.execute(decider, id, command, { actor: 'client', eventId: ids.uuid })
      // The webhook was removed before, perhaps by this very command before a crash.
      if (E.isLeft(done) && done.left.kind === 'webhook-not-found') return
      await reactor.react(rightOf(done).events)
    },
  }
}
