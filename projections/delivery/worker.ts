import { beginning } from '../../domain/event.js'
import type { DeliveryId, ResendId, WebhookId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { orThrow } from '../../domain/store-failed.js'
import { aborted } from '../../domain/abortable.js'
import { deliveries, queueOf, type DeliveryDocument } from '../read-models/deliveries.js'
import type { Follower } from '../subscriptions/follower.js'
import { isOver, type Lease } from '../subscriptions/leases.js'
import { collectionOf, type ProjectedEvent } from '../projection.js'
import { reasonOf } from '../subscriptions/failure-reason.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'
import { attempts, type AttemptPorts, type Ended } from './attempts.js'
import { settleBacklog } from './jobs/backlog.js'
import type { ChorePorts } from './jobs/job.js'
import { laneTo, type AttemptKind, type Lane } from './queue/webhook-queue.js'
import { carryOutResend } from './jobs/bulk-resend.js'
import { shardOf } from './shards.js'
import { slots } from './queue/slots.js'

export type DeliveryWorker = {
  /** Learns what becomes due, in whichever process that was decided. */
  readonly follower: Follower
  /** Posts what is due to the webhooks of one share, until its lease is lost and what was under way has ended. */
  readonly work: (lease: Lease) => Promise<void>
  /** Requests that are open now. */
  readonly open: () => number
}

export type WorkerPorts = AttemptPorts & ChorePorts & { readonly projected: Pick<LeasedFollower, 'position'> }

type Found = { readonly found: ReadonlyArray<DeliveryDocument>; readonly isMore: boolean }

/** First attempts that one look reads ahead: a busy lane is not asked for each of them. */
const readAhead = 64

/** Posts what is due to each webhook, at its pace and in the order of `attemptKinds`, and holds, catches up and resends. */
export const deliveryWorker = (ports: WorkerPorts): DeliveryWorker => {
  const { store, documents, clock, logger, projected, backoff } = ports
  const collection = collectionOf(deliveries)
  const { scheduled, resent } = attempts(ports)
  const webhooks = new Set<WebhookId>()
  /** Resends that were not at their end when they were seen last. */
  const resends = new Map<ResendId, WebhookId>()
  const leases = new Map<string, Lease>()
  const lanes = new Map<WebhookId, Lane>()
  const free = slots()

  /** Undefined while another process posts to the webhook. */
  const laneFor = (webhookId: WebhookId): Lane | undefined => {
    const known = lanes.get(webhookId)
    if (known !== undefined) return known
    const lease = leases.get(shardOf(webhookId))
    if (lease === undefined) return undefined
    const lane = laneTo(webhookId, lease)
    lanes.set(webhookId, lane)
    return lane
  }

  /** Those that are not taken, up to `limit`. */
  const find = async (lane: Lane, index: 'due' | 'resends', equals: string, limit: number): Promise<Found> => {
    const query = { index, equals: [equals], limit: limit + lane.taken.size }
    const shown = orThrow(await documents.find(collection, query)).map(({ document }) => document as DeliveryDocument)
    const found = shown.filter(({ id }) => !lane.taken.has(id)).slice(0, limit)
    return { found, isMore: found.length >= limit || found.length < shown.length }
  }

  const beginRare = async (lane: Lane, kind: 'resend' | 'caught-up'): Promise<void> => {
    const limit = free.freeFor(lane)
    if (limit <= 0 || !lane.rare.delete(kind)) return
    const { webhookId } = lane
    try {
      const { found, isMore } = await (kind === 'resend'
        ? find(lane, 'resends', webhookId, limit)
        : find(lane, 'due', queueOf(webhookId, kind), limit))
      if (isMore) lane.rare.add(kind)
      for (const { id } of found) begin(lane, id, kind)
    } catch (error) {
      lane.rare.add(kind)
      throw error
    }
  }

  /** Begins the retries that are due, and gives the time of the next one. */
  const beginRetries = async (lane: Lane): Promise<Instant | undefined> => {
    const limit = free.freeFor(lane)
    if (limit <= 0) return undefined
    const now = clock.now()
    const { found } = await find(lane, 'due', queueOf(lane.webhookId, 'retry'), limit + 1)
    for (const { id, next_attempt_at } of found) {
      if (next_attempt_at === undefined || next_attempt_at > now) return next_attempt_at
      if (free.freeFor(lane) <= 0) return undefined
      begin(lane, id, 'retry')
    }
    return undefined
  }

  /** False while first attempts wait, which go before all others. */
  const beginFirst = async (lane: Lane): Promise<boolean> => {
    if (free.freeFor(lane) <= 0) return false
    if (lane.ahead.length === 0) {
      const { found } = await find(lane, 'due', queueOf(lane.webhookId, 'first'), readAhead)
      for (const { id } of found) {
        lane.taken.add(id)
        lane.ahead.push(id)
      }
    }
    for (const id of lane.ahead.splice(0, Math.max(free.freeFor(lane), 0))) begin(lane, id, 'first')
    return lane.ahead.length === 0
  }

  const fill = async (lane: Lane): Promise<void> => {
    let next: Instant | undefined
    if (await beginFirst(lane)) {
      await beginRare(lane, 'resend')
      next = await beginRetries(lane)
      await beginRare(lane, 'caught-up')
    }
    // It may have ended while this looked: an alarm that is set now is nobody's to stop.
    if (isOver(lane.lease)) return
    // The end of one that is open wakes it.
    if (lane.open.size >= lane.pace.allowed) return
    if (free.freeFor(lane) <= 0) free.wait(lane)
    else if (next !== undefined) wakeAt(lane, next)
  }

  const lookAt = (ids: Iterable<WebhookId>): void => {
    for (const webhookId of ids) {
      const lane = laneFor(webhookId)
      if (lane !== undefined) look(lane)
    }
  }

  /** Looks at a lane, one look at a time. */
  const look = (lane: Lane): void => {
    if (isOver(lane.lease)) {
      free.looked(lane)
      return
    }
    if (lane.filling) {
      lane.again = true
      return
    }
    lane.filling = true
    lane.again = false
    fill(lane)
      .catch(async (error: unknown) => {
        const reason = reasonOf(error)
        logger.warn({ webhook: lane.webhookId, reason }, 'due deliveries could not be read')
        lane.again = true
        await backoff(0, lane.lease.lost)
      })
      .finally(() => {
        lane.filling = false
        if (lane.again) {
          look(lane)
          return
        }
        free.looked(lane)
        free.wake(look)
      })
  }

  const wakeAt = (lane: Lane, instant: Instant): void => {
    lane.alarm?.abort()
    const alarm = new AbortController()
    lane.alarm = alarm
    void clock.sleepUntil(instant, alarm.signal).then(() => {
      if (!alarm.signal.aborted) look(lane)
    })
  }

  const begin = (lane: Lane, id: DeliveryId, kind: AttemptKind): void => {
    if (isOver(lane.lease)) return
    const leave = free.take(lane)
    lane.taken.add(id)
    const attempt = (kind === 'resend' ? resent(lane, id) : scheduled(lane, id))
      .catch((error: unknown) => {
        const reason = reasonOf(error)
        logger.error({ delivery: id, reason }, 'an attempt could not be recorded')
        return { position: undefined, comesAgain: true }
      })
      .then((ended: Ended) => {
        leave()
        lane.open.delete(id)
        void forget(lane, id, kind, ended)
        look(lane)
        free.wake(look)
      })
    lane.open.set(id, attempt)
  }

  /** Once the read model shows how the attempt ended, it can be trusted again about this delivery. */
  const forget = async (lane: Lane, id: DeliveryId, kind: AttemptKind, ended: Ended): Promise<void> => {
    if (ended.position === undefined) await backoff(0, lane.lease.lost)
    else await projected.caughtUpTo(ended.position, lane.lease.lost)
    lane.taken.delete(id)
    if (ended.comesAgain && (kind === 'resend' || kind === 'caught-up')) lane.rare.add(kind)
    // It may have been passed over meanwhile, where somebody wanted it once more or it was caught up with.
    if (ended.comesAgain || lane.rare.size > 0) look(lane)
  }

  /** Goes on with work that concerns a lane, however often a store fails, and once more where it was asked for meanwhile. */
  const insist = (what: string, work: (lane: Lane) => Promise<void>): ((lane: Lane) => void) => {
    const working = new WeakMap<Lane, { again: boolean }>()
    const run = async (lane: Lane): Promise<void> => {
      const mine = { again: true }
      working.set(lane, mine)
      while (mine.again && !isOver(lane.lease)) {
        mine.again = false
        try {
          await work(lane)
        } catch (error) {
          const reason = reasonOf(error)
          logger.warn({ webhook: lane.webhookId, reason }, `${what} goes on after a pause`)
          mine.again = true
          await backoff(0, lane.lease.lost)
        }
      }
      working.delete(lane)
    }
    return (lane) => {
      const already = working.get(lane)
      if (already !== undefined) {
        already.again = true
        return
      }
      const done = run(lane).finally(() => lane.chores.delete(done))
      lane.chores.add(done)
    }
  }

  const settle = insist('a backlog', (lane) => settleBacklog(ports, lane, look))

  const resendAll = insist('a resend', async (lane) => {
    for (const [id, webhookId] of resends) {
      if (webhookId !== lane.webhookId) continue
      await carryOutResend(ports, lane, id, look)
      if (!isOver(lane.lease)) resends.delete(id)
    }
  })

  /** All that may be due to these webhooks, or was not at its end when this process, or another, left it. */
  const takeUp = (ids: Iterable<WebhookId>): void => {
    for (const webhookId of ids) {
      const lane = laneFor(webhookId)
      if (lane === undefined) continue
      look(lane)
      settle(lane)
      if (new Set(resends.values()).has(webhookId)) resendAll(lane)
    }
  }

  /** What became due, is asked for or is to be settled, and may not stand in the read model yet. */
  const arriving = {
    due: new Set<WebhookId>(),
    asked: new Set<WebhookId>(),
    unsettled: new Set<WebhookId>(),
    position: beginning,
    isAwaited: false,
    ending: new AbortController(),
  }

  const awaitDue = async (): Promise<void> => {
    if (arriving.isAwaited) return
    arriving.isAwaited = true
    while (arriving.due.size + arriving.asked.size + arriving.unsettled.size > 0) {
      const due = [...arriving.due]
      const asked = [...arriving.asked]
      const unsettled = [...arriving.unsettled]
      arriving.due.clear()
      arriving.asked.clear()
      arriving.unsettled.clear()
      await projected.caughtUpTo(arriving.position, arriving.ending.signal)
      lookAt(due)
      for (const webhookId of asked) laneFor(webhookId)?.rare.add('resend')
      lookAt(asked)
      takeUp(unsettled)
    }
    arriving.isAwaited = false
  }

  const learn = (event: ProjectedEvent): void => {
    const arrives = (where: Set<WebhookId>, webhookId: WebhookId): void => {
      arriving.position = event.position
      if (leases.has(shardOf(webhookId))) where.add(webhookId)
    }
    switch (event.type) {
      case 'WebhookAdded':
        webhooks.add(event.data.webhook_id)
        return
      case 'WebhookTurnedOff':
      case 'WebhookTurnedOn':
      case 'WebhookRemoved':
        arrives(arriving.unsettled, event.stream.slice('webhook-'.length) as WebhookId)
        return
      case 'DeliveryDue':
        arrives(arriving.due, event.data.webhook_id)
        return
      case 'DeliveryHeld':
        if (event.data.webhook_id !== undefined) arrives(arriving.unsettled, event.data.webhook_id)
        return
      case 'DeliveryAbandoned':
        arrives(arriving.unsettled, event.data.webhook_id)
        return
      case 'DeliveryResendRequested':
        arrives(arriving.asked, event.data.webhook_id)
        return
      case 'ResendStarted':
        resends.set(event.data.resend_id, event.data.webhook_id)
        arrives(arriving.unsettled, event.data.webhook_id)
        return
      case 'ResendCancelled':
      case 'ResendCompleted':
        resends.delete(event.stream.slice('resend-'.length) as ResendId)
        return
      default:
    }
  }

  return {
    follower: {
      name: 'delivery_worker',
      categories: ['webhook', 'delivery', 'resend'],
      begin: async () => {
        // What lies before this is looked up in the read model, what lies behind it is seen here.
        const position = await projected.position()
        if (position === undefined) throw new Error('the read model of the deliveries does not answer')
        for await (const { events } of store.history(beginning, ['webhook', 'resend'])) events.forEach(learn)
        takeUp(webhooks)
        return position
      },
      handle: ({ events }) => {
        events.forEach(learn)
        void awaitDue()
        return Promise.resolve()
      },
      end: () => {
        arriving.ending.abort()
        return Promise.resolve()
      },
    },
    work: async (lease) => {
      leases.set(lease.name, lease)
      const mine = [...webhooks].filter((webhookId) => shardOf(webhookId) === lease.name)
      takeUp(mine)
      // What came while the share was another's may not be shown yet.
      for (const webhookId of mine) {
        arriving.asked.add(webhookId)
        arriving.unsettled.add(webhookId)
      }
      void awaitDue()
      await aborted(lease.lost)
      leases.delete(lease.name)
      const ending = [...lanes.values()].filter((lane) => lane.lease === lease)
      for (const { webhookId, alarm } of ending) {
        alarm?.abort()
        lanes.delete(webhookId)
      }
      await Promise.all(ending.flatMap(({ open, chores }) => [...open.values(), ...chores]))
    },
    open: free.open,
  }
}
