import { MongoClient, ReadConcern, type Db, type MongoClientOptions } from 'mongodb'
import { withinLimit } from '../../../domain/abortable.js'
import type { Logger, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { monotonicClock } from '../../node/monotonic-clock.js'
import { tryCatch } from '../failure.js'
import { hangsOf } from './hangs.js'
import { tlsFiles } from './tls-files.js'
import { isSilent, throwUnreachable } from './unreachable.js'

export type MongoConnection = {
  readonly db: Db
  /** Why there is no connection; undefined where there is one, or none was tried yet. */
  readonly failure: () => StoreFailure | undefined
  readonly close: () => Promise<void>
}

/** An option of the URL has a value that can't be used; `must` says which ones it may have. */
type OptionProblem = { readonly option: string; readonly must: string }

type Unusable = { readonly kind: 'unusable' } | ({ readonly kind: 'unusable-option' } & OptionProblem)

const defaultDatabase = 'leadloop'

/**
 * All in milliseconds. They bound how long anyone waits for a MongoDB that is away, and how soon its return is noticed.
 */
const timeouts = {
  // An operation that finds no server fails after this.
  serverSelectionTimeoutMS: 1_000,
  connectTimeoutMS: 2_000,
  // A server that hangs is noticed, and whatever waits for it fails, after this and `connectTimeoutMS`.
  heartbeatFrequencyMS: 2_000,
  minHeartbeatFrequencyMS: 500,
  // An operation whose answer does not come, although the server is well, fails after this. The driver repeats a read,
  // and on a replica set a write of one document, once: 10 s at most. Its own limit for the whole, `timeoutMS`, has no
  // effect in this version.
  socketTimeoutMS: 5_000,
  waitQueueTimeoutMS: 2_000,
} satisfies MongoClientOptions

/**
 * In milliseconds, for a first connection to a server that has not said anything yet: it has to be made and to shake
 * hands to find the server, and once more with a password. An operation that waits for it meanwhile waits as long.
 */
const firstTimeouts = {
  serverSelectionTimeoutMS: 2 * timeouts.connectTimeoutMS,
  waitQueueTimeoutMS: 3 * timeouts.connectTimeoutMS,
}

/**
 * In milliseconds: how long the server waits for a majority. Less than the socket's limit, so that the connection
 * survives too.
 */
const confirmedWithin = 4_000

/** How values are written and read. All are named, because what is not takes effect from the URL. */
const values = {
  // Positions are 64 bits wide.
  useBigInt64: true,
  promoteLongs: true,
  promoteValues: true,
  promoteBuffers: false,
  raw: false,
  bsonRegExp: false,
  ignoreUndefined: false,
  enableUtf8Validation: true,
} satisfies MongoClientOptions

/**
 * Connections that a process can get along with. A start asks for some ninety at once, and who gets none within
 * `waitQueueTimeoutMS` has failed.
 */
const smallestPool = 10

const options = {
  ...timeouts,
  ...values,
  appName: 'leadloop',
  // What was answered survives the loss of a server.
  writeConcern: { w: 'majority', journal: true, wtimeoutMS: confirmedWithin },
} satisfies MongoClientOptions

type EffectiveOptions = MongoClient['options']

/**
 * Options of the URL that take effect beside ours, and the values of each with which a process reads what it wrote, no
 * two processes hold a lease, and nobody waits in vain for a connection or a server.
 */
const pinned: ReadonlyArray<OptionProblem & { readonly isKept: (options: EffectiveOptions) => boolean }> = [
  {
    option: 'readPreference',
    must: 'primary',
    isKept: ({ readPreference: { mode, tags = [] } }) => mode === 'primary' && tags.length === 0,
  },
  {
    option: 'readConcernLevel',
    must: 'local',
    isKept: ({ readConcern }) => [undefined, 'local'].includes((readConcern as ReadConcern | undefined)?.level),
  },
  { option: 'retryWrites', must: 'true', isKept: ({ retryWrites }) => retryWrites },
  { option: 'journal', must: 'true', isKept: ({ writeConcern }) => writeConcern.journal === true },
  {
    option: 'wtimeout',
    must: `${confirmedWithin}`,
    isKept: ({ writeConcern }) => writeConcern.wtimeoutMS === confirmedWithin,
  },
  // 0 is no limit.
  {
    option: 'maxPoolSize',
    must: `${smallestPool} or more`,
    isKept: ({ maxPoolSize }) => maxPoolSize === 0 || maxPoolSize >= smallestPool,
  },
  // Without heartbeats nobody would notice what hangs (`hangs.ts`).
  { option: 'loadBalanced', must: 'false', isKept: ({ loadBalanced }) => !loadBalanced },
  ...tlsFiles,
]

/** Milliseconds between two attempts to reach a server for the first time, and between two looks for what hangs. */
const interval = 500

/**
 * In milliseconds: longer than a heartbeat takes to connect, to handshake and to wait for an answer, and a command to
 * be written and to be answered with as much as a document may hold, over a connection that is slow.
 */
const longest = {
  heartbeat: timeouts.heartbeatFrequencyMS + 2 * timeouts.connectTimeoutMS + 1_000,
  command: 4 * timeouts.socketTimeoutMS,
}

/**
 * Opens the database that the path of `url` names, or `leadloop`. The server may be away, now or later: meanwhile every
 * operation fails. Left when `url` can't be used; it may hold a password, so nothing of it is told.
 */
export const connectMongo = (url: string, logger: Logger): Either<Unusable, MongoConnection> => {
  try {
    const client = new MongoClient(url, options)
    const changed = pinned.find(({ isKept }) => !isKept(client.options))
    if (changed !== undefined) return E.left({ kind: 'unusable-option', option: changed.option, must: changed.must })
    // Not by an option of the client, which would hide that the URL says otherwise.
    const db = client.db(databaseOf(url), { readConcern: new ReadConcern('local') })
    const stopping = new AbortController()
    let failure: StoreFailure | undefined
    const tell = (latest: StoreFailure | undefined): void => void (failure = latest)
    const connecting = stayConnected({ client, logger, signal: stopping.signal, tell })
    return E.right({
      db,
      failure: () => failure,
      close: async () => {
        stopping.abort()
        if (!(await closeInTime(client))) return
        await connecting
        // An attempt that was under way may have connected after the first close.
        await closeInTime(client)
      },
    })
  } catch {
    return E.left({ kind: 'unusable' })
  }
}

type Connecting = {
  readonly client: MongoClient
  readonly logger: Logger
  readonly signal: AbortSignal
  /** Called after each attempt, with why it failed. */
  readonly tell: (failure: StoreFailure | undefined) => void
}

/**
 * Connects the same client again after it was closed: whoever uses the database meets failures meanwhile, and no more.
 * Rejects where it can't be closed, which ends the process: only another one helps.
 */
const stayConnected = async (connecting: Connecting): Promise<void> => {
  const { client, logger, signal } = connecting
  // Each operation that is under way listens to it: more listeners than Node's limit are no leak here.
  client.setMaxListeners(0)
  const { isHung } = hangsOf(client, longest, monotonicClock.now)
  const isStopping = (): boolean => signal.aborted
  while (!isStopping()) {
    await untilConnected(connecting)
    // At two looks in a row: after a pause of this process the first may come before the answers that are there.
    for (let looks = 0; looks < 2 && !isStopping(); looks = isHung(monotonicClock.now()) ? looks + 1 : 0)
      await monotonicClock.sleep(interval, signal)
    if (isStopping()) return
    logger.warn({}, 'MongoDB was asked something that never ends: the client connects anew')
    if (!(await closeInTime(client)) && !isStopping()) throw new Error('the client of MongoDB can not be closed')
  }
}

/** In milliseconds: longer than it takes to end the sessions on a server that answers late. */
const longestClose = timeouts.serverSelectionTimeoutMS + timeouts.waitQueueTimeoutMS + timeouts.socketTimeoutMS

/** False where it does not end: a close writes to the server too, and may hang as any command does (`hangs.ts`). */
const closeInTime = async (client: MongoClient): Promise<boolean> =>
  (await withinLimit(monotonicClock, longestClose, () => client.close().then(() => true))) ?? false

/**
 * The driver reconnects by itself, but for the first connection it makes one attempt only, and begins the next one from
 * nothing. It looks at the time limits in the options of its client each time.
 */
const untilConnected = async ({ client, logger, signal, tell }: Connecting): Promise<void> => {
  const isStopping = (): boolean => signal.aborted
  let reason: string | undefined
  const attempt = async (): Promise<void> => {
    try {
      await client.connect()
      Object.assign(client.options, timeouts)
    } catch (error) {
      Object.assign(client.options, isSilent(error) ? firstTimeouts : timeouts)
      throwUnreachable(error, client.options.tls)
    }
  }
  while (!isStopping()) {
    const connected = await tryCatch(attempt)
    tell(E.isLeft(connected) ? connected.left : undefined)
    if (E.isRight(connected)) break
    if (connected.left.reason !== reason && !isStopping()) {
      reason = connected.left.reason
      logger.warn({ reason }, 'MongoDB is not there yet')
    }
    await monotonicClock.sleep(interval, signal)
  }
  if (reason !== undefined && !isStopping()) logger.info({}, 'MongoDB is there')
}

/** By hand, because a URL with several hosts is none to a parser of URLs. */
const databaseOf = (url: string): string => {
  const path = /^[^:]+:\/\/[^/]+\/([^?]+)/.exec(url)?.[1]
  return path === undefined ? defaultDatabase : decodeURIComponent(path)
}
