import {
  BSON,
  MongoBulkWriteError,
  MongoCompatibilityError,
  MongoError,
  MongoMissingDependencyError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoNotConnectedError,
  MongoServerError,
  MongoServerSelectionError,
  MongoTopologyClosedError,
  MongoWriteConcernError,
} from 'mongodb'
import type { StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { tlsRefusal } from '../node/tls-refusal.js'

/** Thrown where an operation finds a failure by itself, which is given back as it is. */
export class OperationFailed extends Error {
  readonly failure: StoreFailure

  constructor(failure: StoreFailure) {
    super(failure.reason)
    this.failure = failure
  }
}

/** The edge of the adapter: whatever an operation throws becomes a failure of the port. */
export const tryCatch = async <A>(operation: () => Promise<A>): Promise<Either<StoreFailure, A>> => {
  try {
    return E.right(await operation())
  } catch (error) {
    return E.left(storeFailure(error))
  }
}

const duplicateKey = 11000
const namespaceExists = 48
const namespaceNotFound = 26
const invalidNamespace = 73
const databaseDifferCase = 13297
const atlasError = 8000

/** Whether nothing else went wrong than that a document was inserted whose key exists already. */
export const isDuplicate = (error: unknown): boolean => {
  if (!(error instanceof MongoBulkWriteError)) return error instanceof MongoServerError && error.code === duplicateKey
  const errors = [error.writeErrors].flat()
  return (
    errors.length > 0 &&
    errors.every(({ code }) => code === duplicateKey) &&
    error.result.getWriteConcernError() === undefined
  )
}

/** Which writes of a bulk met such a key. */
export const duplicatesIn = (error: unknown): ReadonlyArray<number> =>
  error instanceof MongoBulkWriteError ? [error.writeErrors].flat().map(({ index }) => index) : []

/** Whether a collection can't be made because there is one of that name. */
export const isThere = (error: unknown): boolean => error instanceof MongoServerError && error.code === namespaceExists

/** Whether there is no collection of that name. */
export const isNotThere = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === namespaceNotFound

/** Whether the answer did not come before the timeout of the socket. */
export const isTimeout = (error: unknown): boolean => causeOf(error) instanceof MongoNetworkTimeoutError

/** The one place where errors of the driver and of the server become failures of the port. */
export const storeFailure = (error: unknown): StoreFailure => {
  if (error instanceof OperationFailed) return error.failure
  const cause = causeOf(error)
  const refusal = refusalOf(cause)
  const reason = `${refusal ?? sentenceOf(cause)} (${codeOf(cause)})`
  if (isTooLarge(cause) || cause instanceof BSON.BSONError) return { kind: 'corrupt', reason }
  return refusal === undefined ? { kind: 'unavailable', reason } : { kind: 'unavailable', reason, needsOperator: true }
}

/** What only the settings, or the server's, can change; undefined for all that may pass. */
const refusalOf = (error: unknown): string | undefined => {
  if (!(error instanceof MongoError)) return undefined
  if (error instanceof MongoCompatibilityError) return 'MongoDB is too old for the driver'
  if (error instanceof MongoMissingDependencyError) return missingPackage
  if (error instanceof MongoServerError && isAboutCredentials(error)) return refused
  if (error instanceof MongoServerError && error.code === invalidNamespace) return noSuchName
  if (error instanceof MongoServerError && error.code === databaseDifferCase) return otherCase
  // The driver wraps what the TLS of this machine says of the other side.
  const known = tlsRefusal(`${error.message} ${error.cause instanceof Error ? error.cause.message : ''}`)
  return known === undefined ? undefined : `MongoDB ${known}`
}

/**
 * Atlas gives one code to all that it refuses, a full disk too: what it says while a connection authenticates is about
 * credentials.
 */
const isAboutCredentials = (error: MongoServerError): boolean =>
  refusedCodes.has(Number(error.code)) ||
  (error.code === atlasError && (error.hasErrorLabel('HandshakeError') || /not allowed to do/.test(error.message)))

/**
 * A bulk write wraps whatever ended it, a connection that broke as well as an answer of the server. Where no server was
 * found, what one of them can't be asked for is the cause.
 */
const causeOf = (error: unknown): unknown => {
  if (error instanceof MongoServerSelectionError) {
    const errors = [...(error.reason?.servers.values() ?? [])].map((server) => server.error)
    return errors.find((one) => refusalOf(one) !== undefined) ?? error
  }
  const cause: unknown = error instanceof MongoBulkWriteError ? error.errorResponse : undefined
  return cause instanceof MongoError ? cause : error
}

const isTooLarge = (error: unknown): boolean =>
  error instanceof MongoServerError && tooLargeCodes.has(Number(error.code))

/** The name and code of an error: its message may hold a key, a document or the address with its password. */
const codeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return 'unknown'
  return error instanceof MongoError && error.code !== undefined ? `${error.name} ${error.code}` : error.name
}

