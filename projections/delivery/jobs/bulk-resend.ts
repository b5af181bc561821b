import { eitherOf } from '../../../domain/abortable.js'
import type { Position } from '../../../domain/event.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { ResendId, WebhookId } from '../../../domain/ids.js'
import { later } from '../../../domain/instant.js'
import { E } from '../../../domain/prelude.js'
import { resend, type ResendCommand } from '../../../domain/resend.js'
import { orThrow } from '../../../domain/store-failed.js'
import { idIn, streamOf } from '../../../domain/stream-name.js'
import { cursorOf, pagesOf } from '../../pages.js'
import type { Cursor } from '../../ports.js'
import { errorOf } from '../../parking/final-failure.js'
import { findNotSetAside } from '../../parking/not-set-aside.js'
import { collectionOf } from '../../projection.js'
import { deliveries, type DeliveryDocument } from '../../read-models/deliveries.js'
import { resends, type ResendDocument } from '../../read-models/resends.js'
import { guardedCommandHandler } from '../../subscriptions/lease-guard.js'
import { isEnding } from '../../subscriptions/leases.js'
import { FailedForGood, loadOrThrow } from '../../subscriptions/retries/failed-for-good.js'
import { notSetAside } from '../queue/due.js'
import type { WebhookQueue } from '../queue/webhook-queue.js'
import { batchSize, executeOnBatch, type JobPorts } from './batch.js'

/** Resends of all deliveries to a webhook that failed in a period. */
type BulkResends = {
  /** Begins with those that the read model shows, and resolves with the position up to which it shows all. */
  readonly load: () => Promise<Position>
  /** Notes which of them have begun and are not at their end. */
  readonly learn: (event: RecordedEvent) => void
  readonly areRunning: (webhookId: WebhookId) => boolean
  /** The webhooks that have any. */
  readonly webhooks: () => ReadonlyArray<WebhookId>
  /**
   * Carries out those of one webhook that are not set aside.
   * @throws where a store fails, and FailedForGood where one can't be read or never ends
   */
  readonly carryOut: (queue: WebhookQueue) => Promise<void>
}

export const bulkResends = (ports: JobPorts): BulkResends => {
  const running = new Map<ResendId, WebhookId>()

  return {
    load: async () => {
      const { position, documents } = await runningNow(ports)
      running.clear()
      for (const { id, webhook_id } of documents) running.set(id, webhook_id)
      return position
    },
    learn: (event) => {
      if (event.type === 'ResendStarted') running.set(event.data.resend_id, event.data.webhook_id)
      else if (event.type === 'ResendCancelled' || event.type === 'ResendCompleted')
        running.delete(idIn(resend, event.stream) as ResendId)
    },
    areRunning: (webhookId) => [...running.values()].includes(webhookId),
    webhooks: () => [...running.values()],
    carryOut: async (queue) => {
      for (const [id, webhookId] of running) {
        if (webhookId !== queue.webhookId || queue.setAside.has(id)) continue
        if (!(await carryOutResend(ports, queue, id))) return
        running.delete(id)
      }
    },
  }
}

/**
 * What the read model shows as running, and the position up to which it shows all; some of these may have ended since.
 */
const runningNow = async ({ documents }: JobPorts) => {
  const shown = collectionOf(resends)
  const position = orThrow(await documents.confirmedCheckpoint(shown))
  const running: Array<ResendDocument> = []
  const query = { index: 'by_state', equals: ['running'], limit: pageSize }
  for await (const page of pagesOf(documents, shown, query))
    running.push(...page.map(({ document }) => document as ResendDocument))
  return { position, documents: running }
}

const pageSize = 500

const collection = collectionOf(deliveries)

/**
 * Requests the resend of each failed delivery of the period that is not set aside, oldest first, and completes it when
 * all of them are posted. Each delivery knows the bulk resends that it was part of, so one that was interrupted begins
 * anew and repeats no delivery. False where it was: its lease ends, or its webhook is set aside.
 */
const carryOutResend = async (ports: JobPorts, queue: WebhookQueue, id: ResendId): Promise<boolean> => {
  const { store, commandHandler, deliveriesFollower } = ports
  const { webhookId, lease } = queue
  // Until the read model shows what failed, and what resends were requested, before this began.
  await deliveriesFollower.caughtUpTo(orThrow(await store.head()), lease.ending)
  let after: Cursor | undefined
  while (!isInterrupted(queue)) {
    const { state } = await loadOrThrow(commandHandler, resend, id)
    if (state.kind !== 'running') return true
    const from = after ?? { value: state.from, key: '' }
    const part = { index: 'by_state', equals: [webhookId, 'failed'], upTo: state.to }
    const query = { ...part, after: from, limit: batchSize }
    const page = await findNotSetAside(ports, collection, query, queue.setAside)
    await request(
      ports,
      queue,
      id,
      page.map(({ document }) => document as DeliveryDocument),
    )
    const last = page.at(-1)
    const isLast = last === undefined || page.length < batchSize
    await untilWaiting(ports, queue, isLast ? 0 : batchSize - 1)
    if (isInterrupted(queue)) return false
    if (isLast) {
      await complete(ports, queue, id)
      return true
    }
    after = cursorOf(collection, query.index, last)
  }
  return false
}

const isInterrupted = ({ lease, setAside, webhookId }: WebhookQueue): boolean =>
  isEnding(lease) || setAside.has(webhookId)

/** In milliseconds: what needs no attempt of this process any more, such as what was erased, wakes nobody. */
const longestUnseen = 60_000

/**
 * Waits until so many resends wait at most, or it is interrupted. It looks again where one was posted, and seldom where
 * none is.
 */
const untilWaiting = async (ports: JobPorts, queue: WebhookQueue, most: number): Promise<void> => {
  const { clock, backoff } = ports
  const { lease, resendEnded } = queue
  while (!isInterrupted(queue)) {
    const woken = resendEnded.signal()
    if ((await waitingResends(ports, queue)) <= most) return
    await backoff(0, lease.ending)
    const { signal, unlink } = eitherOf(woken, lease.ending)
    await clock.sleepUntil(later(clock.now(), longestUnseen), signal)
    unlink()
  }
}

const request = async (
  ports: JobPorts,
  queue: WebhookQueue,
  id: ResendId,
  batch: ReadonlyArray<DeliveryDocument>,
): Promise<void> => {
  const command = { type: 'RequestResend', resendId: id, dueAt: ports.clock.now() } as const
  try {
    await executeOnBatch(ports, queue, batch, () => command)
  } finally {
    // Some may have been requested by one that was interrupted, or although others failed: nobody would begin them.
    ports.expect(queue, 'resend')
  }
}

const waitingResends = async (ports: JobPorts, queue: WebhookQueue): Promise<number> =>
  (await notSetAside(ports, queue, 'resends', queue.webhookId, batchSize)).length

const complete = async ({ commandHandler, ids }: JobPorts, { lease }: WebhookQueue, id: ResendId): Promise<void> => {
  const command: ResendCommand = { type: 'CompleteResend' }
  const envelope = { actor: 'delivery', cause: 'last-of-stream', eventId: ids.uuid } as const
  const done = await guardedCommandHandler(commandHandler, lease).execute(resend, id, command, envelope)
  if (E.isRight(done)) return
  if (done.left.kind === 'corrupt') throw new FailedForGood(streamOf(resend, id), done.left)
  throw errorOf('a resend', done.left)
}
