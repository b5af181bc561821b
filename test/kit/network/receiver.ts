import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Scope } from '../temporary-directory.js'
import type { Activity, Contact } from './http.js'

/** A request that reached a webhook. */
export type Received = {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: Buffer
}

/** What the receiver answers to the n-th request, from 1 on: a status, or whatever is done with the response. */
export type Answering = (n: number, response: ServerResponse) => number | undefined

export type Receiver = {
  readonly url: string
  readonly requests: ReadonlyArray<Received>
  readonly answer: (answering: Answering) => void
  /** Resolves when `n` requests have come, with the first n; rejects when they take too long. */
  readonly received: (n: number) => Promise<ReadonlyArray<Received>>
  /** Resolves when a request that `isWanted`, or any, has come, with the first of them. */
  readonly receivedOne: (isWanted?: (request: Received) => boolean) => Promise<Received>
  readonly close: () => Promise<void>
}

/** How long requests may take to come, in milliseconds. */
const longestWait = 60_000

type Waiting = { readonly isOver: () => boolean; readonly resolve: () => void }

/** A customer's system: records what comes and answers 200 until it is told otherwise. */
export const openReceiver = async (): Promise<Receiver> => {
  const requests: Array<Received> = []
  let answering: Answering = () => 200
  let waiting: Array<Waiting> = []

  const server = createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.once('end', () => {
      const { method = '', url: path = '', headers } = request
      requests.push({ method, path, headers, body: Buffer.concat(chunks) })
      const status = answering(requests.length, response)
      if (status !== undefined) response.writeHead(status).end()
      const woken = waiting.filter(({ isOver }) => isOver())
      waiting = waiting.filter((one) => !woken.includes(one))
      for (const { resolve } of woken) resolve()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  const come = (isOver: () => boolean): Promise<void> =>
    new Promise((resolve, reject) => {
      if (isOver()) {
        resolve()
        return
      }
      const timer = setTimeout(() => {
        const labels = requests.map((request) => payloadOf(request).activity?.label ?? 'no label')
        reject(new Error(`after ${longestWait} ms these had come: ${labels.join(', ')}`))
      }, longestWait)
      waiting.push({
        isOver,
        resolve: () => {
          clearTimeout(timer)
          resolve()
        },
      })
    })

  return {
    url: `http://127.0.0.1:${port}/hook`,
    requests,
    answer: (next) => {
      answering = next
    },
    received: async (n) => {
      await come(() => requests.length >= n)
      return requests.slice(0, n)
    },
    receivedOne: async (isWanted = () => true) => {
      await come(() => requests.some(isWanted))
      return requests.find(isWanted) as Received
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve()
        })
        server.closeAllConnections()
      }),
  }
}

/** A receiver that closes when the test is over. */
export const receiverFor = async (scope: Scope): Promise<Receiver> => {
  const receiver = await openReceiver()
  scope.teardown(receiver.close)
  return receiver
}

/** The body of both formats (contract 6.2 and 6.3). */
type Payload = {
  readonly activity?: Activity
  readonly contact?: Contact
  readonly activity_type?: string
  readonly activity_label?: string
  readonly lead_originators?: ReadonlyArray<{ readonly origin: string; readonly key: string }>
}

export const payloadOf = ({ body }: Received): Payload => JSON.parse(body.toString('utf8')) as Payload

/** The label of the activity that a request carried. */
export const labelOf = (request: Received): string | undefined => {
  const { activity, activity_label } = payloadOf(request)
  return activity?.label ?? activity_label
}
