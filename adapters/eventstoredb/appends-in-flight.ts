import type { EventStoreDBClient } from '@eventstore/db-client'
import { performance } from 'node:perf_hooks'

/**
 * The driver keeps the appends that wait for an answer in one table for the whole process. Disposing of any client empties
 * it, and an answer that comes after that throws where nobody can catch it (reference 0.7). So appends are counted here,
 * for the whole process too, and a client is disposed of while none is under way.
 */
let underWay = 0
let disposing: Promise<void> | undefined
let wake = (): void => undefined

/** In milliseconds: an append gives up earlier (`Patience`), so this is never waited for in full. */
const longestWait = 6_000

export const whileAppending = async <A>(append: () => Promise<A>): Promise<A> => {
  while (disposing !== undefined) await disposing
  underWay += 1
  try {
    return await append()
  } finally {
    underWay -= 1
    wake()
  }
}

export const disposeOf = async (client: EventStoreDBClient): Promise<void> => {
  while (disposing !== undefined) await disposing
  disposing = disposed(client).finally(() => {
    disposing = undefined
  })
  await disposing
}

const disposed = async (client: EventStoreDBClient): Promise<void> => {
  const until = performance.now() + longestWait
  while (underWay > 0 && performance.now() < until) {
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, until - performance.now())
      wake = () => {
        clearTimeout(late)
        resolve()
      }
    })
  }
  await client.dispose()
  // The streams that were cancelled tell so on the next turn of the loop.
  await new Promise(setImmediate)
}
