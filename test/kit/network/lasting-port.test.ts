import test from 'ava'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type Server } from 'node:net'
import { listenAgain, listenForGood } from './lasting-port.js'

const closed = (server: Server): Promise<void> => new Promise((resolve) => void server.close(() => resolve()))

test('nobody else is given the port of a server that is away, and it comes back to it', async (t) => {
  const [server, other] = [createServer(), createServer()]
  const port = await listenForGood(server)
  await closed(server)
  let drawn = port - 1
  const given = await listenForGood(other, '127.0.0.1', () => (drawn += 1))
  t.not(given, port)
  await listenAgain(server, port)
  t.like(server.address(), { port })
  await Promise.all([closed(server), closed(other)])
})

test('a server comes back to its port though another process has a copy of the socket that was closed', async (t) => {
  const server = createServer()
  const port = await listenForGood(server)
  const program = "process.on('message', () => process.send('has it'))"
  const other = spawn('node', ['-e', program], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  t.teardown(() => other.kill())
  other.send('a copy', server)
  await once(other, 'message')
  await closed(server)

  const refused = once(server, 'error')
  const again = listenAgain(server, port)
  t.like(await refused, [{ code: 'EADDRINUSE' }])
  other.kill()
  await once(other, 'exit')
  await again
  t.like(server.address(), { port })
  await closed(server)
})
