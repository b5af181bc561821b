import { E, type Either } from '../../domain/prelude.js'
import { disposeOf } from './appends-in-flight.js'
import { healingClient, type HealingClient } from './healing-client.js'

/**
 * Two clients: when a call fails, the driver moves all of a client's calls to a new channel, and a read that fails must not
 * part the appends under way from those that follow (reference 0.7).
 */
export type Connection = {
  readonly appends: HealingClient
  readonly reads: HealingClient
  readonly close: () => Promise<void>
}

type NoConnectionString = { readonly kind: 'no-connection-string' }

/** Left when `url` is no connection string; what is wrong with it is not told, since it may hold a password. */
export const connect = (url: string): Either<NoConnectionString, Connection> => {
  try {
    const appends = healingClient(url, disposeOf)
    const reads = healingClient(url, (client) => client.dispose())
    return E.right({
      appends,
      reads,
      close: async () => {
        await Promise.all([appends.close(), reads.close()])
      },
    })
  } catch {
    return E.left({ kind: 'no-connection-string' })
  }
}
