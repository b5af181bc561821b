import { aborted } from '../../domain/abortable.js'
import { engagement } from '../../domain/engagement.js'
import type { Position } from '../../domain/event.js'
import type { EngagementId } from '../../domain/ids.js'
import type { EventStore } from '../../domain/ports.js'
import { wakeUp } from '../../domain/wake-up.js'
import { parkedWork, type ParkedUnderLease } from '../parking/parked-work.js'
import type { ProjectedEvent } from '../projection.js'
import { contactShardOf } from '../read-models/follow-ups.js'
import { reasonOf } from '../subscriptions/failure-reason.js'
import type { Follower } from '../subscriptions/follower.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'
import { isEnding, type Lease } from '../subscriptions/leases.js'
import { FailedForGood } from '../subscriptions/retried-command.js'
import { beginDue, type DueInShard } from './due.js'
import { takeTurn, type StepPorts } from './step.js'

type FollowUpWorker = {
  /** Learns from the log what has become due, whichever process decided it. */
  readonly follower: Follower
  /** Follows up the contacts of one shard, until its lease is ending and what was under way has ended. */
  readonly work: (lease: Lease) => Promise<void>
}

type WorkerPorts = StepPorts & {
  readonly store: EventStore
  /** Runs the read model `follow_ups`. */
  readonly projected: Pick<LeasedFollower, 'position' | 'caughtUpTo'>
}

/** Parked events are known by it. */
export const followUpWorkerName = 'follow_up_worker'

/** A shard whose lease this process holds. */
type Shard = ParkedUnderLease & DueInShard & { readonly underWay: Map<EngagementId, Promise<void>> }

const shardUnder = (lease: Lease): Shard => ({
  ...{ lease, wakeUp: wakeUp(), underWay: new Map(), checking: new Map() },
  ...{ setAside: new Map(), retried: new Map(), latePaceUntil: 0 },
})

/**
 * The process manager of follow-ups: events and due times in, messages and commands out. What is due stands in the read model; whether it
 * may be done, and what has been done, in the streams.
 */
export const followUpWorker = (ports: WorkerPorts): FollowUpWorker => {
  const { projected, logger, backoff } = ports
  const shards = new Map<string, Shard>()
  const placeOf = (_: string, events: ReadonlyArray<ProjectedEvent>): Shard | undefined => {
    const started = events.find(({ type }) => type === 'EngagementStarted')
    return started?.type === 'EngagementStarted' ? shards.get(contactShardOf(started.data.contact_id)) : undefined
  }
  const parked = parkedWork<Shard>(
    { name: followUpWorkerName, actor: 'follow-up', records: engagement, placeOf },
    ports,
  )

  const attempt = async (shard: Shard, id: EngagementId): Promise<void> => {
    try {
      const position = await takeTurn(ports, shard.lease, id).catch(async (error: unknown): Promise<undefined> => {
        if (!(error instanceof FailedForGood)) throw error
        await parked.failed(shard, id, error)
      })
      if (position === undefined) {
        await backoff(0, shard.lease.ending)
        return
      }
      await parked.succeeded(shard, id)
      // Before the read model shows it, the turn would seem to be due again.
      await projected.caughtUpTo(position, shard.lease.ending)
    } catch (error) {
      logger.warn({ engagement: id, reason: reasonOf(error) }, 'the turn of an engagement could not be recorded')
      await backoff(0, shard.lease.ending)
    } finally {
      shard.underWay.delete(id)
      shard.checking.delete(id)
      shard.wakeUp.wake()
    }
  }
  const arrivals = arrivalsOf(ports, shards)

  return {
    follower: {
      name: followUpWorkerName,
      categories: ['engagement', 'parked'],
      begin: async () => {
        const position = await projected.position()
        if (position === undefined) throw new Error('the read model of the follow-ups does not answer')
        for (const {
          wakeUp: { wake },
        } of shards.values())
          wake()
        return position
      },
      handle: async ({ events }) => {
        for (const event of events) (await parked.learn(event))?.wakeUp.wake()
        arrivals.learn(events)
      },
      skip: () => Promise.resolve(),
      end: () => {
        arrivals.stop()
        return Promise.resolve()
      },
    },
    work: async (lease) => {
      const shard = shardUnder(lease)
      shards.set(lease.name, shard)
      void aborted(lease.ending).then(shard.wakeUp.wake)
      let failures = 0
      while (!isEnding(lease)) {
        try {
          await beginDue(ports, shard, (id) => void shard.underWay.set(id, attempt(shard, id)))
          failures = 0
        } catch (error) {
          logger.warn({ shard: lease.name, reason: reasonOf(error) }, 'due follow-ups could not be read')
          await backoff(failures, lease.ending)
          failures += 1
        }
      }
      shards.delete(lease.name)
      await Promise.all(shard.underWay.values())
    },
  }
}

/** Wakes the shards of what came over the log, once the read model shows it. */
const arrivalsOf = ({ projected }: Pick<WorkerPorts, 'projected'>, shards: ReadonlyMap<string, Shard>) => {
  const stopping = new AbortController()
  let arrived = new Set<string>()
  let newest: Position | undefined
  let isWaking = false

  const wakeAll = async (): Promise<void> => {
    isWaking = true
    while (newest !== undefined && !stopping.signal.aborted) {
      const names = arrived
      const position = newest
      arrived = new Set()
      newest = undefined
      await projected.caughtUpTo(position, stopping.signal)
      for (const name of names) shards.get(name)?.wakeUp.wake()
    }
    isWaking = false
  }
  return {
    learn: (events: ReadonlyArray<ProjectedEvent>): void => {
      for (const event of events) {
        if (event.type === 'EngagementStarted' && event.data.follow_up !== undefined)
          arrived.add(contactShardOf(event.data.contact_id))
        else if (event.type === 'EngagementResumed') for (const name of shards.keys()) arrived.add(name)
        else continue
        newest = event.position
      }
      if (!isWaking) void wakeAll()
    },
    stop: (): void => stopping.abort(),
  }
}
