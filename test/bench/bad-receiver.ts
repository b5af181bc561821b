import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Behaviour = (request: IncomingMessage, response: ServerResponse) => void

const answer = 'HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n'

/**
 * Endpoints that are as bad as a sender allows: one accepts and never answers, one drips a byte a second, one is just in
 * time, one always fails.
 */
const behaviours: Readonly<Record<string, Behaviour>> = {
  '/silent': () => undefined,
  '/drips': ({ socket }) => {
    let written = 0
    const timer = setInterval(() => socket.write(answer.charAt(written++)), 1_000)
    socket.once('close', () => clearInterval(timer))
  },
  '/late': (_request, response) => {
    setTimeout(() => response.end(), 2_900)
  },
  '/fails': (_request, response) => void response.writeHead(500).end(),
}

const server = createServer((request, response) => {
  request.resume()
  request.socket.on('error', () => undefined)
  behaviours[request.url ?? '']?.(request, response)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))
