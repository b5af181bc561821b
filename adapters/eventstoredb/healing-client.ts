import { EventStoreDBClient } from '@eventstore/db-client'
import { performance } from 'node:perf_hooks'
import type { Meaning } from './failure.js'

/** A client of the driver; one that may never recover is replaced by a new one. */
export type HealingClient = {
  readonly now: () => EventStoreDBClient
  readonly answered: () => void
  /** Tells how a call failed. */
  readonly failed: (meaning: Meaning) => void
  readonly close: () => Promise<void>
}

/** In milliseconds. A client that heard nothing for so long is replaced, and none before it is so old. */
const longestSilence = 10_000
const shortestLife = 1_000

/** @throws whatever the driver throws for a connection string that is none: not to be shown, it may hold a password */
export const healingClient = (url: string, dispose: (client: EventStoreDBClient) => Promise<void>): HealingClient => {
  let client = EventStoreDBClient.connectionString(url)
  let born = performance.now()
  let heard = born

  const renew = (now: number): void => {
    // What is under way on the old one fails, and whoever asked asks again on the new one.
    void dispose(client)
    client = EventStoreDBClient.connectionString(url)
    born = now
    heard = now
  }
  return {
    now: () => client,
    answered: () => {
      heard = performance.now()
    },
    failed: (meaning) => {
      const now = performance.now()
      const isHopeless = (meaning.kind === 'again' && meaning.isBroken) || now - heard > longestSilence
      if (isHopeless && now - born > shortestLife) renew(now)
    },
    close: () => dispose(client),
  }
}