const sentenceOf = (error: unknown): string => {
  if (error instanceof MongoServerError) {
    const known = typeof error.code === 'number' ? byCode.get(error.code) : undefined
    return known ?? (error instanceof MongoWriteConcernError ? unconfirmed : 'MongoDB failed')
  }
  // Its class is the driver's own.
  if (error instanceof MongoError && error.name === 'MongoWaitQueueTimeoutError') return allInUse
  return byClass.find(([kind]) => error instanceof kind)?.[1] ?? 'MongoDB can not be asked'
}

const unreachable = 'MongoDB can not be reached'
const noPrimary = 'MongoDB has no primary now'
const tooSlow = 'MongoDB did not answer in time'
const unconfirmed = 'MongoDB could not confirm a write'
const allInUse = 'no connection to MongoDB was free in time'
const refused = 'MongoDB refused the credentials'
/** The names of our collections are good ones. */
const noSuchName = 'MongoDB takes no database of the name in the path of the URL'
const otherCase = 'MongoDB has a database whose name differs from the one in the path of the URL only in its case'
const missingPackage = 'an option of the URL of MongoDB needs a package that is not installed'
export const tooLarge = 'a document is larger than MongoDB holds'

// Errors of the server, by its own names and numbers (`error_codes.yml` in its source).

const noPrimaryErrors = {
  ShutdownInProgress: 91,
  FailedToSatisfyReadPreference: 133,
  PrimarySteppedDown: 189,
  LegacyNotPrimary: 10058,
  NotWritablePrimary: 10107,
  InterruptedAtShutdown: 11600,
  InterruptedDueToReplStateChange: 11602,
  NotPrimaryNoSecondaryOk: 13435,
  NotPrimaryOrSecondary: 13436,
}
const tooSlowErrors = { MaxTimeMSExpired: 50, NetworkTimeout: 89, ExceededTimeLimit: 262 }
const unconfirmedErrors = { WriteConcernTimeout: 64, UnknownReplWriteConcern: 79, UnsatisfiableWriteConcern: 100 }

/** However often it is written, it stays too large. The last two have no name: an update, and an upsert. */
const tooLargeCodes: ReadonlySet<number> = new Set([10334, 17419, 17420])

/** `Unauthorized`: no user was named. `AuthenticationFailed`: the password is wrong. */
const refusedCodes: ReadonlySet<number> = new Set([13, 18])

const byCode: ReadonlyMap<number, string> = new Map([
  ...Object.values(noPrimaryErrors).map((code) => [code, noPrimary] as const),
  ...Object.values(tooSlowErrors).map((code) => [code, tooSlow] as const),
  ...Object.values(unconfirmedErrors).map((code) => [code, unconfirmed] as const),
  ...[...tooLargeCodes].map((code) => [code, tooLarge] as const),
])

/** Errors of the driver itself, subclasses before their classes. A pool that was cleared is a network error. */
const byClass: ReadonlyArray<readonly [abstract new (...args: never) => Error, string]> = [
  [MongoServerSelectionError, unreachable],
  // Between two attempts at the first connection, or while the client connects again.
  [MongoTopologyClosedError, unreachable],
  [MongoNotConnectedError, unreachable],
  [MongoNetworkTimeoutError, tooSlow],
  [MongoNetworkError, 'the connection to MongoDB broke'],
  [BSON.BSONError, 'a document can not be written as BSON'],
]
