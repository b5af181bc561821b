import { sqliteDocuments } from '../../adapters/sqlite/documents/documents.js'
import { sqliteEventStore } from '../../adapters/sqlite/event-store.js'
import { singleProcessMembership } from '../../adapters/in-process/single-process-leases.js'
import { openDatabase, type SqliteDatabase } from '../../adapters/sqlite/database.js'
import type { AppendAll, EventStore, Logger, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Membership } from '../../projections/subscriptions/leases.js'
import type { Documents } from '../../projections/ports.js'
import { areStoresShared, type Config } from './config.js'

/** Where everything is stored. */
export type Stores = {
  readonly store: EventStore
  readonly documents: Documents
  readonly membership: Membership
  /** Whether other processes may work on the same stores. */
  readonly isShared: boolean
  /** Why there is no connection to the server of the documents; undefined where there is one, or none was tried yet. */
  readonly documentsFailure: () => StoreFailure | undefined
  /**
   * What a node of the event store's cluster refuses for good, where its nodes can't be found; undefined where none
   * does.
   */
  readonly eventStoreRefusal: () => Promise<StoreFailure | undefined>
  /**
   * Fails where a collection of this name, or another one that is needed, is another application's; nothing is changed.
   */
  readonly refuseForeign: (names: ReadonlyArray<string>) => Promise<Either<StoreFailure, void>>
  /** Set where this process alone writes to the log, which is embedded. */
  readonly appendAll: AppendAll | undefined
  readonly close: () => Promise<void>
}

type OpenedStores = Omit<Stores, 'isShared' | 'close'>
type Closing = Array<() => Promise<void>>
type Where = Pick<Config, 'dataDir' | 'eventStoreUrl' | 'mongoUrl'>
/** What a process needs that shares work with others. */
type Ports = { readonly newId: () => string; readonly logger: Logger }

/**
 * Opens the stores that the settings name: each is a server's where its URL is given, else it is embedded in DATA_DIR,
 * which one process at a time can use. Left: one sentence that says what is wrong.
 */
export const openStores = async (where: Where, ports: Ports): Promise<Either<string, Stores>> => {
  const closing: Closing = []
  const close = async (): Promise<void> => {
    for (const one of closing.toReversed()) await one()
  }
  const opened = await open(where, ports, closing)
  if (E.isRight(opened)) {
    return E.right({ ...opened.right, isShared: areStoresShared(where), close })
  }
  await close()
  return opened
}

const open = async (
  { dataDir, eventStoreUrl, mongoUrl }: Where,
  ports: Ports,
  closing: Closing,
): Promise<Either<string, OpenedStores>> => {
  const log = eventStoreUrl === undefined ? undefined : await logServer(eventStoreUrl)
  if (log !== undefined && E.isLeft(log)) return log
  if (log !== undefined) closing.push(log.right.store.close)
  const eventStoreRefusal = log?.right.refusal ?? (() => Promise.resolve(undefined))
  const mongo = mongoUrl === undefined ? undefined : await documentServer(mongoUrl, ports)
  if (mongo !== undefined && E.isLeft(mongo)) return mongo
  if (mongo !== undefined) closing.push(mongo.right.close)
  const documentsFailure = mongo?.right.failure ?? (() => undefined)
  const refuseForeign = mongo?.right.refuseForeign ?? (() => Promise.resolve(E.right(undefined)))
  if (log !== undefined && mongo !== undefined) {
    const { documents, membership } = mongo.right
    const shared = { store: log.right.store, appendAll: undefined, membership: membership() }
    return E.right({ ...shared, documents, eventStoreRefusal, documentsFailure, refuseForeign })
  }
  const embedded = await openDatabase(dataDir, () => {
    ports.logger.info({}, 'leadloop.db is of an older version and is rewritten once; the start goes on afterwards')
  })
  if (E.isLeft(embedded)) return E.left(`DATA_DIR: ${embedded.left.reason}.`)
  closing.push(embedded.right.close)
  return E.right({
    ...(log === undefined ? embeddedLog(embedded.right) : { store: log.right.store, appendAll: undefined }),
    documents: mongo?.right.documents ?? sqliteDocuments(embedded.right),
    eventStoreRefusal,
    documentsFailure,
    refuseForeign,
    membership: singleProcessMembership(),
  })
}

const embeddedLog = (database: SqliteDatabase): Pick<Stores, 'store' | 'appendAll'> => {
  const store = sqliteEventStore(database)
  return { store, appendAll: store.appendAll }
}

const unusableOption = (setting: string, { option, must }: { readonly option: string; readonly must: string }) =>
  E.left(`${setting}: the option ${option} must be ${must}, or be left out.`)

// Loading the drivers of servers is the longer half of a start, so they are loaded where a server is named.

/** The log on the server that EVENTSTORE_URL names. Left: one sentence. */
export const logServer = async (url: string) => {
  const { connect } = await import('../../adapters/eventstoredb/client/connection.js')
  const { refusalOfCluster } = await import('../../adapters/eventstoredb/cluster-refusal.js')
  const { eventStoreDb } = await import('../../adapters/eventstoredb/event-store.js')
  const client = connect(url)
  if (E.isRight(client)) {
    return E.right({ store: eventStoreDb(client.right), refusal: () => refusalOfCluster(url) })
  }
  const { left } = client
  return left.kind === 'unusable-option'
    ? unusableOption('EVENTSTORE_URL', left)
    : E.left('EVENTSTORE_URL: this is no connection string, or has an option that is not known.')
}

const documentServer = async (url: string, ports: Ports) => {
  const { connectMongo } = await import('../../adapters/mongodb/client/connection.js')
  const { mongoDocuments } = await import('../../adapters/mongodb/documents.js')
  const { tryCatch } = await import('../../adapters/mongodb/failure.js')
  const { refuseForeignAmong } = await import('../../adapters/mongodb/generations/foreign.js')
  const { mongoMembership } = await import('../../adapters/mongodb/leases/membership.js')
  const connection = connectMongo(url, ports.logger)
  if (E.isLeft(connection)) {
    const { left } = connection
    if (left.kind === 'unusable')
      return E.left('MONGODB_URL: this is no connection string, or has an option that is not known.')
    return unusableOption('MONGODB_URL', left)
  }
  const { db, failure, close } = connection.right
  return E.right({
    documents: mongoDocuments(db),
    failure,
    refuseForeign: (names: ReadonlyArray<string>) => tryCatch(() => refuseForeignAmong(db, names)),
    membership: () => mongoMembership({ db, ...ports }),
    close,
  })
}
