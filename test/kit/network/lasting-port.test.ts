import test from 'ava'
import { createServer, type Server } from 'node:net'
import { listenForGood } from './lasting-port.js'

const closed = (server: Server): Promise<void> => new Promise((resolve) => void server.close(() => resolve()))

test('nobody else is given the port of a server that is away, and it comes back to it', async (t) => {
  const [server, other] = [createServer(), createServer()]
  const port = await listenForGood(server, 0)
  await closed(server)
  let drawn = port - 1
  const given = await listenForGood(other, 0, '127.0.0.1', () => (drawn += 1))
  t.not(given, port)
  t.is(await listenForGood(server, port), port)
  await Promise.all([closed(server), closed(other)])
})
