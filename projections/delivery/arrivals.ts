import { beginning, type Position } from '../../domain/event.js'
import type { RecordedEvent } from '../../domain/events.js'
import type { WebhookId } from '../../domain/ids.js'
import { idIn } from '../../domain/stream-name.js'
import { webhook } from '../../domain/webhook.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'
import type { LeasedQueues } from './queue/leased-queues.js'
import type { WebhookQueue } from './queue/webhook-queue.js'

/**
 * What there may be to do for a webhook: `due`, a delivery became due; `resend`, a resend was requested; `jobs`, its
 * scheduled jobs have work: a backlog to be reconciled, or a bulk resend.
 */
const kinds = ['due', 'resend', 'jobs'] as const
type ArrivalKind = (typeof kinds)[number]

/**
 * Events about webhooks of this process that the read model may not show yet. A queue is notified once it does:
 * notified earlier it would find nothing, and nothing would make it look again.
 */
type Arrivals = {
  readonly learn: (event: RecordedEvent) => void
  /** Resolves once the read model shows all that was learnt, of whichever webhook, or `signal` aborts. */
  readonly shown: (signal: AbortSignal) => Promise<void>
  /** Notifies the queues of all that was learnt, once the read model has caught up with it. */
  readonly notifyWhenCaughtUp: () => void
  readonly stop: () => void
}

type ArrivalsPorts = {
  readonly deliveriesFollower: Pick<LeasedFollower, 'caughtUpTo'>
  readonly queues: Pick<LeasedQueues, 'of'>
  /** Called once for each queue, however many events there were of it. */
  readonly notify: { readonly [kind in ArrivalKind]: (queue: WebhookQueue) => void }
}

type Waiting = { readonly [kind in ArrivalKind]: Set<WebhookId> }

const nothing = (): Waiting => ({ due: new Set(), resend: new Set(), jobs: new Set() })

export const arrivals = ({ deliveriesFollower, queues, notify }: ArrivalsPorts): Arrivals => {
  const stopping = new AbortController()
  let waiting = nothing()
  /** Of the newest event that was learnt, whichever process it concerns. */
  let position: Position = beginning
  let isNotifying = false

  const learnOf = (kind: ArrivalKind, webhookId: WebhookId, event: RecordedEvent): void => {
    position = event.position
    if (queues.of(webhookId) !== undefined) waiting[kind].add(webhookId)
  }

  const notifyAll = async (): Promise<void> => {
    isNotifying = true
    while (kinds.some((kind) => waiting[kind].size > 0)) {
      const arrived = waiting
      waiting = nothing()
      await deliveriesFollower.caughtUpTo(position, stopping.signal)
      if (stopping.signal.aborted) return
      for (const kind of kinds) {
        for (const webhookId of arrived[kind]) {
          // Another process may have taken over meanwhile.
          const queue = queues.of(webhookId)
          if (queue !== undefined) notify[kind](queue)
        }
      }
    }
    isNotifying = false
  }
  return {
    learn: (event) => {
      switch (event.type) {
        case 'WebhookTurnedOff':
        case 'WebhookTurnedOn':
        case 'WebhookRemoved':
          learnOf('jobs', idIn(webhook, event.stream) as WebhookId, event)
          return
        case 'DeliveryDue':
          learnOf('due', event.data.webhook_id, event)
          return
        case 'DeliveryHeld':
          // Only old events do not name their webhook.
          if (event.data.webhook_id !== undefined) learnOf('jobs', event.data.webhook_id, event)
          return
        case 'DeliveryAbandoned':
        case 'ResendStarted':
          learnOf('jobs', event.data.webhook_id, event)
          return
        case 'DeliveryResendRequested':
          learnOf('resend', event.data.webhook_id, event)
          return
        default:
      }
    },
    shown: (signal) => deliveriesFollower.caughtUpTo(position, signal),
    notifyWhenCaughtUp: () => {
      if (!isNotifying) void notifyAll()
    },
    stop: () => stopping.abort(),
  }
}
