import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'

/**
 * A receiver that takes everything. `GET /` tells, in the order of arrival, when each e-mail address of a body came.
 */
const arrivals: Array<readonly [email: string, at: number]> = []

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
    const email = /"email":"([^"]*)"/.exec(body)?.[1] ?? ''
    arrivals.push([email, performance.timeOrigin + performance.now()])
    response.end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))
