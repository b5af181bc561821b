import * as http from 'node:http'
import * as https from 'node:https'
import type { OnReadOpts, Socket, TcpSocketConnectOpts } from 'node:net'
import { checkedLookup } from './addresses/checked-lookup.js'
import type { Resolve } from './addresses/resolve.js'
import type { Attempt } from './attempt.js'

/** The connections to receivers, which are pooled. */
export type Connections = {
  /** A request that `request` makes by one of the agents, before it returns, has its connection reported to the attempt. */
  readonly requestFor: <A>(attempt: Attempt, request: (agents: Agents) => A) => A
  readonly close: () => void
}

export type Agents = { readonly plain: http.Agent; readonly secure: https.Agent }

export type ConnectionOptions = {
  readonly allowPrivate: boolean
  readonly resolve: Resolve
  /** The certificate authorities of receivers, in PEM, instead of those that Node trusts. */
  readonly authorities: ReadonlyArray<string> | undefined
}

/** Milliseconds that a connection is pooled without use: less than most servers keep it open. */
const longestIdle = 4_000

/** Milliseconds that one address of a name is waited for before the next one is tried. */
const longestPerAddress = 1_000

/** Bytes that are read at once: of a flood no more than this arrives before it can be cut off. */
const readAtOnce = 4_096

const pooled = { keepAlive: true, timeout: longestIdle } as const

export const connections = ({ allowPrivate, resolve, authorities }: ConnectionOptions): Connections => {
  let requesting: Attempt | undefined
  const requestingAttempt = (): Attempt => {
    if (requesting === undefined) throw new Error('no attempt makes a request')
    return requesting
  }
  const connectOptions = (attempt: Attempt): ConnectOptions => ({
    lookup: checkedLookup(resolve, allowPrivate, () => attempt.recordStep('dns')),
    autoSelectFamily: true,
    autoSelectFamilyAttemptTimeout: longestPerAddress,
  })
  const plain = new http.Agent(pooled)
  const secure = new https.Agent({
    ...pooled,
    // Given, so that no setting of the environment turns the check off.
    rejectUnauthorized: true,
    ...(authorities === undefined ? {} : { ca: [...authorities] }),
  })
  reportConnections(plain, requestingAttempt, connectOptions)
  reportConnections(secure, requestingAttempt, connectOptions)

  return {
    requestFor: (attempt, request) => {
      requesting = attempt
      try {
        return request({ plain, secure })
      } finally {
        requesting = undefined
      }
    },
    close: () => {
      plain.destroy()
      secure.destroy()
    },
  }
}

type ConnectOptions = Pick<TcpSocketConnectOpts, 'lookup' | 'autoSelectFamily' | 'autoSelectFamilyAttemptTimeout'>

/** The methods of an agent that its type declaration leaves out. */
type ConnectingAgent = {
  createConnection: (options: TcpSocketConnectOpts, made: unknown) => Socket
  reuseSocket: (connection: Socket, request: http.ClientRequest) => void
}

/** Has an agent report what becomes of each connection to the attempt that uses it. */
const reportConnections = (
  agent: http.Agent,
  requestingAttempt: () => Attempt,
  connectOptions: (attempt: Attempt) => ConnectOptions,
): void => {
  const isSecure = agent instanceof https.Agent
  const attempts = new WeakMap<Socket, Attempt>()
  const connecting = agent as unknown as ConnectingAgent
  const create = connecting.createConnection.bind(agent)
  const reuse = connecting.reuseSocket.bind(agent)

  connecting.createConnection = (options, made) => {
    const attempt = requestingAttempt()
    const onread = readInPieces((piece) => connection.push(piece))
    const connection = create({ ...options, ...connectOptions(attempt), onread }, made)
    attempts.set(connection, attempt)
    attempt.useNewConnection(connection)
    connection.once('connect', () => {
      attempt.recordStep('connect')
      if (!isSecure) attempt.awaitResponse()
    })
    connection.once('secureConnect', () => {
      attempt.recordStep('tls')
      attempt.awaitResponse()
    })
    connection.on('data', (bytes: Buffer) => attempts.get(connection)?.countReceived(bytes.length, connection))
    connection.once('close', () => attempts.get(connection)?.handleClose(connection))
    return connection
  }
  connecting.reuseSocket = (connection, request) => {
    reuse(connection, request)
    const attempt = requestingAttempt()
    attempts.set(connection, attempt)
    attempt.reuseConnection(connection)
  }
}

const readInPieces = (push: (piece: Buffer) => boolean): OnReadOpts => ({
  buffer: Buffer.allocUnsafeSlow(readAtOnce),
  callback: (length, buffer) => push(Buffer.from(buffer.subarray(0, length))),
})
