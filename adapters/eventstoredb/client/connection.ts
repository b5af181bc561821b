import { E, type Either } from '../../../domain/prelude.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { monotonicClock } from '../../node/monotonic-clock.js'
import { appendsOfThisProcess, disposeOf } from './appends-in-flight.js'
import { reconnectingClient, type ReconnectingClient } from './reconnecting-client.js'

/**
 * Two clients, because a client whose call fails moves all further calls to a new channel: a read that fails must not
 * separate the appends in flight from those that follow.
 */
export type Connection = {
  readonly appends: ReconnectingClient
  readonly reads: ReconnectingClient
  readonly close: () => Promise<void>
}

/**
 * Of every read and subscription: a node that lags gives less than was written, and says that it was all. A name or an
 * address may lead to any node, and a former leader keeps its connections. Who is not the leader names it, and the
 * driver goes there.
 */
export const ofLeader = { requiresLeader: true } as const

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

/** An option of the URL has a value that can't be used; `must` says which one it must have. */
type OptionProblem = { readonly option: string; readonly must: string }

/**
 * Options whose other values lose something: with one a conflict is answered as if it had been written, with the other
 * the log is read of a node that may lag, and whoever follows it never sees what comes there later.
 */
const pinned: ReadonlyArray<OptionProblem> = [
  { option: 'throwOnAppendFailure', must: 'true' },
  { option: 'nodePreference', must: 'leader' },
]

/** Options that name a file, which the driver reads as it is given the URL. */
const files = ['tlsCAFile', 'userCertFile', 'userKeyFile']

type Option = { readonly name: string; readonly value: string | undefined }

/** The hosts between the credentials and the options, as the driver reads them. */
export const hostsIn = (text: string): ReadonlyArray<string> =>
  text
    .replace(/,$/, '')
    .split(',')
    .map((host) => host.trim())

/** The hosts of a URL and its options, taken apart as the driver does. */
const partsOf = (url: string): { readonly hosts: ReadonlyArray<string>; readonly query: string } => {
  const behindCredentials = url
    .trim()
    .replace(/\/+$/, '')
    .replace(/^[^:]+:\/\/([^:]+:[^@]+@)?/, '')
  const [hosts = '', query = ''] = behindCredentials.split(/\?(.*)/s)
  return { hosts: hostsIn(hosts), query }
}

const defaultPort = 2113
const largestPort = 65_535

/** The driver takes whatever stands there for the name of a host, and a start would wait for it for ever. */
const isHost = (host: string): boolean => {
  const found = /^[^\s:@/]+(?::(\d+)\/?)?$/.exec(host)
  const port = Number(found?.[1] ?? defaultPort)
  return found !== null && port > 0 && port <= largestPort
}

/** In the spelling to which the driver reduces names. */
const optionsIn = (query: string): ReadonlyArray<Option> => {
  if (query === '') return []
  const given = query.toLowerCase().replace(/[_-]/g, '').split('&')
  return given.map((option) => {
    const [name = '', value] = option.split('=', 2)
    return { name: name.trim(), value: value?.trim() }
  })
}

/** About an option that it does not know or can't follow the driver warns with the whole string, password included. */
const isKnown = ({ name, value }: Option): boolean =>
  name === 'tlsverifycert' ? value === 'true' : value !== undefined && knownOptions.has(name)

type Unusable = { readonly kind: 'no-connection-string' } | ({ readonly kind: 'unusable-option' } & OptionProblem)

/**
 * Left when `url` can't be used. Of what is wrong with it only the name of an option is said, because it may hold a
 * password.
 */
export const connect = (url: string, monotonic: MonotonicClock = monotonicClock): Either<Unusable, Connection> => {
  const { hosts, query } = partsOf(url)
  const options = optionsIn(query)
  if (!hosts.every(isHost) || !options.every(isKnown)) return E.left({ kind: 'no-connection-string' })
  const changed = pinned.find(({ option, must }) =>
    options.some(({ name, value }) => name === option.toLowerCase() && value !== must),
  )
  if (changed !== undefined) return E.left({ kind: 'unusable-option', ...changed })
  try {
    const appends = reconnectingClient(url, appendsOfThisProcess.dispose, monotonic)
    const reads = reconnectingClient(url, (client) => disposeOf(client, monotonic), monotonic)
    return E.right({
      appends,
      reads,
      close: async () => {
        await Promise.all([appends.close(), reads.close()])
      },
    })
  } catch (error) {
    const named = files.filter((option) => options.some(({ name }) => name === option.toLowerCase()))
    // In words of its own, or those of the file system.
    const isOfFile = error instanceof Error && (/file was not found/i.test(error.message) || 'syscall' in error)
    return isOfFile
      ? E.left({ kind: 'unusable-option', option: named.join(' or '), must: 'the path of a file that can be read' })
      : E.left({ kind: 'no-connection-string' })
  }
}
