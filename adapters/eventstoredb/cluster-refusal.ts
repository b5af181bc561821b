import type { StoreFailure } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { connect } from './connection.js'
import { eventStoreDb } from './event-store.js'

/** The hosts of a cluster, or the name that leads to them, between the credentials and the options. */
const cluster = /^esdb(?<discover>\+discover)?:\/\/(?<credentials>[^:]+:[^@]+@)?(?<hosts>[^/?]+)(?<rest>.*)$/s

/**
 * What a node that the URL of a cluster names refuses for good, such as a password, or its certificate, which is not trusted:
 * where no node tells the driver of the cluster, it says only that. Each is asked once, on its own. Undefined where none
 * refuses, and where the URL names a single node.
 */
export const refusalOfCluster = async (url: string): Promise<StoreFailure | undefined> => {
  const failures = await Promise.all(nodesOf(url).map(failureOf))
  return failures.find((failure) => failure?.kind === 'unavailable' && failure.needsOperator === true)
}

const nodesOf = (url: string): ReadonlyArray<string> => {
  const { discover, credentials = '', hosts = '', rest = '' } = cluster.exec(url.trim())?.groups ?? {}
  const named = hosts.split(',')
  const isCluster = discover !== undefined || named.length > 1
  return isCluster ? named.map((host) => `esdb://${credentials}${host}${rest}`) : []
}

const failureOf = async (url: string): Promise<StoreFailure | undefined> => {
  const connection = connect(url)
  if (E.isLeft(connection)) return undefined
  const store = eventStoreDb(connection.right)
  const head = await store.head()
  await store.close()
  return E.isLeft(head) ? head.left : undefined
}
