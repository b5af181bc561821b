import { aborted } from '../../domain/abortable.js'
import { beginning, type Position } from '../../domain/event.js'
import type { RecordedEvent } from '../../domain/events.js'
import { StatedFailure } from '../../domain/failure-reason.js'
import type { WebhookId } from '../../domain/ids.js'
import { sharedRun } from '../../domain/shared-run.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Follower } from '../subscriptions/follower.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'
import { isEnding, type Lease } from '../subscriptions/leases.js'
import { workWithRetry, type RetriedWorkPorts } from '../subscriptions/retries/retried-work.js'
import { arrivals } from './arrivals.js'
import { attemptWith, type AttemptPorts } from './attempts/attempt.js'
import { newDeliveries } from './attempts/new-deliveries.js'
import { deliveryWorkerName, setAsideWork, type SetAsideWork } from './attempts/set-aside.js'
import { reconcileBacklog } from './jobs/backlog.js'
import type { JobPorts } from './jobs/batch.js'
import { bulkResends } from './jobs/bulk-resend.js'
import { scheduledJob } from './jobs/scheduled-job.js'
import { leasedQueues, type LeasedQueues } from './queue/leased-queues.js'
import { scheduler } from './queue/scheduler.js'
import { webhookShards } from './webhook-shards.js'
import { waitingWebhooks } from './queue/waiting-webhooks.js'
import type { WebhookQueue } from './queue/webhook-queue.js'

type DeliveryWorker = {
  /** Learns from the log what there is to do, whichever process decided it. */
  readonly follower: Follower
  /** Posts what is due to the webhooks of one shard, until its lease is ending and what was in flight has ended. */
  readonly work: (lease: Lease) => Promise<void>
  /** Attempts that are in flight now. */
  readonly inFlight: () => number
}

type WorkerPorts = AttemptPorts &
  Omit<JobPorts, 'expect' | 'setAside'> & {
    readonly deliveriesFollower: Pick<LeasedFollower, 'position' | 'caughtUpTo'>
  }

/**
 * The half of the process manager of deliveries that sends: events in, requests to webhooks and commands out. The
 * fan-out is the half that makes deliveries due. What the log tells waits in `arrivals` until the read model shows it;
 * then the scheduler begins the attempts of the webhook's queue, and jobs reconcile its backlog and carry out its bulk
 * resends.
 */
export const deliveryWorker = (ports: WorkerPorts): DeliveryWorker => {
  const { store, deliveriesFollower } = ports
  let hasBegun = false
  const queues = leasedQueues()
  const shardHeads = shardHeadsOn(ports)
  const fresh = newDeliveries(shardHeads.isNew)
  const aside = setAsideWork({ ...ports, queues })
  const { expect, attemptsEnded, inFlight } = scheduler({
    ...ports,
    attempt: aside.settingAside(attemptWith(ports, fresh)),
  })
  const jobPorts = { ...ports, expect, setAside: aside.setAside }
  const { resends, lookForWork, tryAgain, jobsEnded } = jobsOf(jobPorts, ports, aside, queues.forget)

  const search = searchForWork(ports, { queues, resending: resends.webhooks, take: lookForWork })

  const arrived = arrivals({
    deliveriesFollower,
    queues,
    notify: {
      // One that became due before this process held the webhook may have been tried since: it is a retry by now.
      due: (queue) => expect(queue, 'retry'),
      resend: (queue) => expect(queue, 'resend'),
      jobs: lookForWork,
    },
  })

  const learn = (event: RecordedEvent): void => {
    for (const { learn } of [resends, fresh, arrived]) learn(event)
  }

  return {
    follower: {
      name: deliveryWorkerName,
      categories: ['webhook', 'delivery', 'resend', 'parked'],
      begin: async () => {
        // What became due up to here is found in the read models, what becomes due later is learnt from the log.
        const position = await deliveriesFollower.position()
        if (position === undefined) throw new StatedFailure('the read model of the deliveries does not answer')
        fresh.forget()
        shardHeads.followFrom(orThrow(await store.head()))
        const resendsShown = await resends.load()
        // Before that: a shard that comes meanwhile may come too late for it.
        hasBegun = true
        await search.inAll()
        return resendsShown < position ? resendsShown : position
      },
      handle: async ({ events }) => {
        // First, since it may fail: then the whole batch comes again.
        for (const event of events) await tryAgain(event)
        events.forEach(learn)
        arrived.notifyWhenCaughtUp()
      },
      // There is nothing to learn from it; whoever makes deliveries due has parked it.
      skip: () => Promise.resolve(),
      end: () => {
        arrived.stop()
        return Promise.resolve()
      },
    },
    work: async (lease) => {
      queues.hold(lease)
      void shardHeads.begin(lease)
      if (hasBegun) void search.takeOver(lease, arrived.shown)
      await aborted(lease.ending)
      shardHeads.end(lease)
      fresh.forget()
      await Promise.all(queues.release(lease).flatMap((queue) => [attemptsEnded(queue), jobsEnded(queue)]))
    },
    inFlight,
  }
}

