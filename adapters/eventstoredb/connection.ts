import { E, type Either } from '../../domain/prelude.js'
import type { Time } from '../../domain/ports.js'
import { monotonicTime } from '../node/monotonic-time.js'
import { appendsOfThisProcess, disposeOf } from './appends-in-flight.js'
import { reconnectingClient, type ReconnectingClient } from './reconnecting-client.js'

/**
 * Two clients, because a client whose call fails moves all further calls to a new channel: a read that fails must not separate
 * the appends in flight from those that follow.
 */
export type Connection = {
  readonly appends: ReconnectingClient
  readonly reads: ReconnectingClient
  readonly close: () => Promise<void>
}

/** The options that the driver knows, in the spelling that it reduces them to. */
const knownOptions: ReadonlySet<string> = new Set([
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

/** About an option that it does not know or can't follow the driver warns with the whole string, password included. */
const hasUnknownOption = (url: string): boolean => {
  const [, query = ''] = url.replace(/^[^:]+:\/\/([^:]+:[^@]+@)?/, '').split(/\?(.*)/s)
  const given = query === '' ? [] : query.toLowerCase().replace(/[_-]/g, '').split('&')
  return given.some(
    (option) => option !== 'tlsverifycert=true' && !knownOptions.has(option.split('=', 1)[0]?.trim() ?? ''),
  )
}

type NoConnectionString = { readonly kind: 'no-connection-string' }

/** Left when `url` is no connection string. What is wrong with it is not said, because it may hold a password. */
export const connect = (url: string, time: Time = monotonicTime): Either<NoConnectionString, Connection> => {
  if (hasUnknownOption(url)) return E.left({ kind: 'no-connection-string' })
  try {
    const appends = reconnectingClient(url, appendsOfThisProcess.dispose, time)
    const reads = reconnectingClient(url, (client) => disposeOf(client, time), time)
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
