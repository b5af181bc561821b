import { aborted } from '../../domain/abortable.js'
import { engagement } from '../../domain/engagement.js'
import type { Position } from '../../domain/event.js'
import type { EngagementId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import type { EventStore } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import { wakeUp, type WakeUp } from '../../domain/wake-up.js'
import { parkedWork, type ParkedUnderLease } from '../parking/parked-work.js'
import { collectionOf, type ProjectedEvent } from '../projection.js'
import { contactShardOf, followUpQueueOf, followUps, type FollowUpDocument } from '../read-models/follow-ups.js'
import { reasonOf } from '../subscriptions/failure-reason.js'
import type { Follower } from '../subscriptions/follower.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'
import { isEnding, type Lease } from '../subscriptions/leases.js'
import { FailedForGood } from '../subscriptions/retried-command.js'
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
type Shard = ParkedUnderLease & {
  readonly wakeUp: WakeUp
  readonly underWay: Map<EngagementId, Promise<void>>
  /** By a clock that never goes back: when the next steps that are late may be begun. */
  latePaceUntil: number
}

/** Turns that are under way in a shard at most. */
const mostUnderWay = 16

/** What is late goes out at a pace that providers and carriers bear, and that leaves room for first messages. */
const lateAtOnce = 8
const lateInterval = 250

/** Late steps that are compared, to begin with those of the newest leads. */
const lateWindow = 200

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
      const shard: Shard = {
        ...{ lease, wakeUp: wakeUp(), underWay: new Map(), setAside: new Map(), retried: new Map(), latePaceUntil: 0 },
      }
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

/** Begins what is due, as far as there is room. Where nothing is, sleeps until something is, or something wakes it. */
const beginDue = async (
  ports: Pick<WorkerPorts, 'documents' | 'clock' | 'time'>,
  shard: Shard,
  begin: (id: EngagementId) => void,
): Promise<void> => {
  const { clock, time } = ports
  const woken = shard.wakeUp.signal()
  const now = clock.now()
  const first = await waiting(ports, shard, 'first', mostUnderWay)
  const late = await waiting(ports, shard, 'later', lateWindow)
  if (isEnding(shard.lease)) return
  const room = mostUnderWay - shard.underWay.size
  const dueFirst = first.filter((one) => isDue(one, now)).slice(0, Math.max(room, 0))
  const dueLate = late.filter((one) => isDue(one, now)).toSorted(newestLeadFirst)
  const isPaced = time.now() < shard.latePaceUntil
  const begunLate = isPaced ? [] : dueLate.slice(0, Math.max(Math.min(room - dueFirst.length, lateAtOnce), 0))
  for (const { id } of [...dueFirst, ...begunLate]) begin(id)
  if (begunLate.length > 0) shard.latePaceUntil = time.now() + lateInterval
  const wakes = [
    aborted(woken),
    ...[first, late]
      .flatMap((queue) => queue.find((one) => !isDue(one, now))?.next_at ?? [])
      .map((at) => clock.sleepUntil(at, woken)),
    ...(time.now() < shard.latePaceUntil ? [time.sleep(shard.latePaceUntil - time.now(), woken)] : []),
  ]
  await Promise.race(wakes)
  // Ends the timers of those that lost the race.
  shard.wakeUp.wake()
}

const isDue = ({ next_at }: FollowUpDocument, now: Instant): boolean => next_at !== undefined && next_at <= now

const newestLeadFirst = (one: FollowUpDocument, other: FollowUpDocument): number =>
  one.started_at < other.started_at ? 1 : one.started_at > other.started_at ? -1 : 0

/** In the order of their time those that wait in a queue of the shard, apart from what is under way or set aside. */
const waiting = async (
  { documents }: Pick<WorkerPorts, 'documents'>,
  { lease, underWay, setAside }: Shard,
  kind: 'first' | 'later',
  most: number,
): Promise<ReadonlyArray<FollowUpDocument>> => {
  const limit = most + underWay.size + setAside.size + 1
  const query = { index: 'due', equals: [followUpQueueOf(lease.name, kind)], limit }
  const found = orThrow(await documents.find(collectionOf(followUps), query))
  return found
    .map(({ document }) => document as FollowUpDocument)
    .filter(({ id }) => !underWay.has(id) && !setAside.has(id))
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
