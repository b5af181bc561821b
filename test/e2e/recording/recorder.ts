import type { IncomingHttpHeaders } from 'node:http'
import { send, type Answer, type Sent } from '../../kit/network/http.js'
import { labelOf, type Received } from '../../kit/network/receiver.js'
import { until } from '../../kit/time/until.js'
import type { Normaliser } from './normalised.js'
import { nextTurn } from '../../kit/time/turns.js'

type Headers = Readonly<Record<string, string>>

/** A request and its answer, without what differs from run to run. */
export type Exchange = {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly status: number
  readonly headers: Headers
  /** As it came: the order and the spacing of JSON are part of the surface. */
  readonly body: string
}

/** A request that came to a webhook, and how often the very same came. */
export type Arrival = {
  readonly name: string
  readonly times: number
  readonly method: string
  readonly path: string
  readonly headers: Headers
  readonly body: string
}

export type Recorder = {
  readonly exchanges: ReadonlyArray<Exchange>
  /** Sends one request and writes down what was answered. */
  readonly ask: (name: string, url: string, sent?: Sent) => Promise<Answer>
  /** Asks until the answer `isSo`, and writes down that one alone: for what comes about a moment later. */
  readonly askUntil: (name: string, url: string, isSo: (answer: Answer) => boolean, sent?: Sent) => Promise<Answer>
}

/** In milliseconds: what is slower than that does not come. */
const longestWait = 60_000

export const recorder = ({ text }: Normaliser): Recorder => {
  const exchanges: Array<Exchange> = []
  let answeredAt = 0

  /** Two requests never share a millisecond: what is ordered by time would be ordered by chance. */
  const paced = async (url: string, sent: Sent): Promise<Answer> => {
    while (Date.now() <= answeredAt) await nextTurn()
    const answer = await send(url, sent)
    answeredAt = Date.now()
    return answer
  }

  const write = (name: string, url: string, { method = 'GET' }: Sent, answer: Answer): void => {
    const called = text(name)
    if (exchanges.some((one) => one.name === called)) throw new Error(`two exchanges are called ${called}`)
    const path = text(url.slice(new URL(url).origin.length))
    const headers = answerHeaders(answer.headers, text)
    exchanges.push({ name: called, method, path, status: answer.status, headers, body: text(answer.text) })
  }

  return {
    exchanges,
    ask: async (name, url, sent = {}) => {
      const answer = await paced(url, sent)
      write(name, url, sent, answer)
      return answer
    },
    askUntil: async (name, url, isSo, sent = {}) => {
      const answer = await until(name, longestWait, () => paced(url, sent), isSo)
      write(name, url, sent, answer)
      return answer
    },
  }
}

/** Of one hop, or of the moment, and so of no surface; that a connection is closed tells a client something. */
const ofTheHop: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'date',
  'keep-alive',
  'transfer-encoding',
])

const answerHeaders = (headers: IncomingHttpHeaders, text: Normaliser['text']): Headers => {
  const lasting = Object.entries(headers).filter(
    ([name, value]) => !ofTheHop.has(name) || (name === 'connection' && value === 'close'),
  )
  const shown = lasting.map(
    ([name, value]) => [name, name === 'retry-after' ? '<seconds>' : text(String(value))] as const,
  )
  return inOrder(shown)
}

/** What of its headers a receiver may look at; the rest belongs to the connection. */
const arrivalHeaders = ({ headers, body }: Received, known: Normaliser['known']): Headers => {
  const shown = Object.entries(headers)
    .filter(([name]) => name !== 'connection' && name !== 'host')
    .map(([name, value]) => [name, known(String(value))] as const)
  const length = headers['content-length'] === String(body.length) ? '<length of the body>' : 'another length'
  const timestamp = /^\d+$/.test(String(headers['webhook-timestamp'])) ? '<seconds>' : 'no number'
  return inOrder([...shown, ['content-length', length], ['webhook-timestamp', timestamp]])
}

const inOrder = (headers: ReadonlyArray<readonly [string, string]>): Headers =>
  Object.fromEntries(headers.toSorted(([one], [other]) => (one < other ? -1 : 1)))

/**
 * What a receiver got, in an order that does not hang on which request was faster: by path, label, body and delivery.
 * The ids in it were all in answers before.
 */
export const arrivalsOf = (requests: ReadonlyArray<Received>, { known }: Normaliser): ReadonlyArray<Arrival> => {
  const counts = new Map<string, number>()
  for (const request of requests) {
    const { method, path, body } = request
    const name = `${path} ${labelOf(request) ?? 'without a label'}`
    const shown = { method, path, headers: arrivalHeaders(request, known), body: known(body.toString('utf8')) }
    const whole = JSON.stringify([name, shown.body, shown.headers['webhook-id'], shown])
    counts.set(whole, (counts.get(whole) ?? 0) + 1)
  }
  return [...counts.keys()].sort().map((whole) => {
    const [name, , , shown] = JSON.parse(whole) as [string, string, string, Omit<Arrival, 'name' | 'times'>]
    return { name, times: counts.get(whole) ?? 0, ...shown }
  })
}
