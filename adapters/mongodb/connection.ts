import { MongoClient, type Db, type MongoClientOptions } from 'mongodb'
import type { Logger } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { monotonicTime } from '../node/monotonic-time.js'
import { tried } from './failure.js'
import { heartbeats } from './heartbeats.js'

export type MongoConnection = {
  readonly db: Db
  readonly close: () => Promise<void>
}

const defaultDatabase = 'leadloop'

/** All in milliseconds. They bound how long anyone waits for a MongoDB that is away, and how soon one that is back is seen. */
const timeouts = {
  // A request that finds no server gets its answer after this.
  serverSelectionTimeoutMS: 1_000,
  connectTimeoutMS: 2_000,
  // A server that went silent is found out, and whatever waits for it is ended, after this and `connectTimeoutMS`.
  heartbeatFrequencyMS: 2_000,
  // The silence that ends one operation where the server is well but its answer does not come. The driver tries a read, and
  // on a replica set a write, once more: 10 s at most. Its own limit for the whole, `timeoutMS`, does nothing in this version.
  socketTimeoutMS: 5_000,
  waitQueueTimeoutMS: 2_000,
} satisfies MongoClientOptions

const options = {
  ...timeouts,
  appName: 'leadloop',
  // Positions are 64 bits wide.
  useBigInt64: true,
  // What was answered survives the loss of a server. The limit is shorter than the socket's, so that the connection is kept.
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: 4_000 },
} satisfies MongoClientOptions

/** Milliseconds between two attempts to reach a server that was never there, and between two looks at the heartbeats. */
const pauseLength = 500

/** In milliseconds: longer than it takes to connect, to shake hands and to wait for an answer. */
const longestHeartbeat = timeouts.heartbeatFrequencyMS + 2 * timeouts.connectTimeoutMS + 1_000

/**
 * Opens the database that the path of `url` names, `leadloop` where it names none. The server need not be there: until it is
 * every operation fails, and likewise whenever it goes. Left when `url` can't be used; it holds a password, so nothing of it
 * is told.
 */
export const connectMongo = (url: string, logger?: Logger): Either<{ readonly kind: 'unusable' }, MongoConnection> => {
  try {
    const client = new MongoClient(url, options)
    const db = client.db(databaseOf(url))
    const closing = new AbortController()
    const connecting = keptConnected(client, logger, closing.signal)
    return E.right({
      db,
      close: async () => {
        closing.abort()
        await client.close()
        await connecting
        // What the attempt opened that was under way.
        await client.close()
      },
    })
  } catch {
    return E.left({ kind: 'unusable' })
  }
}

/** The same client goes on after it was closed, so whoever holds the database notices a broken connection and no more. */
const keptConnected = async (client: MongoClient, logger: Logger | undefined, signal: AbortSignal): Promise<void> => {
  const { isHung } = heartbeats(client, longestHeartbeat, monotonicTime.now)
  const isOver = (): boolean => signal.aborted
  while (!isOver()) {
    await connected(client, logger, signal)
    while (!isOver() && !isHung(monotonicTime.now())) await monotonicTime.sleep(pauseLength, signal)
    if (isOver()) return
    logger?.warn({}, 'a heartbeat of MongoDB hangs: the client connects anew')
    await client.close()
  }
}

/** Once connected the driver finds its way back by itself, but it never tries the first connection a second time. */
const connected = async (client: MongoClient, logger: Logger | undefined, signal: AbortSignal): Promise<void> => {
  const isOver = (): boolean => signal.aborted
  let reason: string | undefined
  while (!isOver()) {
    const attempt = await tried(() => client.connect())
    if (E.isRight(attempt)) break
    if (attempt.left.reason !== reason && !isOver()) {
      reason = attempt.left.reason
      logger?.warn({ reason }, 'MongoDB is not there yet')
    }
    await monotonicTime.sleep(pauseLength, signal)
  }
  if (reason !== undefined && !isOver()) logger?.info({}, 'MongoDB is there')
}

/** Several hosts may stand in it, which no other parser of URLs takes. */
const databaseOf = (url: string): string => {
  const path = /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1]
  return path === undefined ? defaultDatabase : decodeURIComponent(path)
}
