import type { EventStoreDBClient } from '@eventstore/db-client'
import type { Time } from '../../domain/ports.js'
import { monotonicTime } from '../node/monotonic-time.js'

/**
 * Keeps appends and disposals apart. The driver holds the appends that wait for an answer in one table for the whole
 * process: disposing of any client rejects them all, and an answer that comes after that throws where nobody can catch it.
 */
export type AppendsInFlight = {
  /** Begins an append once no disposal is in flight. */
  readonly track: <A>(append: () => Promise<A>) => Promise<A>
  /** Disposes of a client once no append is in flight. */
  readonly dispose: (client: EventStoreDBClient) => Promise<void>
}

/** In milliseconds: longer than an append may take (`RetryPolicy`). Only an append that never ends is waited for so long. */
const longestWait = 6_000

export const appendsInFlight = (time: Time): AppendsInFlight => {
  let inFlight = 0
  let disposing: Promise<void> | undefined
  /** Called when the last append in flight has ended. */
  let onIdle = (): void => undefined

  const disposeWhenIdle = async (client: EventStoreDBClient): Promise<void> => {
    if (inFlight > 0) {
      const idle = new AbortController()
      onIdle = () => idle.abort()
      await time.sleep(longestWait, idle.signal)
    }
    await client.dispose()
    // The calls that were cancelled report it on the next turn of the event loop.
    await new Promise(setImmediate)
  }
  return {
    track: async (append) => {
      while (disposing !== undefined) await disposing
      inFlight += 1
      try {
        return await append()
      } finally {
        inFlight -= 1
        if (inFlight === 0) onIdle()
      }
    },
    dispose: async (client) => {
      while (disposing !== undefined) await disposing
      const disposal = disposeWhenIdle(client)
      const done = (): void => {
        disposing = undefined
      }
      disposing = disposal.then(done, done)
      await disposal
    },
  }
}

/** One for the whole process, as the driver's table is. */
export const appendsOfThisProcess = appendsInFlight(monotonicTime)
