import { behaviourOf } from './behaviour.js'
import { eventStoreAppends } from './event-store-appends.js'
import type { OpenStore } from './event-store-fixtures.js'
import { eventStoreSubscriptions } from './event-store-subscriptions.js'
import { eventStoreTruncation } from './event-store-truncation.js'

/**
 * What every `EventStore` does (domain/ports.ts). Nothing is said about what stood in the log before, nor about
 * numbers: positions are only compared.
 */
export const eventStoreContract = (name: string, open: () => Promise<OpenStore>): void => {
  const behaviour = behaviourOf(name, open)
  eventStoreAppends(behaviour)
  eventStoreSubscriptions(behaviour)
  eventStoreTruncation(behaviour)
}
