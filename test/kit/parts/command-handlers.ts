import { aggregateCache } from '../../../app/commands/aggregate-cache.js'
import { storedAggregates } from '../../../app/commands/aggregates.js'
import { commandHandler } from '../../../app/commands/command-handler.js'
import type { Snapshots } from '../../../app/commands/snapshots.js'
import { streamQueue } from '../../../app/commands/stream-queue.js'
import type { Clock, CommandHandler, EventStore } from '../../../domain/ports.js'

/** As where no stream is long. */
export const noSnapshots: Snapshots = {
  inMemory: () => undefined,
  find: () => Promise.resolve(undefined),
  save: () => undefined,
  remove: () => Promise.resolve(),
}

/** As where this process alone writes to the store. */
export const cachedHandler = (store: EventStore, clock: Clock, snapshots: Snapshots = noSnapshots): CommandHandler =>
  streamQueue(commandHandler({ aggregates: aggregateCache(storedAggregates(store, snapshots)), store, clock }))
    .ofRequests

/** As where other processes write to it too. */
export const sharedHandler = (store: EventStore, clock: Clock, snapshots: Snapshots = noSnapshots): CommandHandler =>
  streamQueue(commandHandler({ aggregates: storedAggregates(store, snapshots), store, clock })).ofRequests
