import type { DeliveryCommand } from '../../../domain/delivery.js'
import { later } from '../../../domain/instant.js'
import { isOlderThanTurningOn, webhook, type WebhookState } from '../../../domain/webhook.js'
import { findNotSetAside } from '../../parking/not-set-aside.js'
import { cursorOf } from '../../pages.js'
import type { Cursor } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { deliveries, queueOf, queueParts, type DeliveryDocument } from '../../read-models/deliveries.js'
import { isEnding } from '../../subscriptions/leases.js'
import { loadOrThrow } from '../../subscriptions/retries/failed-for-good.js'
import { notSetAside } from '../queue/due.js'
import type { WebhookQueue } from '../queue/webhook-queue.js'
import { batchSize, executeOnBatch, type JobPorts } from './batch.js'

/**
 * Deliveries in a second at most: 100,000 are caught up with in about half an hour. Where nothing is posted it goes
 * faster, but leaves the store to others all the same.
 */
const perSecond = { caughtUp: 50, recorded: 1_000 }

type Batch = ReadonlyArray<DeliveryDocument>

type BacklogPorts = JobPorts & {
  /** Nothing is left to do for the webhook, which was removed. */
  readonly forget: (queue: WebhookQueue) => void
}

const collection = collectionOf(deliveries)

/**
 * Brings what a webhook has not received in line with its state, until nothing is left to do. While it is off, what is
 * due is held. After it was turned on, what was held or had failed before is caught up with or skipped, as whoever
 * turned it on chose. After it was removed, all is abandoned. Each step is recorded by the delivery that it concerns,
 * so a job that was interrupted begins anew and does nothing twice.
 * @throws where a store fails, and FailedForGood where the webhook can't be read
 */
export const reconcileBacklog =
  (ports: BacklogPorts) =>
  async (queue: WebhookQueue): Promise<void> => {
    if (isEnding(queue.lease)) return
    const receiver = await receiverNow(ports, queue)
    switch (receiver.kind) {
      case 'on':
        return catchUpOrSkip(ports, queue, receiver)
      case 'off':
        return clearQueue(ports, queue, { type: 'HoldDelivery', webhookVersion: receiver.version })
      case 'removed':
        await clearQueue(ports, queue, { type: 'AbandonDelivery' })
        await abandonBacklog(ports, queue)
        return forgetOnceFilled(ports, queue)
      case 'unknown':
        return
    }
  }

/** Gives the command to all that is due, until nothing is or the webhook was turned on. */
const clearQueue = async (ports: JobPorts, queue: WebhookQueue, command: DeliveryCommand): Promise<void> => {
  const { lease, reserved, inFlight } = queue
  // What is in flight may arrive. An outcome is recorded of what is held, and not of what is abandoned: that waits, and
  // stays due if it fails.
  const isClearable = ({ id }: DeliveryDocument): boolean => command.type === 'HoldDelivery' || !inFlight.has(id)
  let looks = 0
  for (;;) {
    const batch = (await dueNow(ports, queue)).filter(isClearable)
    if (batch.length > 0) {
      looks = 0
      await execute(ports, queue, batch, () => command)
    } else if (reserved.size > 0) {
      // An attempt that is in flight may leave its delivery due.
      await ports.backoff(looks, lease.ending)
      looks += 1
    } else return
    if (isEnding(lease) || (await receiverNow(ports, queue)).kind === 'on') return
    if (batch.length >= batchSize) await throttle(ports, queue, batch.length, perSecond.recorded)
  }
}

const abandonBacklog = async (ports: JobPorts, queue: WebhookQueue): Promise<void> => {
  while (!isEnding(queue.lease)) {
    const batch = await backlogAfter(ports, queue, undefined)
    await execute(ports, queue, batch, () => ({ type: 'AbandonDelivery' }))
    if (batch.length < batchSize) return
    await throttle(ports, queue, batch.length, perSecond.recorded)
  }
}

/** Whoever looked for what is due looked before it was abandoned, and may be at it still. */
const forgetOnceFilled = async ({ backoff, forget }: BacklogPorts, queue: WebhookQueue): Promise<void> => {
  const { ending } = queue.lease
  for (let looks = 0; queue.isFilling && !ending.aborted; looks += 1) await backoff(looks, ending)
  if (!ending.aborted) forget(queue)
}

