import type { ExecutionContext } from 'ava'
import type { TlsOptions } from 'node:tls'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import { webhookClient } from '../../../adapters/webhook/client.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import type { WebhookRequest } from '../../../projections/delivery/webhook-client.js'
import { sleep, until } from '../../kit/time/until.js'
import { openRawReceiver, type Behaviour } from './raw-receiver.js'

/** One receiver that misbehaves, and how a post to it ends. */
export type Row = {
  readonly name: string
  readonly behaviour: Behaviour
  /** The status that comes, or else the reason, or any of the reasons that a race allows. */
  readonly ends: number | string | ReadonlyArray<string>
  /** The least milliseconds that the attempt takes, where a limit is what is tested. */
  readonly takes?: number
  /** Whether the connection stays open for the next request. */
  readonly staysOpen?: boolean
  readonly excerpt?: string
  readonly host?: string
  readonly body?: string
  /** Set where the URL is an https one, undefined in it where the receiver knows nothing of TLS. */
  readonly secure?: { readonly identity: TlsOptions | undefined }
  /** Set where the URL is an http one and the receiver speaks TLS. */
  readonly identity?: TlsOptions
}

/**
 * Where limits are not what is tested the time of the client passes slowly, so that none of them ends an attempt
 * because the machine is busy.
 */
export const slowTime: MonotonicClock = {
  now: () => monotonicClock.now() / 20,
  sleep: (milliseconds, signal) => monotonicClock.sleep(milliseconds * 20, signal),
}

/**
 * The least milliseconds that an attempt takes: a timer may end a moment early by the clock that measures. What it
 * takes at most is the machine's; the reason says which limit ended it.
 */
export const threeSeconds = 2_990

export const noResponse = 'no response within 3 s'
export const noConnection = 'no connection within 3 s'
export const noStatus = 'no status within 16 kB'
export const reset = 'no response (ECONNRESET)'

export const token = 'tok-0123456789abcdef'

export const requestTo = (url: string, body = '{"a":1}'): WebhookRequest => ({
  url,
  token,
  body,
  id: 'dlv_1',
  timestamp: 1_700_000_000,
  signature: 'v1,abc',
})

const loopback = [{ address: '127.0.0.1', family: 4 }]

/** Every name leads to this machine; `after-2000-ms.test` takes so long, and `never.test` has no answer. */
export const resolve = async (host: string) => {
  if (host === 'never.test') return new Promise<typeof loopback>(() => undefined)
  await sleep(Number(/after-(\d+)-ms/.exec(host)?.[1] ?? 0))
  return loopback
}

/** TCP sockets and servers of this thread. */
const tcpHandles = (): number =>
  process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP') || name.startsWith('TLS')).length

/** After all tests of a file: none of them left a socket or a server open. */
export const noSocketIsLeft = async (): Promise<void> => {
  await until('no socket is left', 60_000, () => tcpHandles() === 0)
}

const healthy: Behaviour = {
  onRequest: (connection) => connection.write('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok'),
}

/**
 * Posts to each receiver at the same time, to one that is healthy after each, and checks which connections stay open.
 */
export const runRows = async (
  t: ExecutionContext,
  rows: ReadonlyArray<Row>,
  { authorities = [] }: { readonly authorities?: ReadonlyArray<string> } = {},
): Promise<void> => {
  const options = { allowPrivate: true, resolve, authorities }
  const [unlimited, limited] = [webhookClient({ ...options, monotonic: slowTime }), webhookClient(options)]
  const well = await openRawReceiver(healthy)

  const run = async (row: Row) => {
    const { behaviour, host = '127.0.0.1', body, secure, identity = secure?.identity, staysOpen = false } = row
    const receiver = await openRawReceiver(behaviour, identity)
    const client = row.takes === undefined ? unlimited : limited
    const request = requestTo(`${secure === undefined ? 'http' : 'https'}://${host}:${receiver.port}/hook`, body)
    const begun = performance.now()
    const response = await client.send(request, new AbortController().signal)
    const elapsed = performance.now() - begun
    const after = await client.send(requestTo(`http://127.0.0.1:${well.port}/`), new AbortController().signal)
    const open = staysOpen ? 1 : 0
    // A connection that is about to be closed does not count as open.
    await sleep(50)
    const closed = await until('connections are closed', 20_000, () => receiver.open() === open).catch(() => undefined)
    const { delivered, status, reason, excerpt } = response
    const isTooEarly = elapsed < (row.takes ?? 0)
    await receiver.close()
    return {
      name: row.name,
      delivered,
      ends: status ?? (row.ends instanceof Array && row.ends.includes(reason) ? row.ends : reason),
      reason: status === null ? undefined : reason,
      excerpt: row.excerpt === undefined ? undefined : excerpt,
      tooEarly: isTooEarly ? elapsed : undefined,
      open: closed === undefined ? receiver.open() : open,
      after: after.reason,
      sentInVain: /^no (secure )?connection/.test(reason) ? receiver.requests.length : 0,
    }
  }

  const seen = await Promise.all(rows.map(run))
  unlimited.close()
  limited.close()
  await well.close()
  const expected = rows.map(({ name, ends, excerpt, staysOpen }): (typeof seen)[number] => {
    const delivered = typeof ends === 'number' && ends >= 200 && ends <= 299
    const reason = typeof ends !== 'number' ? undefined : delivered ? 'delivered' : `status ${ends}`
    return {
      name,
      delivered,
      ends,
      reason,
      excerpt,
      tooEarly: undefined,
      open: staysOpen ? 1 : 0,
      after: 'delivered',
      sentInVain: 0,
    }
  })
  t.deepEqual(seen, expected)
}
