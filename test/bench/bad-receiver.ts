import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dripped, unanswered } from '../kit/network/bad-answers.js'

type Behaviour = (response: ServerResponse) => void

/**
 * Endpoints that are as bad as a sender allows: one accepts and never answers, one drips a byte a second, one is just
 * in time, one always fails.
 */
const behaviours: Readonly<Record<string, Behaviour>> = {
  '/silent': unanswered,
  '/drips': dripped,
  '/late': (response) => {
    setTimeout(() => response.end(), 2_900)
  },
  '/fails': (response) => void response.writeHead(500).end(),
}

const server = createServer((request, response) => {
  request.resume()
  request.socket.on('error', () => undefined)
  behaviours[request.url ?? '']?.(response)
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))
