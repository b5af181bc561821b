import { createServer, type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

/** A webhook request as it came in. */
type Received = { readonly headers: IncomingHttpHeaders; readonly body: string }

/** A customer's system that takes webhooks, on a free port of this machine. */
export type Receiver = {
  readonly url: string
  /** The next request, in the order in which they came; rejects where none comes in time. */
  readonly next: () => Promise<Received>
  readonly close: () => void
}

/** In milliseconds. */
const longestWait = 60_000

export const receiver = async (): Promise<Receiver> => {
  const arrived: Array<Received> = []
  let wake: () => void = () => undefined

  const receive = async (request: IncomingMessage): Promise<void> => {
    arrived.push({ headers: request.headers, body: await text(request) })
    wake()
  }
  const server = createServer((request, response) => {
    void receive(request).then(() => response.writeHead(204).end())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const next = (): Promise<Received> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        reject(new Error(`no webhook came within ${longestWait / 1_000} seconds`))
      }, longestWait)
      wake = () => {
        const first = arrived.shift()
        if (first === undefined) return
        clearTimeout(timer)
        wake = () => undefined
        resolve(first)
      }
      wake()
    })

  return {
    url: `http://127.0.0.1:${port}/webhook`,
    next,
    close: () => {
      server.close()
      server.closeAllConnections()
    },
  }
}
