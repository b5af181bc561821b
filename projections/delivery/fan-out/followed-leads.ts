import { LRUCache } from 'lru-cache'
import { approximateBytes } from '../../../domain/approximate-size.js'
import type { EventOf, RecordedEvent } from '../../../domain/events.js'
import type { LeadId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import { lead, type Originator } from '../../../domain/lead.js'
import type { EventStore } from '../../../domain/ports.js'
import { orThrow } from '../../../domain/store-failed.js'
import { streamOf } from '../../../domain/stream-name.js'

/** How a lead was submitted: what the deliveries of its activities tell of that. */
export type Submitted = { readonly at: Instant; readonly originators: ReadonlyArray<Originator> }

export type FollowedLeads = ReturnType<typeof followedLeads>

/** In bytes, about. */
const capacity = 8_000_000

/**
 * The submissions that the log showed lately: the first activities of a lead follow at once, and need no read. For a
 * later one the lead is read.
 */
export const followedLeads = (store: Pick<EventStore, 'read'>) => {
  const cache = new LRUCache<LeadId, Submitted>({ maxSize: capacity, sizeCalculation: approximateBytes })

  return {
    learn: (event: RecordedEvent): void => {
      if (event.type === 'LeadSubmitted') cache.set(event.data.lead_id, submittedIn(event))
    },
    /**
     * Undefined where the stream of the lead was deleted since.
     * @throws StoreFailed where it can't be read
     */
    submitted: async (id: LeadId): Promise<Submitted | undefined> => {
      const cached = cache.get(id)
      if (cached !== undefined) return cached
      const { events } = orThrow(await store.read(streamOf(lead, id)))
      const submission = events.find((event) => event.type === 'LeadSubmitted')
      return submission === undefined ? undefined : submittedIn(submission)
    },
  }
}

const submittedIn = ({ time, data }: EventOf<'LeadSubmitted'>): Submitted => ({
  at: time,
  originators: data.originators,
})
