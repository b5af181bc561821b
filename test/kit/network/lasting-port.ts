import { randomInt } from 'node:crypto'
import type { AddressInfo, Server } from 'node:net'

/** Below those that the kernel gives to connections and to whoever asks for any: nobody takes one while its server is away. */
const ports = { first: 10_000, end: 32_000 }

/** Listens at a port to which the server can come back; `port` 0: at any that is free. Gives the port. */
export const listenForGood = async (server: Server, port: number, host = '127.0.0.1'): Promise<number> => {
  if (port !== 0) return listen(server, port, host)
  for (;;) {
    try {
      return await listen(server, randomInt(ports.first, ports.end), host)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    }
  }
}

const listen = (server: Server, port: number, host: string): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.removeListener('error', reject)
      resolve((server.address() as AddressInfo).port)
    })
  })
