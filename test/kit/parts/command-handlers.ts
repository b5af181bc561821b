import { aggregateCache } from '../../../app/commands/aggregate-cache.js'
import { storedAggregates } from '../../../app/commands/aggregates.js'
import { commandHandler } from '../../../app/commands/command-handler.js'
import { streamQueue } from '../../../app/commands/stream-queue.js'
import type { Clock, CommandHandler, EventStore } from '../../../domain/ports.js'

/** As where this process alone writes to the store. */
export const cachedHandler = (store: EventStore, clock: Clock): CommandHandler =>
  streamQueue(commandHandler({ aggregates: aggregateCache(storedAggregates(store)), store, clock }))

/** As where other processes write to it too. */
export const sharedHandler = (store: EventStore, clock: Clock): CommandHandler =>
  streamQueue(commandHandler({ aggregates: storedAggregates(store), store, clock }))