/** The longer work of the queues; what it can't do is set aside. */
const jobsOf = (
  jobPorts: JobPorts,
  ports: RetriedWorkPorts,
  aside: SetAsideWork,
  forgetQueue: LeasedQueues['forget'],
) => {
  const { expect } = jobPorts
  const resends = bulkResends(jobPorts)
  // A bulk resend waits for what goes through the queue.
  const forget = (queue: WebhookQueue): void => {
    if (!resends.areRunning(queue.webhookId)) forgetQueue(queue)
  }
  const reconcile = aside.recordingRetries(reconcileBacklog({ ...jobPorts, forget }))
  const reconciling = scheduledJob({ name: 'reconciling a backlog', work: reconcile }, ports)
  const carryOut = aside.settingAsideJob(resends.carryOut)
  const carryOutAndReconcile = async (queue: WebhookQueue): Promise<void> => {
    await carryOut(queue)
    // The webhook may have been removed meanwhile, and was not forgotten then.
    reconciling.run(queue)
  }
  const resending = scheduledJob({ name: 'a bulk resend', work: carryOutAndReconcile }, ports)

  /** Looks for all that may be due to the webhook, or was left undone by this process or another. */
  const lookForWork = (queue: WebhookQueue): void => {
    expect(queue, 'resend')
    expect(queue, 'retry')
    reconciling.run(queue)
    if (resends.areRunning(queue.webhookId)) resending.run(queue)
  }

  return {
    resends,
    lookForWork,
    /** Has what was set aside tried again where the event asks for it. */
    tryAgain: async (event: RecordedEvent): Promise<void> => {
      const queue = await aside.release(event)
      if (queue === undefined) return
      // It may wait for any of these: a resend must be looked for as a resend.
      expect(queue, 'caught-up')
      lookForWork(queue)
    },
    jobsEnded: (queue: WebhookQueue) => Promise.all([reconciling.ended(queue), resending.ended(queue)]),
  }
}

/**
 * Where the log stood when this process had begun to hold a shard. Another process may have tried what became due
 * before. Until the position is known, nothing counts as new.
 */
const shardHeadsOn = (ports: Pick<WorkerPorts, 'store'> & RetriedWorkPorts) => {
  const heads = new Map<string, Position>()
  let begunAt = beginning
  /** Shards that are acquired together share one read. */
  const headNow = sharedRun(ports.store.head)
  return {
    begin: async (lease: Lease): Promise<void> => {
      const message = 'the head of the log could not be read for a shard'
      const retried = { lease, name: `the head for ${lease.name}`, message, fields: { shard: lease.name } }
      await workWithRetry(ports, retried, async () => {
        const head = orThrow(await headNow())
        if (!isEnding(lease)) heads.set(lease.name, head)
      })
    },
    end: ({ name }: Lease): void => void heads.delete(name),
    /** The log is followed from here again: what became due before may have been tried already. */
    followFrom: (position: Position): void => void (begunAt = position),
    isNew: (webhookId: WebhookId, position: Position): boolean => {
      const head = heads.get(webhookShards.of(webhookId))
      return head !== undefined && position > head && position > begunAt
    },
  }
}

type Searched = {
  readonly queues: Pick<LeasedQueues, 'of'>
  /** The webhooks of bulk resends that run. */
  readonly resending: () => ReadonlyArray<WebhookId>
  readonly take: (queue: WebhookQueue) => void
}

/**
 * Takes the queues of the webhooks that have something to do, as far as this process holds them: all, or those of a
 * shard.
 */
const searchForWork = (ports: WorkerPorts, { queues, resending, take }: Searched) => {
  const waiting = waitingWebhooks(ports.documents)

  const inAll = async (lease?: Lease): Promise<void> => {
    for (const webhookId of new Set([...(await waiting()), ...resending()])) {
      const queue = queues.of(webhookId)
      if (queue !== undefined && (lease === undefined || queue.lease === lease)) take(queue)
    }
  }
  const inShard = (lease: Lease): Promise<void> => {
    const { name } = lease
    const retried = { lease, name, message: 'the webhooks of a shard could not be read', fields: { shard: name } }
    return workWithRetry(ports, retried, () => inAll(lease))
  }
  const takeOver = async (lease: Lease, shown: (signal: AbortSignal) => Promise<void>): Promise<void> => {
    await inShard(lease)
    // What came while another process held the shard may not be shown yet.
    await shown(lease.ending)
    await inShard(lease)
  }
  return { inAll, takeOver }
}
