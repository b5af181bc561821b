import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'

/**
 * Takes every message, as Twilio's message resource answers, and reports nothing of it later. `GET /` tells, in the
 * order of arrival, when a message to which number came.
 */
const arrivals: Array<readonly [number: string, at: number]> = []
let taken = 0

const server = createServer((request, response) => {
  if (request.method === 'GET') {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(arrivals.splice(0)))
    return
  }
  let body = ''
  request.setEncoding('utf8')
  request.on('data', (chunk: string) => (body += chunk))
  request.on('end', () => {
    arrivals.push([new URLSearchParams(body).get('To') ?? '', performance.timeOrigin + performance.now()])
    taken += 1
    response.writeHead(201, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ sid: `SM${taken.toString(16).padStart(32, '0')}`, status: 'queued' }))
  })
})
server.listen(0, '127.0.0.1', 4_096, () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))
