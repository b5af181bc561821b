import type { EventStoreDBClient, StreamingRead } from '@eventstore/db-client'
import { ReadInterrupted } from './error-classification.js'
import type { ReconnectingClient } from './reconnecting-client.js'
import type { Cancellation } from './retry.js'

/**
 * Everything that a read gives, for two reasons up to its end. The driver emits an error as soon as it has it, and one that
 * nobody listens to ends the process: so the read is iterated in the same tick in which it begins. And an answer that nobody
 * takes keeps its client from being disposed of: so a read that timed out is cancelled, not left.
 * @throws ReadInterrupted when the client was disposed of meanwhile: the driver ends its reads as if they were complete, and a
 * stream would seem to be missing
 */
export const completeRead = async <A>(
  client: ReconnectingClient,
  begin: (client: EventStoreDBClient) => StreamingRead<A>,
  cancellation: Cancellation,
  closing: AbortSignal,
): Promise<ReadonlyArray<A>> => {
  const current = client.current()
  const reading = begin(current)
  cancellation.cancel = () => void reading.cancel().catch(() => undefined)
  const all: Array<A> = []
  for await (const one of reading) all.push(one)
  if (closing.aborted || current !== client.current()) throw new ReadInterrupted()
  return all
}
