import { createServer, type Socket } from 'node:net'
import { listenAgain, listenForGood } from '../kit/network/lasting-port.js'

/** A port that can be shut and opened again. */
type Listener = {
  readonly port: () => number
  readonly open: () => Promise<void>
  /** Breaks every connection, as the death of a process does, and refuses new ones. */
  readonly close: () => Promise<void>
}

export const listenerOn = (host: string, onConnection: (socket: Socket) => void): Listener => {
  const sockets = new Set<Socket>()
  let port = 0

  const server = createServer({ noDelay: true }, (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
    onConnection(socket)
  })
  return {
    port: () => port,
    open: async () => {
      if (port === 0) port = await listenForGood(server, host)
      else await listenAgain(server, port, host)
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        for (const socket of sockets) socket.destroy()
      }),
  }
}
