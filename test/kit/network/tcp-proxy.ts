import { connect, createServer, type Server, type Socket } from 'node:net'
import { listenAgain, listenForGood } from './lasting-port.js'

/** Stands before a server and lets a test take it away. */
export type TcpProxy = {
  readonly port: number
  /** Connections break and none is accepted. */
  readonly takeAway: () => Promise<void>
  /** Connections stay and are accepted, and nothing comes through any more. */
  readonly silence: () => void
  /** As it was at first; what broke or fell silent stays so. */
  readonly bringBack: () => Promise<void>
}

/** Begins taken away. Ends with `takeAway`. */
export const tcpProxy = async (host: string, port: number): Promise<TcpProxy> => {
  const sockets = new Set<Socket>()
  let isSilent = false
  let server: Server | undefined

  const accept = (client: Socket): void => {
    // One that had connected before and is told of only now.
    if (server === undefined) {
      client.destroy()
      return
    }
    const upstream = connect(port, host)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on('data', (data) => {
        if (!isSilent) other.write(data)
      })
      one.on('error', () => undefined)
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  }
  const takeAway = async (): Promise<void> => {
    const ending = server
    server = undefined
    const ended = new Promise((resolve) => (ending === undefined ? resolve(undefined) : ending.close(resolve)))
    for (const socket of sockets) socket.destroy()
    await ended
  }
  server = createServer(accept)
  const own = await listenForGood(server)
  await takeAway()
  return {
    port: own,
    takeAway,
    silence: () => {
      isSilent = true
    },
    bringBack: async () => {
      // What was sent into the silence is lost, so those connections are of no use any more.
      if (isSilent) await takeAway()
      isSilent = false
      if (server !== undefined) return
      server = createServer(accept)
      await listenAgain(server, own)
    },
  }
}
