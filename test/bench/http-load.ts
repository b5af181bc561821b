import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { summaryOf, type Summary } from './summary.js'
import { sleep } from '../kit/time/until.js'

/**
 * A load on one address of this machine. A raw socket costs the client so little that the server is what is measured.
 */
export type Load = {
  readonly port: number
  readonly connections: number
  /** The whole request, head and body, with this serial number. */
  readonly request: (serial: number) => string
  readonly expectedStatus: number
  readonly seconds: number
  /** Milliseconds from an answer to the next request on its connection; without it, none. */
  readonly pause?: number
}

/** A request of HTTP/1.1 that keeps its connection. */
export const requestText = (
  method: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  body = '',
): string => {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const length = body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`
  return `${method} ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n${lines.join('')}${length}\r\n${body}`
}

/** As many requests as the connections can hold, one after the other on each, for so many seconds. */
export const closedLoop = async (
  load: Load,
  firstSerial: number,
): Promise<Summary & { readonly nextSerial: number }> => {
  const started = performance.now()
  const end = started + load.seconds * 1000
  const latencies = await loopWhile(() => performance.now() < end, load, firstSerial)
  const nextSerial = firstSerial + latencies.length
  return { ...summaryOf(latencies, (performance.now() - started) / 1000), nextSerial }
}

/** The same for as long as `shouldContinue`, which is asked before each request; gives how long each took. */
export const loopWhile = async (
  shouldContinue: () => boolean,
  load: Omit<Load, 'seconds'>,
  firstSerial: number,
): Promise<ReadonlyArray<number>> => {
  const latencies: Array<number> = []
  let serial = firstSerial
  await Promise.all(
    Array.from({ length: load.connections }, async () => {
      const connection = await open(load.port)
      while (shouldContinue()) {
        const sent = performance.now()
        const status = await connection.exchange(load.request(serial++))
        if (status !== load.expectedStatus) throw new Error(`the load got the status ${status}`)
        latencies.push(performance.now() - sent)
        if (load.pause !== undefined && load.pause > 0) await sleep(load.pause)
      }
      connection.close()
    }),
  )
  return latencies
}

/**
 * Requests at a steady rate, whatever the answers do; gives how long each took, in the order in which they were sent.
 */
export const openLoop = async (
  load: Omit<Load, 'seconds'>,
  perSecond: number,
  count: number,
  firstSerial: number,
): Promise<ReadonlyArray<number>> => {
  const idle = await Promise.all(Array.from({ length: load.connections }, () => open(load.port)))
  const all = [...idle]
  const started = performance.now()
  const answers: Array<Promise<number>> = []
  for (let index = 0; index < count; index += 1) {
    const due = started + (index * 1000) / perSecond
    while (performance.now() < due) await sleep(due - performance.now())
    // In turn: one that waits for long is closed by the server.
    const connection = idle.shift() ?? (await open(load.port))
    const sent = performance.now()
    answers.push(
      connection.exchange(load.request(firstSerial + index)).then((status) => {
        if (status !== load.expectedStatus) throw new Error(`the load got the status ${status}`)
        idle.push(connection)
        return performance.now() - sent
      }),
    )
  }
  const latencies = await Promise.all(answers)
  for (const connection of new Set([...all, ...idle])) connection.close()
  return latencies
}

type Connection = { readonly exchange: (request: string) => Promise<number>; readonly close: () => void }

const open = (port: number): Promise<Connection> =>
  new Promise((resolve, reject) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
    let waiting: { readonly resolve: (status: number) => void; readonly reject: (error: Error) => void } | undefined
    let text = ''
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      text += chunk
      const head = text.indexOf('\r\n\r\n')
      if (head < 0) return
      const length = Number(/content-length: (\d+)/i.exec(text.slice(0, head))?.[1] ?? 0)
      if (text.length < head + 4 + length) return
      const status = Number(text.slice(9, 12))
      text = ''
      waiting?.resolve(status)
    })
    socket.once('error', (error) => {
      waiting?.reject(error)
      reject(error)
    })
    socket.once('connect', () => {
      resolve({
        exchange: (request) =>
          new Promise((done, failed) => {
            waiting = { resolve: done, reject: failed }
            socket.write(request)
          }),
        close: () => {
          socket.destroy()
        },
      })
    })
  })
