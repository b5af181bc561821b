import { aborted } from '../../domain/abortable.js'
import { beginning } from '../../domain/event.js'
import type { WebhookId } from '../../domain/ids.js'
import type { ProjectedEvent } from '../projection.js'
import { decodableHistory } from '../parking/decodable-history.js'
import type { Follower } from '../subscriptions/follower.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'
import type { Lease } from '../subscriptions/leases.js'
import { arrivals } from './arrivals.js'
import { attemptWith, type AttemptPorts } from './attempts/attempt.js'
import { newDeliveries } from './attempts/new-deliveries.js'
import { settleBacklog } from './jobs/backlog.js'
import type { JobPorts } from './jobs/batch.js'
import { bulkResends } from './jobs/bulk-resend.js'
import { scheduledJob } from './jobs/scheduled-job.js'
import { leasedQueues } from './queue/leased-queues.js'
import { scheduler } from './queue/scheduler.js'
import type { WebhookQueue } from './queue/webhook-queue.js'

type DeliveryWorker = {
  /** Learns from the log what there is to do, whichever process decided it. */
  readonly follower: Follower
  /** Posts what is due to the webhooks of one shard, until its lease is ending and what was in flight has ended. */
  readonly work: (lease: Lease) => Promise<void>
  /** Requests that are open now. */
  readonly open: () => number
}

type WorkerPorts = AttemptPorts &
  Omit<JobPorts, 'expect'> & {
    /** Runs the `deliveries` read model. */
    readonly projected: Pick<LeasedFollower, 'position' | 'caughtUpTo'>
  }

/**
 * The half of the process manager of deliveries that sends: events in, requests to webhooks and commands out. The fan-out is
 * the half that makes deliveries due. What the log tells waits in `arrivals` until the read model shows it; then the scheduler
 * begins the attempts of the webhook's queue, and jobs settle its backlog and carry out its bulk resends.
 */
export const deliveryWorker = (ports: WorkerPorts): DeliveryWorker => {
  const { store, projected } = ports
  const webhooks = new Set<WebhookId>()
  const queues = leasedQueues()
  const fresh = newDeliveries((webhookId) => queues.of(webhookId) !== undefined)
  const { expect, end, inFlight } = scheduler({ ...ports, attempt: attemptWith(ports, fresh) })
  const jobPorts: JobPorts = { ...ports, expect }
  const resends = bulkResends(jobPorts)
  const settling = scheduledJob({ name: 'settling a backlog', work: (queue) => settleBacklog(jobPorts, queue) }, ports)
  const resending = scheduledJob({ name: 'a bulk resend', work: resends.carryOut }, ports)

  /** Looks for all that may be due to the webhook, or was left undone by this process or another. */
  const lookForWork = (queue: WebhookQueue): void => {
    expect(queue, 'retry')
    settling.run(queue)
    if (resends.areRunning(queue.webhookId)) resending.run(queue)
  }

  const arrived = arrivals({
    projected,
    queues,
    notify: {
      // One that became due before this process held the webhook may have been tried since: it is a retry by now.
      due: (queue) => expect(queue, 'retry'),
      resend: (queue) => expect(queue, 'resend'),
      jobs: lookForWork,
    },
  })

  const learn = (event: ProjectedEvent): void => {
    if (event.type === 'WebhookAdded') webhooks.add(event.data.webhook_id)
    for (const { learn } of [resends, fresh, arrived]) learn(event)
  }

  return {
    follower: {
      name: 'delivery_worker',
      categories: ['webhook', 'delivery', 'resend'],
      begin: async (stopping) => {
        // What became due up to here is found in the read model, what becomes due later is learnt from the log.
        const position = await projected.position()
        if (position === undefined) throw new Error('the read model of the deliveries does not answer')
        const history = decodableHistory(store, beginning, ['webhook', 'resend'], stopping)
        for await (const { events } of history) events.forEach(learn)
        for (const queue of [...webhooks].map(queues.of)) if (queue !== undefined) lookForWork(queue)
        return position
      },
      handle: ({ events }) => {
        events.forEach(learn)
        arrived.notifyWhenCaughtUp()
        return Promise.resolve()
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
      for (const webhookId of webhooks) {
        const queue = queues.of(webhookId)
        if (queue?.lease !== lease) continue
        lookForWork(queue)
        // What came while another process held the shard may not be shown yet.
        arrived.add('resend', webhookId)
        arrived.add('jobs', webhookId)
      }
      arrived.notifyWhenCaughtUp()
      await aborted(lease.ending)
      fresh.forget()
      await Promise.all(
        queues.release(lease).flatMap((queue) => [end(queue), settling.ended(queue), resending.ended(queue)]),
      )
    },
    open: inFlight,
  }
}
