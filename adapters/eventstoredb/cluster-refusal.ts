import type { StoreFailure } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { connect, hostsIn } from './client/connection.js'
import { eventStoreDb } from './event-store.js'

/** The hosts of a cluster, or the name that leads to them, between the credentials and the options. */
const cluster = /^esdb(?<discover>\+discover)?:\/\/(?<credentials>[^:]+:[^@]+@)?(?<hosts>[^/?]+)(?<rest>.*)$/s

/**
 * What half of the nodes that the URL of a cluster names refuse for good, such as a password, or show, as a certificate
 * that is not trusted: where no node tells the driver of the cluster, it says only that. Each is asked once, on its
 * own. A node alone may refuse what the cluster takes, as one does that is filled anew and knows no user yet. Undefined
 * where the URL names a single node.
 */
export const refusalOfCluster = async (url: string): Promise<StoreFailure | undefined> => {
  const nodes = nodesOf(url)
  const failures = await Promise.all(nodes.map(failureOf))
  const refusals = failures.filter((failure) => failure?.kind === 'unavailable' && failure.needsOperator === true)
  return refusals.length >= nodes.length / 2 ? refusals[0] : undefined
}

const nodesOf = (url: string): ReadonlyArray<string> => {
  const { discover, credentials = '', hosts = '', rest = '' } = cluster.exec(url.trim())?.groups ?? {}
  const named = hostsIn(hosts)
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
