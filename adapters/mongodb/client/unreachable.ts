import { MongoError, MongoNetworkTimeoutError, MongoServerSelectionError, type ServerDescription } from 'mongodb'
import { isFinal } from '../../../domain/store-failed.js'
import { OperationFailed, storeFailure } from '../failure.js'

/** What the driver says of options alone. By name, since it has subclasses of them for clients that are closed. */
const ofOptions: ReadonlySet<string> = new Set([
  'MongoAPIError',
  'MongoParseError',
  'MongoInvalidArgumentError',
  'MongoMissingCredentialsError',
])

/**
 * Throws why no server was reached, with a hint where TLS may be the cause. A server that is on its way up or down, and
 * a proxy before one that is away, do the same, so such a server is waited for.
 */
export const throwUnreachable = (error: unknown, isTls: boolean): never => {
  if (error instanceof Error && ofOptions.has(error.name))
    throw new OperationFailed({
      kind: 'unavailable',
      reason: `the driver of MongoDB refuses an option of the URL, or of its name in DNS (${error.name})`,
      needsOperator: true,
    })
  const mayPass = error instanceof MongoServerSelectionError && !isFinal(storeFailure(error))
  const sentence = mayPass ? sentenceOf(error, isTls) : undefined
  if (sentence === undefined) throw error
  throw new OperationFailed({ kind: 'unavailable', reason: `${sentence} (MongoServerSelectionError)` })
}

const sentenceOf = (error: MongoServerSelectionError, isTls: boolean): string | undefined => {
  // A server that takes the beginning of TLS for that of a message waits for the rest of it.
  if (isTls && hasNothingCome(error)) return 'MongoDB does not answer, or does not speak TLS'
  if (isTls && /before secure|ECONNRESET/.test(error.message))
    return 'MongoDB ends the connection before it is secure, and may not speak TLS'
  if (!isTls && / closed$|ECONNRESET/.test(error.message))
    return 'MongoDB ends the connection before it answers, and may want TLS'
  return undefined
}

/** Neither an answer nor an error of any server. */
const hasNothingCome = (error: MongoServerSelectionError): boolean => {
  const servers = serversOf(error)
  return servers.length > 0 && servers.every(isSilentServer)
}

const serversOf = ({ reason }: MongoServerSelectionError): ReadonlyArray<ServerDescription> => [
  ...(reason?.servers.values() ?? []),
]

const isSilentServer = ({ type, error }: ServerDescription): boolean =>
  type === 'Unknown' && (error === null || error instanceof MongoNetworkTimeoutError)

/**
 * Whether a server may only be slow to answer: it was not heard of, or no connection for commands was ready in time.
 */
export const isSilent = (error: unknown): boolean =>
  error instanceof MongoServerSelectionError
    ? serversOf(error).some(isSilentServer)
    : error instanceof MongoError && error.name === 'MongoWaitQueueTimeoutError'
