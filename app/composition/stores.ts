import { mongoDocuments } from '../../adapters/mongodb/documents.js'
import { sqliteDocuments } from '../../adapters/sqlite/documents.js'
import { eventStoreDb } from '../../adapters/eventstoredb/event-store.js'
import { sqliteEventStore } from '../../adapters/sqlite/event-store.js'
import { connect } from '../../adapters/eventstoredb/connection.js'
import { singleProcessMembership } from '../../adapters/in-process/single-process-leases.js'
import { mongoMembership } from '../../adapters/mongodb/leases/membership.js'
import { connectMongo } from '../../adapters/mongodb/connection.js'
import { openDatabase } from '../../adapters/sqlite/database.js'
import type { EventStore, Logger } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Membership } from '../../projections/subscriptions/leases.js'
import type { Documents } from '../../projections/ports.js'
import type { Config } from './config.js'

/** Where everything is kept. */
export type Stores = {
  readonly store: EventStore
  readonly documents: Documents
  readonly membership: Membership
  /** Whether other processes may work on the same stores. */
  readonly isShared: boolean
  /** Whether this process alone writes to the log. */
  readonly isLogEmbedded: boolean
  readonly close: () => Promise<void>
}

type Opened = Pick<Stores, 'store' | 'documents' | 'membership'>
type Closing = Array<() => Promise<void>>
type Where = Pick<Config, 'dataDir' | 'eventStoreUrl' | 'mongoUrl'>
/** What a member of several needs. */
type Means = { readonly newId: () => string; readonly logger: Logger }

/**
 * Opens the stores that the settings name: each is a server's where its URL is given, else it is embedded in DATA_DIR, which
 * one process at a time can use. Left: one sentence that says what is wrong.
 */
export const openStores = async (where: Where, means: Means): Promise<Either<string, Stores>> => {
  const closing: Closing = []
  const close = async (): Promise<void> => {
    for (const one of closing.toReversed()) await one()
  }
  const opened = await open(where, means, closing)
  if (E.isRight(opened)) {
    const isShared = where.eventStoreUrl !== undefined && where.mongoUrl !== undefined
    const isLogEmbedded = where.eventStoreUrl === undefined
    return E.right({ ...opened.right, isShared, isLogEmbedded, close })
  }
  await close()
  return opened
}

const open = async (
  { dataDir, eventStoreUrl, mongoUrl }: Where,
  means: Means,
  closing: Closing,
): Promise<Either<string, Opened>> => {
  const server = eventStoreUrl === undefined ? undefined : connect(eventStoreUrl)
  if (server !== undefined && E.isLeft(server))
    return E.left('EVENTSTORE_URL: this is no connection string, or has an option that is not known.')
  const remote = server === undefined ? undefined : eventStoreDb(server.right)
  if (remote !== undefined) closing.push(remote.close)
  const mongo = mongoUrl === undefined ? undefined : connectMongo(mongoUrl, means.logger)
  if (mongo !== undefined && E.isLeft(mongo)) return E.left('MONGODB_URL: this is no connection string.')
  if (mongo !== undefined) closing.push(mongo.right.close)
  const documents = mongo === undefined ? undefined : mongoDocuments(mongo.right.db)
  if (remote !== undefined && mongo !== undefined && documents !== undefined) {
    return E.right({ store: remote, documents, membership: mongoMembership({ db: mongo.right.db, ...means }) })
  }
  const embedded = await openDatabase(dataDir)
  if (E.isLeft(embedded)) return E.left(`DATA_DIR: ${embedded.left.reason}.`)
  closing.push(embedded.right.close)
  return E.right({
    store: remote ?? sqliteEventStore(embedded.right),
    documents: documents ?? sqliteDocuments(embedded.right),
    membership: singleProcessMembership(),
  })
}
