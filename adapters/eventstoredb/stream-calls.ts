import type { AppendResult, EventStoreDBClient, ReadStreamOptions, ResolvedEvent } from '@eventstore/db-client'
import type { Conflict, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { appendsOfThisProcess } from './client/appends-in-flight.js'
import { ofLeader, type Connection } from './client/connection.js'
import { completeRead } from './complete-read.js'
import { withoutConflict, type Retry } from './retry.js'

/** What is asked of one stream: each a call of its own, with its own time limit, that is retried. */
export type StreamCalls = {
  /** Nothing where there is no such stream. */
  readonly readPage: (
    stream: string,
    options: ReadStreamOptions,
  ) => Promise<Either<StoreFailure, ReadonlyArray<ResolvedEvent>>>
  /** Writes so many bytes, about, by the client that `begin` is given. */
  readonly write: (
    bytes: number,
    begin: (client: EventStoreDBClient) => Promise<AppendResult>,
  ) => Promise<Either<StoreFailure | Conflict, AppendResult>>
}

/** Events that the driver buffers of a read. */
const bufferSize = 500

export const streamCalls = ({ appends, reads }: Connection, retry: Retry, stopping: AbortSignal): StreamCalls => ({
  readPage: async (stream, options) => {
    const begin = (client: EventStoreDBClient) =>
      client.readStream(stream, { ...options, ...ofLeader }, { highWaterMark: bufferSize })
    const page = await retry<ReadonlyArray<ResolvedEvent>>(
      reads,
      (cancellation) => completeRead<ResolvedEvent>(reads, begin, cancellation, stopping),
      [],
    )
    return E.isLeft(page) ? E.left(withoutConflict(page.left)) : page
  },
  write: (bytes, begin) =>
    appendsOfThisProcess.track(() =>
      retry(appends, () => appendsOfThisProcess.send(bytes, () => begin(appends.current()))),
    ),
})
