import type { DeliveryCommand } from '../../../domain/delivery.js'
import { later } from '../../../domain/instant.js'
import { orThrow } from '../../../domain/store-failed.js'
import { isLate, webhook, type WebhookState } from '../../../domain/webhook.js'
import { deliveries, queueOf, type DeliveryDocument } from '../../read-models/deliveries.js'
import { isOver } from '../../subscriptions/leases.js'
import type { Cursor } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { batch, changed, type ChorePorts } from './job.js'
import type { Lane } from '../queue/webhook-queue.js'

/**
 * Deliveries in a second at most: 100,000 are caught up with in about half an hour. What is only written goes faster, and
 * leaves the store to others all the same.
 */
const perSecond = { caughtUp: 50, written: 1_000 }

/**
 * Brings what a webhook has not got in line with its being on, off or gone, until nothing is left to do: of one that is off,
 * what is due is held; of one that was turned on, what was held before is caught up with, or skipped, as whoever turned it on
 * chose. Each step is recorded by the delivery it concerns, so whatever was interrupted goes on where it was.
 */
export const settleBacklog = async (ports: ChorePorts, lane: Lane, look: (lane: Lane) => void): Promise<void> => {
  const { documents, commandHandler, clock, backoff } = ports
  const collection = collectionOf(deliveries)

  const execute = async (
    all: ReadonlyArray<DeliveryDocument>,
    commandFor: (index: number) => DeliveryCommand,
  ): Promise<void> => {
    const isChanged = await changed(ports, lane, all, commandFor)
    // The read model does not show yet what is so already.
    if (!isChanged && all.length > 0) await backoff(0, lane.lease.lost)
  }

  const breathe = async (count: number, rate: number): Promise<void> =>
    clock.sleepUntil(later(clock.now(), (count * 1_000) / rate), lane.lease.lost)

  const dueOf = async (limit: number): Promise<ReadonlyArray<DeliveryDocument>> => {
    const found: Array<DeliveryDocument> = []
    for (const kind of ['first', 'retry', 'caught-up'] as const) {
      const query = { index: 'due', equals: [queueOf(lane.webhookId, kind)], limit }
      found.push(
        ...orThrow(await documents.find(collection, query)).map(({ document }) => document as DeliveryDocument),
      )
    }
    return found
  }

  /** In the order in which they are caught up with. */
  const backlogAfter = async (after: Cursor | undefined): Promise<ReadonlyArray<DeliveryDocument>> => {
    const query = {
      index: 'backlog',
      equals: [lane.webhookId],
      limit: batch,
      ...(after === undefined ? {} : { after }),
    }
    return orThrow(await documents.find(collection, query)).map(({ document }) => document as DeliveryDocument)
  }

  const holdAll = async (command: DeliveryCommand): Promise<void> => {
    for (;;) {
      const all = await dueOf(batch)
      if (all.length > 0) await execute(all, () => command)
      // What is tried in this moment may be due again afterwards.
      else if (lane.taken.size > 0) await backoff(0, lane.lease.lost)
      else return
      if (isOver(lane.lease) || (await receiverNow()).kind === 'on') return
      if (all.length >= batch) await breathe(all.length, perSecond.written)
    }
  }

  const receiverNow = async (): Promise<WebhookState> =>
    orThrow(await commandHandler.load(webhook, lane.webhookId)).state

  const abandonBacklog = async (): Promise<void> => {
    while (!isOver(lane.lease)) {
      const all = await backlogAfter(undefined)
      await execute(all, () => ({ type: 'AbandonDelivery' }))
      if (all.length < batch) return
      await breathe(all.length, perSecond.written)
    }
  }

  const takeUp = async (): Promise<void> => {
    let after: Cursor | undefined
    while (!isOver(lane.lease)) {
      const receiver = await receiverNow()
      if (receiver.kind !== 'on' || receiver.turnedOn === undefined) return
      const page = await backlogAfter(after)
      const all = page.filter(({ backlog_version }) => isLate(backlog_version, receiver))
      const { catchUp, by } = receiver.turnedOn
      if (catchUp) {
        await roomInLane()
        const now = clock.now()
        // A millisecond apart, and none in the time to come: what is due at one time has no order.
        await execute(all, (index) => ({ type: 'ResumeDelivery', dueAt: later(now, index - all.length) }))
        lane.rare.add('caught-up')
        look(lane)
      } else await execute(all, () => ({ type: 'SkipDelivery', by }))
      const last = page.at(-1)
      if (last === undefined || page.length < batch) return
      after = { key: last.id, value: last.backlog_order ?? '' }
      await breathe(all.length, catchUp ? perSecond.caughtUp : perSecond.written)
    }
  }

  /** Until those that were caught up with before have been posted. */
  const roomInLane = async (): Promise<void> => {
    const part = { index: 'due', equals: [queueOf(lane.webhookId, 'caught-up')] }
    while (!isOver(lane.lease) && orThrow(await documents.count(collection, part)) >= batch)
      await backoff(0, lane.lease.lost)
  }

  if (isOver(lane.lease)) return
  const receiver = await receiverNow()
  if (receiver.kind === 'on') return takeUp()
  if (receiver.kind === 'off') return holdAll({ type: 'HoldDelivery', webhookVersion: receiver.version })
  if (receiver.kind === 'removed') {
    await holdAll({ type: 'AbandonDelivery' })
    await abandonBacklog()
  }
}
