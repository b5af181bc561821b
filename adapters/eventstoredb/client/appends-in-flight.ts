import type { AppendResult, EventStoreDBClient } from '@eventstore/db-client'
import { createRequire } from 'node:module'
import { withinLimit } from '../../../domain/abortable.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { monotonicClock } from '../../node/monotonic-clock.js'

/**
 * Keeps appends and disposals apart. The driver holds the appends that wait for an answer in one table for the whole
 * process: disposing of any client rejects them all, though the server may have written them.
 */
export type AppendsInFlight = {
  /** Begins an append, with all its tries, once no disposal is in flight. */
  readonly track: <A>(append: () => Promise<A>) => Promise<A>
  /**
   * Makes one try of an append of so many bytes. The driver holds it until it is answered, however long ago we gave it
   * up.
   * @throws TooManyUnanswered where it holds too many already
   * @throws NotAppended where a conflict is answered and not thrown
   */
  readonly send: (bytes: number, append: () => Promise<AppendResult>) => Promise<AppendResult>
  /** Disposes of a client once no append is in flight. */
  readonly dispose: (client: EventStoreDBClient) => Promise<void>
}

/** The driver holds too many appends that nobody answers. */
export class TooManyUnanswered extends Error {}

/** The stream is at another revision than an append expected, so nothing was written. */
export class NotAppended extends Error {}

/** In bytes: appends that the driver may hold unanswered. Of a server that answers there are never so many. */
const largestUnanswered = 16_000_000

/** In bytes: what the driver holds of an append beside its events. */
const leastAppend = 4_000

/**
 * When a stream of appends breaks, the driver rejects each append, and also each write that was still to be sent.
 * Nobody can catch the second rejection, which would end the process.
 */
type DriverWrites = { backpressuredWrite: (stream: unknown, data: unknown) => Promise<void> }
const driverWrites = createRequire(import.meta.url)(
  '@eventstore/db-client/dist/utils/backpressuredWrite.js',
) as DriverWrites
const writeOfDriver = driverWrites.backpressuredWrite
driverWrites.backpressuredWrite = (stream, data) => writeOfDriver(stream, data).catch(() => undefined)

/**
 * In milliseconds: longer than an append may take (`RetryPolicy`). Only an append or a disposal that never ends is
 * waited for so long.
 */
const longestWait = 6_000

/**
 * The driver cancels all calls of the client at once, and then waits until each of them has ended: one may never do so.
 */
export const disposeOf = async (
  client: EventStoreDBClient,
  monotonic: Pick<MonotonicClock, 'sleep'>,
): Promise<void> => {
  await withinLimit(monotonic, longestWait, () => client.dispose())
}

export const appendsInFlight = (monotonic: MonotonicClock): AppendsInFlight => {
  let inFlight = 0
  let unanswered = 0
  let disposing: Promise<void> | undefined
  /** Called when the last append in flight has ended. */
  let onIdle = (): void => undefined

  const disposeWhenIdle = async (client: EventStoreDBClient): Promise<void> => {
    if (inFlight > 0) {
      const idle = new AbortController()
      onIdle = () => idle.abort()
      await monotonic.sleep(longestWait, idle.signal)
    }
    await disposeOf(client, monotonic)
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
    send: async (bytes, append) => {
      if (unanswered >= largestUnanswered) throw new TooManyUnanswered()
      const held = leastAppend + bytes
      unanswered += held
      try {
        const appended = await append()
        if (!appended.success) throw new NotAppended()
        return appended
      } finally {
        unanswered -= held
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
export const appendsOfThisProcess = appendsInFlight(monotonicClock)
