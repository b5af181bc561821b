import { aborted } from '../../domain/abortable.js'
import { account } from '../../domain/account.js'
import type { RecordedEvent } from '../../domain/events.js'
import type { AccountId, EngagementId } from '../../domain/ids.js'
import { StatedFailure } from '../../domain/failure-reason.js'
import { idIn } from '../../domain/stream-name.js'
import type { Documents } from '../ports.js'
import type { Follower } from '../subscriptions/follower.js'
import { isEnding, type Lease } from '../subscriptions/leases.js'
import { workWithRetry } from '../subscriptions/retries/retried-work.js'
import { contactShards } from '../read-models/contact-shards.js'
import { arrivalsOf } from './arrivals.js'
import { accountWaits, type AccountWaits } from './sending/account-waits.js'
import { beginDue } from './due/begin-due.js'
import { boundedReads, type FollowUpReads } from './due/bounded-reads.js'
import type { TaskId } from './due/due-in-shard.js'
import { sendingRates } from './sending/rate.js'
import { segmentReservations } from './sending/segment-reservations.js'
import { sharedReads } from './sending/waiting-accounts.js'
import { followUpWorkerName, shardUnder, tasksOf, type Shard, type FollowUpPorts } from './tasks.js'

type FollowUpWorker = {
  /** Learns from the log what has become due, whichever process decided it. */
  readonly follower: Follower
  /** Follows up the contacts of one shard, until its lease is ending and what was in flight has ended. */
  readonly work: (lease: Lease) => Promise<void>
}

/**
 * The process manager of follow-ups: events and due times in, messages and commands out. What is due stands in the read
 * model; whether it may be done, and what has been done, in the streams.
 */
export const followUpWorker = (
  given: Omit<FollowUpPorts, 'rates' | 'reservations' | 'consentsUnderCheck'> & {
    readonly documents: FollowUpReads & Pick<Documents, 'values'>
  },
): FollowUpWorker => {
  const { followUpsFollower, messagesFollower } = given
  const readsUnder = boundedReads(given.documents)
  const shared = sharedReads(given)
  const shards = new Map<string, Shard>()
  const waits = new Set<AccountWaits>()
  // A task may still be in flight when its shard has been given back.
  const rates = sendingRates(() => Math.max(shards.size, 1) / contactShards.names.length)
  const ports: FollowUpPorts = {
    ...given,
    rates,
    reservations: segmentReservations(given.monotonic),
    consentsUnderCheck: new Set<EngagementId>(),
  }
  const tasks = tasksOf(ports, (name) => shards.get(name))
  const arrivals = arrivalsOf([followUpsFollower, messagesFollower], {
    wake: (name) => shards.get(name)?.wakeUp.wake(),
    all: () => shards.keys(),
  })

  return {
    follower: {
      name: followUpWorkerName,
      categories: ['engagement', 'message', 'parked', 'account'],
      begin: async () => {
        const [one, other] = await Promise.all([followUpsFollower.position(), messagesFollower.position()])
        if (one === undefined || other === undefined)
          throw new StatedFailure('a read model of the follow-ups does not answer')
        for (const shard of shards.values()) shard.wakeUp.wake()
        // What enabled an account before that position is not learnt from the log.
        for (const { checkAll } of waits) checkAll()
        return one < other ? one : other
      },
      handle: async ({ events }) => {
        for (const event of events) {
          const shard = await tasks.release(event)
          shard?.wakeUp.wake()
          const accountId = maySendBy(event)
          if (accountId !== undefined) for (const { check } of waits) check(accountId, event.position)
        }
        arrivals.learn(events)
      },
      skip: () => Promise.resolve(),
      end: () => {
        arrivals.stop()
        return Promise.resolve()
      },
    },
    work: async (lease) => {
      const reads = readsUnder(lease)
      const shard = shardUnder(lease, reads)
      shards.set(lease.name, shard)
      const ofAccounts = accountWaits({ ...ports, documents: reads.ofTasks }, shard, shared)
      waits.add(ofAccounts)
      const resuming = ofAccounts.work()
      void aborted(lease.ending).then(shard.wakeUp.wake)
      const { name } = lease
      const retried = { lease, name, message: 'due follow-ups could not be read', fields: { shard: name } }
      const dueIn = { ...ports, documents: reads.ofDue }
      const begin = (id: TaskId): void => void shard.inFlight.set(id, tasks.run(shard, id))
      while (!isEnding(lease)) await workWithRetry(ports, retried, () => beginDue(dueIn, shard, begin))
      shards.delete(lease.name)
      waits.delete(ofAccounts)
      await Promise.all([resuming, ...shard.inFlight.values()])
    },
  }
}

/** The account that may send again by the event; whether it does so is looked up. */
const maySendBy = ({ type, stream }: RecordedEvent): AccountId | undefined =>
  type === 'AccountEnabled' || type === 'SegmentLimitSet' ? (idIn(account, stream) as AccountId | undefined) : undefined
