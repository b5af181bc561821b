import { randomInt } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import type { Server } from 'node:net'
import { until } from '../time/until.js'

/**
 * Below those that the kernel gives to connections and to whoever asks for any: nobody takes one while its server is
 * away.
 */
const ports = { first: 10_000, end: 32_000 }

const anyPort = (): number => randomInt(ports.first, ports.end)

/**
 * Listens at a port that is free, and gives it: no test of this or another process is given it while this process
 * lives.
 */
export const listenForGood = async (server: Server, host = '127.0.0.1', draw = anyPort): Promise<number> => {
  for (;;) {
    const drawn = draw()
    try {
      await hold(drawn, host)
      await listen(server, drawn, host)
      return drawn
    } catch (error) {
      if (!isInUse(error)) throw error
    }
  }
}

/**
 * Comes back to a port that `listenForGood` gave. A process that another thread of this one starts has a copy of the
 * socket that was closed until its program runs: so long the port is in use, by nobody else.
 */
export const listenAgain = async (server: Server, port: number, host = '127.0.0.1'): Promise<void> => {
  await until('the port is in use no more', 60_000, async () => {
    try {
      await listen(server, port, host)
      return true
    } catch (error) {
      if (!isInUse(error)) throw error
      return false
    }
  })
}

const isInUse = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === 'EADDRINUSE'

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

const listen = async (server: Server, port: number, host: string): Promise<void> => {
  server.listen(port, host)
  await once(server, 'listening')
}
