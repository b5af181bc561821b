import * as http from 'node:http'
import * as https from 'node:https'
import type { OnReadOpts, Socket, TcpSocketConnectOpts } from 'node:net'
import { checkedLookup } from './addresses/checked-lookup.js'
import type { Resolve } from './addresses/resolve.js'
import type { Exchange } from './exchange.js'

/** The connections to receivers, which are pooled. */
export type Connections = {
  /**
   * A request that `request` makes by one of the agents has its connection reported to the exchange. An agent can't
   * tell which request a connection is for, so `request` must begin it before it returns, as `fetch` of node-fetch
   * does. The agents have no limit of sockets: a request that waited for one would connect too late to be told apart.
   */
  readonly requestFor: <A>(exchange: Exchange, request: (agents: Agents) => A) => A
  readonly close: () => void
}

type Agents = { readonly plain: http.Agent; readonly secure: https.Agent }

type ConnectionOptions = {
  readonly allowPrivate: boolean
  readonly resolve: Resolve
  /** The certificate authorities of receivers, in PEM, instead of those that Node trusts. */
  readonly authorities: ReadonlyArray<string> | undefined
}

/** Milliseconds that a connection is pooled without use: less than most servers keep it open. */
const longestIdle = 4_000

/**
 * Milliseconds that one address of a name is waited for before the next one is tried: so long that a first packet that
 * was lost is sent once more, which the system does after a second, and so short that within the time limit three
 * addresses are tried.
 */
const longestPerAddress = 1_250

/** Bytes that are read at once: of a flood no more than this arrives before it can be cut off. */
const readBufferBytes = 4_096

const pooled = { keepAlive: true, timeout: longestIdle } as const

export const connections = ({ allowPrivate, resolve, authorities }: ConnectionOptions): Connections => {
  let requesting: Exchange | undefined
  const requestingExchange = (): Exchange => {
    if (requesting === undefined) throw new Error('no exchange makes a request')
    return requesting
  }
  const connectOptions = (exchange: Exchange): ConnectOptions => ({
    lookup: checkedLookup(resolve, allowPrivate, () => exchange.recordStep('dns')),
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
  reportConnections(plain, requestingExchange, connectOptions)
  reportConnections(secure, requestingExchange, connectOptions)

  return {
    requestFor: (exchange, request) => {
      requesting = exchange
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

/** Has an agent report what becomes of each connection to the exchange that uses it. */
const reportConnections = (
  agent: http.Agent,
  requestingExchange: () => Exchange,
  connectOptions: (exchange: Exchange) => ConnectOptions,
): void => {
  const isSecure = agent instanceof https.Agent
  const exchanges = new WeakMap<Socket, Exchange>()
  const connecting = agent as unknown as ConnectingAgent
  const create = connecting.createConnection.bind(agent)
  const reuse = connecting.reuseSocket.bind(agent)

  connecting.createConnection = (options, made) => {
    const exchange = requestingExchange()
    const onread = readInPieces((piece) => connection.push(piece))
    const connection = create({ ...options, ...connectOptions(exchange), onread }, made)
    exchanges.set(connection, exchange)
    exchange.useNewConnection(connection)
    connection.once('connect', () => {
      exchange.recordStep('connect')
      if (!isSecure) exchange.awaitResponse()
    })
    connection.once('secureConnect', () => {
      exchange.recordStep('tls')
      exchange.awaitResponse()
    })
    connection.on('data', (bytes: Buffer) => exchanges.get(connection)?.countReceived(bytes.length, connection))
    connection.once('close', () => exchanges.get(connection)?.handleClose(connection))
    return connection
  }
  connecting.reuseSocket = (connection, request) => {
    reuse(connection, request)
    const exchange = requestingExchange()
    exchanges.set(connection, exchange)
    exchange.reuseConnection(connection)
  }
}

const readInPieces = (push: (piece: Buffer) => boolean): OnReadOpts => ({
  buffer: Buffer.allocUnsafeSlow(readBufferBytes),
  callback: (length, buffer) => push(Buffer.from(buffer.subarray(0, length))),
})