/** Catches up with what waited when the webhook was turned on, or skips it, for as long as the webhook is on. */
const catchUpOrSkip = async (ports: JobPorts, queue: WebhookQueue, shown: WebhookState): Promise<void> => {
  let newest = shown
  let after: Cursor | undefined
  while (!isEnding(queue.lease)) {
    const receiver = newest
    if (receiver.kind !== 'on' || receiver.turnedOn === undefined) return
    const page = await backlogAfter(ports, queue, after)
    const batch = page.filter(({ backlog_version }) => isOlderThanTurningOn(backlog_version, receiver))
    const { catchUp, by } = receiver.turnedOn
    if (catchUp) await resume(ports, queue, batch)
    else await execute(ports, queue, batch, () => ({ type: 'SkipDelivery', by }))
    const last = page.at(-1)
    if (last === undefined || page.length < batchSize) return
    after = cursorOf(collection, 'backlog', { key: last.id, document: last })
    await throttle(ports, queue, batch.length, catchUp ? perSecond.caughtUp : perSecond.recorded)
    newest = await receiverNow(ports, queue)
  }
}

const resume = async (ports: JobPorts, queue: WebhookQueue, batch: Batch): Promise<void> => {
  await roomInQueue(ports, queue)
  const now = ports.clock.now()
  // A millisecond apart, since what is due at the same time has no order; in the past, so that all of them are due now.
  const resumeAt = (index: number) => ({ type: 'ResumeDelivery', dueAt: later(now, index - batch.length) }) as const
  try {
    await execute(ports, queue, batch, resumeAt)
  } finally {
    // Where it failed at some of them the others wait all the same, and what comes next waits for these.
    ports.expect(queue, 'caught-up')
  }
}

/** Until most of those that were caught up with before have been posted. */
const roomInQueue = async (ports: JobPorts, queue: WebhookQueue): Promise<void> => {
  const { webhookId, lease } = queue
  const waiting = () => notSetAside(ports, queue, 'due', queueOf(webhookId, 'caught-up'), batchSize)
  while (!isEnding(lease) && (await waiting()).length >= batchSize) await ports.backoff(0, lease.ending)
}

const execute = async (
  ports: JobPorts,
  queue: WebhookQueue,
  batch: Batch,
  commandFor: (index: number) => DeliveryCommand,
): Promise<void> => {
  const isChanged = await executeOnBatch(ports, queue, batch, commandFor)
  // The read model does not show yet what became of them before.
  if (!isChanged && batch.length > 0) await ports.backoff(0, queue.lease.ending)
}

/** Waits as long as `count` deliveries take at `rate` in a second. */
const throttle = ({ clock }: JobPorts, { lease }: WebhookQueue, count: number, rate: number): Promise<void> =>
  clock.sleepUntil(later(clock.now(), (count * 1_000) / rate), lease.ending)

const receiverNow = async ({ commandHandler }: JobPorts, { webhookId }: WebhookQueue): Promise<WebhookState> =>
  (await loadOrThrow(commandHandler, webhook, webhookId)).state

/** What waits for an attempt of the schedule and is not set aside, a batch of each part of the queue. */
const dueNow = async (ports: JobPorts, queue: WebhookQueue): Promise<Batch> => {
  const due: Array<DeliveryDocument> = []
  for (const part of queueParts)
    due.push(...(await notSetAside(ports, queue, 'due', queueOf(queue.webhookId, part), batchSize)))
  return due
}

/**
 * A batch of what waits for the webhook to be turned on and is not set aside, in the order in which it is caught up
 * with.
 */
const backlogAfter = async (
  ports: JobPorts,
  { webhookId, setAside }: WebhookQueue,
  after: Cursor | undefined,
): Promise<Batch> => {
  const from = after === undefined ? {} : { after }
  const query = { index: 'backlog', equals: [webhookId], limit: batchSize, ...from }
  return (await findNotSetAside(ports, collection, query, setAside)).map(({ document }) => document as DeliveryDocument)
}
