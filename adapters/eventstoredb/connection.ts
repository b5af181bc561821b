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

/** What the driver knows, as it spells it to itself. */
const options: ReadonlySet<string> = new Set([
  'tls',
  'tlscafile',
  'usercertfile',
  'userkeyfile',
  'nodepreference',
  'maxdiscoverattempts',
  'discoveryinterval',
  'gossiptimeout',
  'keepaliveinterval',
  'keepalivetimeout',
  'defaultdeadline',
  'connectionname',
  'throwonappendfailure',
])

/** About any other option, and one that it can't follow, the driver warns with the whole string, password and all. */
const hasOtherOptions = (url: string): boolean => {
  const [, query = ''] = url.replace(/^[^:]+:\/\/([^:]+:[^@]+@)?/, '').split(/\?(.*)/s)
  const given = query === '' ? [] : query.toLowerCase().replace(/[_-]/g, '').split('&')
  return given.some((option) => option !== 'tlsverifycert=true' && !options.has(option.split('=', 1)[0]?.trim() ?? ''))
}

type NoConnectionString = { readonly kind: 'no-connection-string' }

/** Left when `url` is no connection string; what is wrong with it is not told, since it may hold a password. */
export const connect = (url: string): Either<NoConnectionString, Connection> => {
  if (hasOtherOptions(url)) return E.left({ kind: 'no-connection-string' })
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
