import { delivery, type DeliveryCommand } from '../../domain/delivery.js'
import { beginning, type Position } from '../../domain/event.js'
import type { DeliveryId, WebhookId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import type { Clock, Dispatch, EventStore, Ids, Logger, Vault } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { webhook } from '../../domain/webhook.js'
import { aborted } from '../aborted.js'
import { deliveries, laneOf, type DeliveryDocument } from '../deliveries.js'
import { orThrow } from '../../domain/store-failed.js'
import { fencedDispatch } from '../fenced.js'
import type { Follower } from '../follower.js'
import type { Claim } from '../leases.js'
import type { Documents } from '../ports.js'
import type { Shift } from '../shift.js'
import { collectionOf } from '../projection.js'
import { nextAttemptAt } from './schedule.js'
import { shareOf } from './shares.js'
import { signedRequest } from './signed-request.js'
import { unsealable, type WebhookResponse, type WebhookSender } from './sender.js'

export type DeliveryWorker = {
  /** Learns what becomes due, in whichever process that was decided. */
  readonly follower: Follower
  /** Posts what is due to the webhooks of one share, until its claim is lost and what was under way has ended. */
  readonly work: (claim: Claim) => Promise<void>
  /** Requests that are open now. */
  readonly open: () => number
}

export type WorkerPorts = {
  readonly store: EventStore
  readonly documents: Documents
  readonly dispatch: Dispatch
  readonly sender: WebhookSender
  readonly vault: Vault
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** In [0, 1): the jitter of a retry. */
  readonly random: () => number
  /** Keeps the `deliveries` read model. */
  readonly projected: Pick<Shift, 'position' | 'reached'>
  readonly pause: (signal: AbortSignal) => Promise<void>
  readonly observe: (response: WebhookResponse) => void
}

/** First attempts that one look reads ahead: a busy lane is not asked for each of them. */
const readAhead = 64

/** Requests that are open to one webhook at most, and in all. */
const openPerWebhook = 8
const openInAll = 256

/** One webhook's way out: a lane that stands still keeps no other waiting. */
type Lane = {
  readonly webhookId: WebhookId
  /** Under which this process, and no other, posts to the webhook. */
  readonly claim: Claim
  /** Deliveries whose request is open. */
  readonly open: Map<DeliveryId, Promise<void>>
  /** Deliveries that the read model still shows as due, although they wait here, are open, or were just tried. */
  readonly taken: Set<DeliveryId>
  /** First attempts that were read ahead, oldest first. */
  readonly ahead: Array<DeliveryId>
  filling: boolean
  /** Something changed while the lane was being filled. */
  again: boolean
  alarm: AbortController | undefined
}

/** What an attempt left in the log; `position` is undefined where there was nothing to record. */
type Ended = { readonly position: Position | undefined; readonly comesAgain: boolean }

/** Posts what is due and records how each attempt ended. At least once: a crash in between repeats the post. */
export const deliveryWorker = (ports: WorkerPorts): DeliveryWorker => {
  const { store, documents, dispatch, sender, clock, ids, logger, random, projected, pause, observe } = ports
  const collection = collectionOf(deliveries)
  const webhooks = new Set<WebhookId>()
  const claims = new Map<string, Claim>()
  const lanes = new Map<WebhookId, Lane>()
  const hungry = new Set<Lane>()
  let openNow = 0

  /** Undefined while another process posts to the webhook. */
  const laneFor = (webhookId: WebhookId): Lane | undefined => {
    const known = lanes.get(webhookId)
    if (known !== undefined) return known
    const claim = claims.get(shareOf(webhookId))
    if (claim === undefined) return undefined
    const lane: Lane = {
      webhookId,
      claim,
      open: new Map(),
      taken: new Set(),
      ahead: [],
      filling: false,
      again: false,
      alarm: undefined,
    }
    lanes.set(webhookId, lane)
    return lane
  }

  const due = async (lane: Lane, kind: 'first' | 'retry', limit: number): Promise<ReadonlyArray<DeliveryDocument>> => {
    const query = { index: 'due', equals: [laneOf(lane.webhookId, kind)], upTo: clock.now() }
    const found = orThrow(await documents.find(collection, { ...query, limit: limit + lane.taken.size }))
    return found
      .map(({ document }) => document as DeliveryDocument)
      .filter(({ id }) => !lane.taken.has(id))
      .slice(0, limit)
  }

  const nextRetry = async (lane: Lane): Promise<Instant | undefined> => {
    const query = { index: 'due', equals: [laneOf(lane.webhookId, 'retry')], limit: 1 + lane.taken.size }
    const found = orThrow(await documents.find(collection, query)).map(({ document }) => document as DeliveryDocument)
    return found.find(({ id }) => !lane.taken.has(id))?.next_attempt_at
  }

  const fill = async (lane: Lane): Promise<void> => {
    const free = (): number => Math.min(openPerWebhook - lane.open.size, openInAll - openNow)
    if (lane.ahead.length === 0 && free() > 0) {
      for (const { id } of await due(lane, 'first', readAhead)) {
        lane.taken.add(id)
        lane.ahead.push(id)
      }
    }
    for (const id of lane.ahead.splice(0, Math.max(free(), 0))) begin(lane, id)
    if (lane.ahead.length === 0 && free() > 0) {
      for (const { id } of await due(lane, 'retry', free())) begin(lane, id)
    }
    if (lane.open.size >= openPerWebhook) return
    if (openNow >= openInAll) {
      hungry.add(lane)
      return
    }
    const next = await nextRetry(lane)
    if (next !== undefined) wakeAt(lane, next)
  }

  const isOver = ({ claim }: Lane): boolean => claim.lost.aborted || !claim.isHeld()

  const lookAt = (ids: Iterable<WebhookId>): void => {
    for (const webhookId of ids) {
      const lane = laneFor(webhookId)
      if (lane !== undefined) look(lane)
    }
  }

  /** Looks at a lane, one look at a time. */
  const look = (lane: Lane): void => {
    if (isOver(lane)) return
    if (lane.filling) {
      lane.again = true
      return
    }
    lane.filling = true
    lane.again = false
    fill(lane)
      .catch(async (error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        logger.warn({ webhook: lane.webhookId, reason }, 'due deliveries could not be read')
        lane.again = true
        await pause(lane.claim.lost)
      })
      .finally(() => {
        lane.filling = false
        if (lane.again) look(lane)
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

  const begin = (lane: Lane, id: DeliveryId): void => {
    if (isOver(lane)) return
    openNow += 1
    lane.taken.add(id)
    const attempt = tryOnce(lane, id)
      .catch((error: unknown) => {
        const reason = error instanceof Error ? error.message : String(error)
        logger.error({ delivery: id, reason }, 'an attempt could not be recorded')
        return { position: undefined, comesAgain: true }
      })
      .then((ended: Ended) => {
        openNow -= 1
        lane.open.delete(id)
        void forget(lane, id, ended)
        look(lane)
        for (const waiting of [...hungry]) {
          hungry.delete(waiting)
          look(waiting)
        }
      })
    lane.open.set(id, attempt)
  }

  /** Once the read model shows how the attempt ended, it can be trusted again about this delivery. */
  const forget = async (lane: Lane, id: DeliveryId, ended: Ended): Promise<void> => {
    if (ended.position === undefined) await pause(lane.claim.lost)
    else await projected.reached(ended.position, lane.claim.lost)
    lane.taken.delete(id)
    if (ended.comesAgain) look(lane)
  }

  const tryOnce = async (lane: Lane, id: DeliveryId): Promise<Ended> => {
    const state = orThrow(await dispatch.state(delivery, id))
    if (state.kind !== 'due') return { position: undefined, comesAgain: false }
    // The read model may not show yet what another process did before this one took over.
    if (state.dueAt > clock.now()) return { position: undefined, comesAgain: true }
    const receiver = orThrow(await dispatch.recent(webhook, lane.webhookId, ({ kind }) => kind === 'on'))
    // Reading takes its time, and by now the webhook may be another's to post to.
    if (isOver(lane)) return { position: undefined, comesAgain: true }
    if (receiver.kind === 'off') return record(lane, id, { type: 'HoldDelivery' })
    if (receiver.kind !== 'on') return record(lane, id, { type: 'AbandonDelivery' })
    const request = signedRequest(ports, receiver, id, state.facts.body)
    const response = E.isLeft(request) ? unsealable : await sender.send(request.right)
    observe(response)
    const attempt = state.attempts + 1
    const { delivered, status, reason, durationMs } = response
    return record(lane, id, {
      type: 'RecordAttempt',
      delivered,
      outcome: { attempt, status, reason, duration_ms: durationMs },
      nextAttemptAt: nextAttemptAt(attempt, clock.now(), random()),
    })
  }

  /**
   * The request is out, so its outcome is recorded however long the store takes. Once another process has taken over it is
   * not: that one posts again, and its outcome counts.
   */
  const record = async (lane: Lane, id: DeliveryId, command: DeliveryCommand): Promise<Ended> => {
    const event = ids.uuid()
    const { execute } = fencedDispatch(dispatch, lane.claim)
    const cause = { actor: 'delivery', event: 'last-of-stream', eventId: () => event } as const
    for (;;) {
      const done = await execute(delivery, id, command, cause)
      if (E.isRight(done)) {
        const last = done.right.events.at(-1)
        if (last?.type === 'DeliveryAbandoned' && last.data.why === 'retries-exhausted') {
          const { webhook_id, outcome } = last.data
          logger.warn({ webhook: webhook_id, delivery: id, reason: outcome?.reason }, 'a webhook is turned off')
        }
        return { position: last?.position, comesAgain: done.right.state.kind === 'due' }
      }
      const { kind } = done.left
      if (kind === 'delivery-not-found') return { position: undefined, comesAgain: false }
      logger.warn({ delivery: id, reason: kind }, 'an attempt waits to be recorded')
      if (isOver(lane)) throw new Error(`the store was ${kind}`)
      await pause(lane.claim.lost)
    }
  }

  /** What became due, and may not stand in the read model yet. */
  const arriving = {
    webhooks: new Set<WebhookId>(),
    position: beginning,
    isAwaited: false,
    ending: new AbortController(),
  }

  const awaitDue = async (): Promise<void> => {
    if (arriving.isAwaited) return
    arriving.isAwaited = true
    while (arriving.webhooks.size > 0) {
      const touched = [...arriving.webhooks]
      arriving.webhooks.clear()
      await projected.reached(arriving.position, arriving.ending.signal)
      lookAt(touched)
    }
    arriving.isAwaited = false
  }

  return {
    follower: {
      name: 'delivery_worker',
      categories: ['webhook', 'delivery'],
      begin: async () => {
        // What lies before this is looked up in the read model, what lies behind it is seen here.
        const position = await projected.position()
        if (position === undefined) throw new Error('the read model of the deliveries does not answer')
        for await (const { events } of store.history(beginning, ['webhook'])) {
          for (const event of events) if (event.type === 'WebhookAdded') webhooks.add(event.data.webhook_id)
        }
        lookAt(webhooks)
        return position
      },
      handle: ({ events }) => {
        for (const event of events) {
          if (event.type === 'WebhookAdded') webhooks.add(event.data.webhook_id)
          if (event.type !== 'DeliveryDue') continue
          arriving.position = event.position
          if (claims.has(shareOf(event.data.webhook_id))) arriving.webhooks.add(event.data.webhook_id)
        }
        void awaitDue()
        return Promise.resolve()
      },
      end: () => {
        arriving.ending.abort()
        return Promise.resolve()
      },
    },
    work: async (claim) => {
      claims.set(claim.name, claim)
      const mine = [...webhooks].filter((webhookId) => shareOf(webhookId) === claim.name)
      lookAt(mine)
      for (const webhookId of mine) arriving.webhooks.add(webhookId)
      void awaitDue()
      await aborted(claim.lost)
      claims.delete(claim.name)
      const ending = [...lanes.values()].filter((lane) => lane.claim === claim)
      for (const { webhookId, alarm } of ending) {
        alarm?.abort()
        lanes.delete(webhookId)
      }
      await Promise.all(ending.flatMap(({ open }) => [...open.values()]))
    },
    open: () => openNow,
  }
}
