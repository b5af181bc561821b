import { randomInt } from 'node:crypto'
import type { Position } from '../../domain/event.js'
import type { Clock, Dispatch, Ids, Logger, Vault } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import { checkpointCollection, checkpointIn, type Checkpoint } from '../../projections/subscriptions/checkpoint.js'
import { deliveries } from '../../projections/read-models/deliveries.js'
import { deliveryProjector } from '../../projections/delivery/projector.js'
import type { WebhookResponse, WebhookSender } from '../../projections/delivery/sender.js'
import { shares } from '../../projections/delivery/shards.js'
import { deliveryWorker } from '../../projections/delivery/worker.js'
import { fencedDispatch, fencedDocuments } from '../../projections/subscriptions/fencing.js'
import { follow, type Follower, type Following, type FollowPorts } from '../../projections/subscriptions/follower.js'
import type { Lease } from '../../projections/subscriptions/leases.js'
import { notices } from '../../projections/read-models/notices.js'
import { anyProjection, collectionOf, type AnyProjection } from '../../projections/projection.js'
import { readModels } from '../../projections/read-models/registry.js'
import { mailer, mailerName } from '../../projections/notices/mailer.js'
import { noticeProjector } from '../../projections/notices/projector.js'
import type { MailSender } from '../../projections/notices/sender.js'
import { runProjection } from '../../projections/subscriptions/runner.js'
import { leasedFollower, type LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import { behindAlone, behindOthers } from '../commands/pending-reactions.js'
import type { IsBehind } from '../../projections/queries.js'
import type { ShownIn } from '../commands/client-commands.js'
import type { Role } from './config.js'
import type { KeptStreams } from '../commands/aggregate-cache.js'
import { logWatch } from '../commands/log-watch.js'
import type { Reactor } from '../commands/reactor.js'
import type { Stores } from './stores.js'

/** All that follows the log, in this process and beside it. */
export type FollowedLog = {
  readonly readModels: ReadonlyArray<ShownIn>
  /** The read models, the reactions, and what makes deliveries and notices due. */
  readonly followers: ReadonlyArray<LeasedFollower>
  readonly isBehind: IsBehind
  /** Resolves once this process saw what the others wrote up to a position; at once where there are no others. */
  readonly seen: (position: Position) => Promise<void>
  /** Webhook requests that this process has open now. */
  readonly openRequests: () => number
  /** Takes this process's share of the work; resolves once the read models can answer. */
  readonly begin: () => Promise<void>
  readonly stop: () => Promise<void>
}

type FollowedLogPorts = {
  readonly stores: Stores
  readonly roles: ReadonlySet<Role>
  readonly dispatch: Dispatch
  readonly kept: KeptStreams
  readonly reactor: Reactor
  readonly sender: WebhookSender
  readonly mail: MailSender
  /** Where clients reach the service, known once it listens: nothing is mailed before. */
  readonly siteUrl: Promise<string>
  readonly vault: Vault
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** Waits some milliseconds of real time. */
  readonly wait: (milliseconds: number, signal: AbortSignal) => Promise<void>
  readonly observe: (response: WebhookResponse) => void
}

/** How long a store that failed is left alone, in milliseconds: first and longest. */
const pauses = [200, 3_000] as const

/** Between two looks at how far another process has come, in milliseconds: first and longest. */
const naps = [2, 50] as const

/** Positions that a follower may go without saving how far it has come. Where others wait for it, it always saves. */
const unsaved = { alone: 500n, beside: 1n }

type FollowerPorts = { readonly dispatch: Dispatch; readonly checkpoint: Checkpoint }

export const followedLog = (ports: FollowedLogPorts): FollowedLog => {
  const { stores, roles, dispatch, reactor, clock, logger, wait } = ports
  const { store, documents, membership, isShared } = stores
  const following: FollowPorts = {
    store,
    logger,
    pause: (signal, failures) => wait(Math.min(pauses[0] * 2 ** failures, pauses[1]), signal),
  }
  const leasedFollowerPorts = {
    documents,
    nap: (tries: number, signal: AbortSignal) => wait(Math.min(naps[0] * 1.5 ** tries, naps[1]), signal),
  }
  const interval = isShared ? unsaved.beside : unsaved.alone

  const kept = (projection: AnyProjection): ShownIn => {
    const start = (lease: Lease): Following =>
      runProjection(projection, {
        ...following,
        documents: fencedDocuments(documents, lease),
        isWaitedFor: isShared,
      })
    return {
      projection,
      follower: leasedFollower(projection.name, collectionOf(projection), start, leasedFollowerPorts),
    }
  }
  const due = kept(anyProjection(deliveries))
  const noticed = kept(anyProjection(notices))
  const shown = readModels.map(
    (projection) => [due, noticed].find((one) => one.projection.name === projection.name) ?? kept(projection),
  )
  /** A follower that keeps no documents of its own: its checkpoint and its commands end with its lease. */
  const followed = (name: string, followerOf: (ports: FollowerPorts) => Follower): LeasedFollower =>
    leasedFollower(
      name,
      checkpointCollection(name),
      (lease) => {
        const checkpoint = checkpointIn(fencedDocuments(documents, lease), name, interval)
        return follow(followerOf({ dispatch: fencedDispatch(dispatch, lease), checkpoint }), following)
      },
      leasedFollowerPorts,
    )
  const reactions = followed('reactions', reactor.follower)
  const projecting = followed('delivery_projector', (fenced) => deliveryProjector({ store, clock, ...fenced }))
  const noticing = followed('notice_projector', (fenced) => noticeProjector({ store, clock, ...fenced }))
  const followers = [...shown.map((one) => one.follower), reactions, projecting, noticing]
  const worker = deliveryWorker({
    ...ports,
    store,
    documents,
    pause: (signal) => wait(pauses[0], signal),
    random: () => randomInt(1_000_000) / 1_000_000,
    projected: due.follower,
  })
  const mailing = mailer({
    ...ports,
    store,
    documents,
    sender: ports.mail,
    pause: (signal) => wait(pauses[0], signal),
    projected: noticed.follower,
  })
  const watch = logWatch(store, ports.kept)
  const stopping = new AbortController()
  let watching: Following | undefined
  let working: Following | undefined

  /** Until each read model is there: whoever builds one, here or elsewhere, lets it be seen when it is whole. */
  const built = async (): Promise<void> => {
    for (let tries = 1; !stopping.signal.aborted; tries += 1) {
      const missing: Array<string> = []
      for (const { projection } of shown) {
        const exists = await documents.exists(collectionOf(projection))
        if (E.isLeft(exists) || !exists.right) missing.push(projection.name)
      }
      if (missing.length === 0) return
      if (tries % 100 === 0) logger.info({ readModels: missing }, 'waiting for read models')
      await wait(pauses[0] / 2, stopping.signal)
    }
  }

  return {
    readModels: shown,
    followers,
    isBehind: isShared ? behindOthers(watch, reactions) : behindAlone(reactor),
    seen: async (position) => watching?.reached(position),
    openRequests: worker.open,
    begin: async () => {
      const head = orThrow(await store.head())
      if (isShared) watching = follow(watch.follower, following)
      // In one turn, so that the others learn at once of all that this process does.
      if (roles.has('projector')) {
        const byName = new Map(followers.map((one) => [one.name, one]))
        membership.share(
          'projector',
          () => [...byName.keys()],
          async (lease) => byName.get(lease.name)?.work(lease),
        )
      }
      if (roles.has('delivery')) {
        membership.share('delivery', () => shares, worker.work)
        membership.share('mailer', () => [mailerName], mailing.work)
      }
      await built()
      await Promise.all(followers.map((one) => one.caughtUp(head)))
      if (roles.has('delivery')) working = follow(worker.follower, following)
    },
    stop: async () => {
      stopping.abort()
      await membership.leave()
      await Promise.all([watching?.stop(), working?.stop()])
    },
  }
}
