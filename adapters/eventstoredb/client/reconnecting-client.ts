import { EventStoreDBClient } from '@eventstore/db-client'
import './late-answers.js'
import './native-base64.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import type { ErrorClass } from './error-classification.js'

/**
 * A client of the driver, replaced by a new one when it may never recover. Calls of the old one fail, and are retried
 * on the new one.
 */
export type ReconnectingClient = {
  readonly current: () => EventStoreDBClient
  /** Reports that the server answered. */
  readonly answered: () => void
  /** Reports how a call failed. */
  readonly failed: (error: ErrorClass) => void
  readonly close: () => Promise<void>
}

/** In milliseconds: a client that got no answer for so long is replaced when the next call fails. */
const longestSilence = 10_000

/** In milliseconds: no client is replaced earlier, so that an outage does not make one for every failed call. */
const shortestLife = 1_000

/** @throws whatever the driver throws for a string that is no connection string; it may hold the password */
export const reconnectingClient = (
  url: string,
  dispose: (client: EventStoreDBClient) => Promise<void>,
  { now }: Pick<MonotonicClock, 'now'>,
): ReconnectingClient => {
  let client = EventStoreDBClient.connectionString(url)
  let createdAt = now()
  let answeredAt = createdAt

  const replace = (at: number): void => {
    void dispose(client)
    client = EventStoreDBClient.connectionString(url)
    createdAt = at
    answeredAt = at
  }
  return {
    current: () => client,
    answered: () => {
      answeredAt = now()
    },
    failed: (error) => {
      const at = now()
      const isBroken = (error.kind === 'retryable' && error.isClientBroken) || at - answeredAt > longestSilence
      if (isBroken && at - createdAt > shortestLife) replace(at)
    },
    close: () => dispose(client),
  }
}
