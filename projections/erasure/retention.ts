import { delivery } from '../../domain/delivery.js'
import { streamOf } from '../../domain/decider.js'
import type { DeliveryId } from '../../domain/ids.js'
import { later, type Instant } from '../../domain/instant.js'
import type { Clock, EventStore, Ids, Logger } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Cursor, Documents } from '../ports.js'
import { collectionOf } from '../projection.js'
import { deliveries, type DeliveryDocument } from '../read-models/deliveries.js'
import { reasonOf } from '../subscriptions/failure-reason.js'
import { guardedCommandHandler } from '../subscriptions/lease-guard.js'
import type { Lease } from '../subscriptions/leases.js'
import { eraseDelivery, type DeliveryErasurePorts } from './erased-delivery.js'

type RetentionPorts = DeliveryErasurePorts & {
  readonly store: Pick<EventStore, 'purge'>
  readonly documents: Pick<Documents, 'find' | 'get'>
  readonly clock: Clock
  readonly ids: Pick<Ids, 'uuid'>
  readonly logger: Logger
}

export const retentionName = 'retention'

/** In milliseconds: between two looks for what has been kept for long enough. */
const pause = 60 * 60 * 1_000

/** Deliveries that are looked at together, and in a second at most: the store is left to others. */
const batchSize = 32
const perSecond = 500

/** Closing events that are looked at again: an interrupted batch, which may not have removed its bodies, is among the newest. */
const unfinished = 2 * batchSize

/** States in which nothing is posted any more by itself. */
const ended = ['succeeded', 'failed', 'skipped', 'abandoned'] as const

const collection = collectionOf(deliveries)

/** Removes the bodies of deliveries, and what receivers answered, that ended so many days ago, under a lease. */
export const retention = (ports: RetentionPorts, days: number) => ({
  run: async (lease: Lease): Promise<void> => {
    // An older process may have left some in the files.
    let isPurged = false
    while (!lease.ending.aborted) {
      const limit = later(ports.clock.now(), -days * 24 * 60 * 60 * 1_000)
      try {
        const erased = (await finish(ports, lease)) + (await sweep(ports, limit, lease))
        if (erased > 0) ports.logger.info({ erased, before: limit }, 'bodies of deliveries were removed')
        if (erased > 0 || !isPurged) isPurged = orThrow(await ports.store.purge())
      } catch (error) {
        ports.logger.warn({ reason: reasonOf(error) }, 'the bodies of deliveries could not all be removed')
      }
      await ports.clock.sleepUntil(later(ports.clock.now(), pause), lease.ending)
    }
  },
})

/**
 * Erases the deliveries that ended before `limit`, and says how many.
 * @throws StoreFailed
 */
const sweep = async (ports: RetentionPorts, limit: Instant, lease: Lease): Promise<number> => {
  let erased = 0
  for (const state of ended) {
    let after: Cursor | undefined
    do {
      // By when they were made: none ends before that.
      const part = { index: 'of_all', equals: [state], upTo: limit, limit: batchSize }
      const page = orThrow(await ports.documents.find(collection, after === undefined ? part : { ...part, after }))
      if (lease.ending.aborted) return erased
      const done = await Promise.all(page.map(({ key }) => eraseOld(ports, key as DeliveryId, limit, lease)))
      erased += done.filter(Boolean).length
      await pace(ports, page.length, lease)
      const last = page.length < batchSize ? undefined : page.at(-1)
      // A collection holds what its own projection made.
      after = last && { key: last.key, value: (last.document as DeliveryDocument).state_since ?? limit }
    } while (after !== undefined)
  }
  return erased
}

/** Takes away what stands before the newest closing events, where an earlier sweep did not come to that. */
const finish = async (ports: RetentionPorts, lease: Lease): Promise<number> => {
  const newest = { index: 'bodies_removed', equals: [], descending: true, limit: unfinished } as const
  const page = orThrow(await ports.documents.find(collection, newest))
  const done = await Promise.all(page.map(({ key }) => finishOne(ports, key as DeliveryId, lease)))
  return done.filter(Boolean).length
}

/** Waits as long as so many deliveries take. */
const pace = ({ clock }: RetentionPorts, count: number, { ending }: Lease): Promise<void> =>
  clock.sleepUntil(later(clock.now(), (count * 1_000) / perSecond), ending)

const finishOne = (ports: RetentionPorts, id: DeliveryId, lease: Lease): Promise<boolean> =>
  aside(ports, id, async () => {
    const [first] = orThrow(await ports.store.read(streamOf(delivery, id))).events
    return first !== undefined && first.type !== 'DeliveryErased' && erase(ports, id, lease)
  })

const eraseOld = (ports: RetentionPorts, id: DeliveryId, limit: Instant, lease: Lease): Promise<boolean> =>
  aside(ports, id, async () => {
    const [last] = orThrow(await ports.store.readLast(streamOf(delivery, id), 1))
    if (last === undefined || last.time > limit || last.type === 'DeliveryErased') return false
    return erase(ports, id, lease)
  })

/** One that can't be erased now keeps no other: the next sweep tries again. */
const aside = async ({ logger }: RetentionPorts, id: DeliveryId, work: () => Promise<boolean>): Promise<boolean> => {
  try {
    return await work()
  } catch (error) {
    logger.warn({ delivery: id, reason: reasonOf(error) }, 'the body of a delivery could not be removed')
    return false
  }
}

const erase = async (ports: RetentionPorts, id: DeliveryId, lease: Lease): Promise<boolean> => {
  const guarded = { ...ports, commandHandler: guardedCommandHandler(ports.commandHandler, lease) }
  const causeOf = () => ({ actor: retentionName, event: 'last-of-stream', eventId: ports.ids.uuid }) as const
  const why = { why: 'retention', at: ports.clock.now(), causeOf, stopping: lease.ending } as const
  return (await eraseDelivery(guarded, id, why)) !== undefined
}
