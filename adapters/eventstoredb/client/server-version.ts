import type { EventStoreDBClient } from '@eventstore/db-client'
import { ServerTooOld } from './error-classification.js'

/** The first line of the server whose subscriptions say when they have caught up. */
const oldest = { major: 23, minor: 10 }

/**
 * The first line of the server that speaks gRPC. What says that it is older is no release, and may know all that is
 * needed.
 */
const firstMajor = 20

/** What the driver gives for the version of a server that does not know the question. */
const unknownVersion = 'unknown'

const isTooOld = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major < firstMajor) return false
  return major < oldest.major || (major === oldest.major && minor < oldest.minor)
}

/**
 * Asked once for each client, by the driver. It keeps the answer to itself: the field is protected.
 * @throws ServerTooOld, and what the driver throws
 */
export const refuseTooOld = async (client: EventStoreDBClient): Promise<void> => {
  const { serverVersion } = await client['capabilities']
  if (serverVersion === unknownVersion || isTooOld(serverVersion)) throw new ServerTooOld()
}
