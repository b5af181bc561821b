import * as http from 'node:http'
import * as https from 'node:https'
import type { LookupFunction, OnReadOpts, Socket, TcpSocketConnectOpts } from 'node:net'
import { isPublicAddress } from './addresses/public-address.js'
import type { Attempt } from './attempt.js'
import { ForbiddenAddress } from './addresses/forbidden-address.js'
import type { Resolve } from './addresses/resolve.js'

/** Connections that are kept and used again. */
export type Connections = {
  /** What `ask` requests by the agent of a protocol, before it returns, is done for the attempt. */
  readonly during: <A>(attempt: Attempt, ask: (agents: Agents) => A) => A
  readonly close: () => void
}

export type Agents = { readonly plain: http.Agent; readonly secure: https.Agent }

export type ConnectionOptions = {
  readonly allowPrivate: boolean
  readonly resolve: Resolve
  /** Whoever may vouch for a receiver, in PEM, instead of those that Node trusts. */
  readonly authorities: ReadonlyArray<string> | undefined
}

/** Milliseconds that a connection is kept without use: less than most servers keep it. */
const longestIdle = 4_000

/** Milliseconds that one address of a name is waited for before the next one is tried. */
const longestPerAddress = 1_000

/** Bytes that are read at once: of a flood no more than this comes in before it can be cut. */
const readAtOnce = 4_096

/** The agents' parts of which the type declarations don't know. */
type Connecting = {
  createConnection: (options: TcpSocketConnectOpts, made: unknown) => Socket
  reuseSocket: (connection: Socket, request: http.ClientRequest) => void
}

export const connections = ({ allowPrivate, resolve, authorities }: ConnectionOptions): Connections => {
  let asking: Attempt | undefined
  const attempts = new WeakMap<Socket, Attempt>()

  const asker = (): Attempt => {
    if (asking === undefined) throw new Error('no attempt asks for a connection')
    return asking
  }

  /** Each new connection leads to an address that was looked at here. */
  const lookupFor =
    (attempt: Attempt): LookupFunction =>
    (hostname, { all }, answer) => {
      const looked = async (): Promise<void> => {
        const addresses = await resolve(hostname)
        const [first] = addresses
        if (first === undefined) throw noAddress()
        if (!allowPrivate && !addresses.every(({ address }) => isPublicAddress(address))) throw new ForbiddenAddress()
        attempt.did('dns')
        if (all === true) answer(null, [...addresses])
        else answer(null, first.address, first.family)
      }
      looked().catch((error: unknown) => answer(error as NodeJS.ErrnoException, ''))
    }

  const watched = <A extends http.Agent>(agent: A): A => {
    const connecting = agent as unknown as Connecting
    const create = connecting.createConnection.bind(agent)
    const reuse = connecting.reuseSocket.bind(agent)

    connecting.createConnection = (options, made) => {
      const attempt = asker()
      const reading = readInPieces((piece) => connection.push(piece))
      const connection = create(
        {
          ...options,
          lookup: lookupFor(attempt),
          autoSelectFamily: true,
          autoSelectFamilyAttemptTimeout: longestPerAddress,
          onread: reading,
        },
        made,
      )
      attempts.set(connection, attempt)
      attempt.connectsBy(connection)
      const isPlain = !(agent instanceof https.Agent)
      connection.once('connect', () => {
        attempt.did('connect')
        if (isPlain) attempt.connected()
      })
      connection.once('secureConnect', () => {
        attempt.did('tls')
        attempt.connected()
      })
      connection.on('data', (bytes: Buffer) => attempts.get(connection)?.received(bytes.length, connection))
      connection.once('close', () => attempts.get(connection)?.lost(connection))
      return connection
    }
    connecting.reuseSocket = (connection, request) => {
      reuse(connection, request)
      const attempt = asker()
      attempts.set(connection, attempt)
      attempt.takes(connection)
    }
    return agent
  }

  const kept = { keepAlive: true, timeout: longestIdle } as const
  const agents: Agents = {
    plain: watched(new http.Agent(kept)),
    secure: watched(
      new https.Agent({
        ...kept,
        // Whatever the environment says.
        rejectUnauthorized: true,
        ...(authorities === undefined ? {} : { ca: [...authorities] }),
      }),
    ),
  }

  return {
    during: (attempt, ask) => {
      asking = attempt
      try {
        return ask(agents)
      } finally {
        asking = undefined
      }
    },
    close: () => {
      agents.plain.destroy()
      agents.secure.destroy()
    },
  }
}

const readInPieces = (push: (piece: Buffer) => boolean): OnReadOpts => ({
  buffer: Buffer.allocUnsafeSlow(readAtOnce),
  callback: (length, buffer) => push(Buffer.from(buffer.subarray(0, length))),
})

const noAddress = (): Error => Object.assign(new Error('the name has no address'), { code: 'ENOTFOUND' })
