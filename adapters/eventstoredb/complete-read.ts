import type { EventStoreDBClient, StreamingRead } from '@eventstore/db-client'
import { ReadInterrupted } from './client/error-classification.js'
import type { ReconnectingClient } from './client/reconnecting-client.js'
import type { Cancellation } from './retry.js'

/**
 * Everything that a read gives. It is iterated in the same tick in which it begins: the driver emits an error as soon
 * as it has it, and without a listener that error would end the process. It is iterated to its end, and cancelled when
 * it timed out: a client with an answer that nobody takes can't be disposed of.
 * @throws ReadInterrupted when the client was disposed of meanwhile: the driver ends its reads as if they were
 * complete, and a stream would seem to be missing
 */
export const completeRead = async <A>(
  client: ReconnectingClient,
  begin: (client: EventStoreDBClient) => StreamingRead<A>,
  cancellation: Cancellation,
  stopping: AbortSignal,
): Promise<ReadonlyArray<A>> => {
  const current = client.current()
  const reading = begin(current)
  cancellation.cancel = () => void reading.cancel().catch(() => undefined)
  const all: Array<A> = []
  for await (const one of reading) all.push(one)
  if (stopping.aborted || current !== client.current()) throw new ReadInterrupted()
  return all
}
