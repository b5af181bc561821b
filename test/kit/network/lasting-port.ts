import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import type { AddressInfo, Server } from 'node:net'

/** Below those that the kernel gives to connections and to whoever asks for any: nobody takes one while its server is away. */
const ports = { first: 10_000, end: 32_000 }

const anyPort = (): number => randomInt(ports.first, ports.end)

/**
 * Listens at a port to which the server can come back; `port` 0: at any that is free, which no test of this or another process is given while
 * this process lives. Gives the port.
 */
export const listenForGood = async (
  server: Server,
  port: number,
  host = '127.0.0.1',
  draw = anyPort,
): Promise<number> => {
  if (port !== 0) return listen(server, port, host)
  for (;;) {
    const drawn = draw()
    try {
      await hold(drawn, host)
      return await listen(server, drawn, host)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
}

/** A server that is away gives its port up; a socket of another protocol on it says meanwhile that it is taken. */
const hold = (port: number, host: string): Promise<void> =>
  new Promise((resolve, reject) => {
    const socket = createSocket('udp4')
    socket.once('error', reject)
    socket.bind(port, host, () => {
      socket.unref()
      resolve()
    })
  })

const listen = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      resolve((server.address() as AddressInfo).port)
    })
  })
