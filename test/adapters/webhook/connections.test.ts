import test, { type ExecutionContext } from 'ava'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import type { TlsOptions } from 'node:tls'
import { Worker } from 'node:worker_threads'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import { webhookClient } from '../../../adapters/webhook/client.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import type { WebhookRequest, WebhookResponse } from '../../../projections/delivery/webhook-client.js'
import { sleep, until } from '../../kit/time/until.js'
import { newAuthority, newIdentity } from './certificates.js'
import { postWithEnvironment } from './post-with-environment.js'
import { every, openRawReceiver, type Behaviour, type RawReceiver } from './raw-receiver.js'
import { noConnection, requestTo, reset, resolve, slowTime, token } from './rows.js'

const authority = newAuthority('An authority that is trusted')
const identity = newIdentity({ hosts: ['receiver.test', 'after-300-ms.test'] }, authority)

const open = async (
  t: ExecutionContext,
  behaviour: Behaviour,
  secure?: TlsOptions,
  monotonic: MonotonicClock = slowTime,
): Promise<{
  readonly receiver: RawReceiver
  readonly send: (request?: Partial<WebhookRequest>) => Promise<WebhookResponse>
  readonly url: (host: string) => string
}> => {
  const receiver = await openRawReceiver(behaviour, secure)
  const client = webhookClient({ allowPrivate: true, resolve, authorities: [authority.certificate], monotonic })
  t.teardown(async () => {
    client.close()
    await receiver.close()
  })
  const url = (host: string): string => `http${secure === undefined ? '' : 's'}://${host}:${receiver.port}/hook`
  const send = (request: Partial<WebhookRequest> = {}): Promise<WebhookResponse> =>
    client.send(
      { ...requestTo(url(secure === undefined ? '127.0.0.1' : 'receiver.test')), ...request },
      new AbortController().signal,
    )
  return { receiver, send, url }
}

const answer = (status: number, body = ''): string =>
  `HTTP/1.1 ${status} x\r\ncontent-length: ${body.length}\r\n\r\n${body}`

const answers = (text: string): Behaviour => ({ onRequest: (connection) => connection.write(text) })

const inTurn = async <A>(count: number, does: (n: number) => Promise<A>): Promise<ReadonlyArray<A>> => {
  const all: Array<A> = []
  for (let n = 1; n <= count; n += 1) all.push(await does(n))
  return all
}

const isDelivered = ({ delivered }: WebhookResponse): boolean => delivered

for (const [name, secure] of [
  ['http', undefined],
  ['https', identity],
] as const) {
  test(`posts share a connection: ${name}`, async (t) => {
    const { receiver, send } = await open(t, answers(answer(200, 'ok')), secure)
    const all = await inTurn(20, () => send())
    t.true(all.every(isDelivered))
    t.is(receiver.made(), 1)
    t.is(receiver.requests.length, 20)
    for (const { times } of all.slice(1)) t.like(times, { dns: null, connect: null, tls: null })
    t.true((await Promise.all(Array.from({ length: 8 }, () => send()))).every(isDelivered))
    const made = receiver.made()
    t.true(made <= 8, `${made} connections`)
    t.true((await Promise.all(Array.from({ length: 8 }, () => send()))).every(isDelivered))
    t.is(receiver.made(), made)
  })
}

test('an attempt tells when its steps were done', async (t) => {
  const slow: Behaviour = { onRequest: (connection) => setTimeout(() => connection.write(answer(200)), 200) }
  const { send, url } = await open(t, slow, identity, monotonicClock)
  const { times, durationMs } = await send({ url: url('after-300-ms.test') })
  const { dns, connect: connected, tls, firstByte, total } = times ?? { total: 0 }
  const steps = [dns, connected, tls, firstByte, total].map(Number)
  t.true(steps.every(Number.isInteger), steps.join())
  t.deepEqual(
    [...steps].sort((one, other) => one - other),
    steps,
  )
  t.is(durationMs, total)
  t.true(Number(dns) >= 299, `${dns} ms`)
  t.true(Number(firstByte) - Number(tls) >= 198, steps.join())

  const again = await send({ url: url('after-300-ms.test') })
  t.like(again.times, { dns: null, connect: null, tls: null })
  t.true(Number(again.times?.firstByte) >= 199)
})

test('steps that were not needed or not reached have no time', async (t) => {
  const { receiver, send, url } = await open(t, answers(answer(200)))
  const literal = (await send()).times
  t.like(literal, { dns: null, tls: null })
  t.truthy(Number.isInteger(literal?.connect) && Number.isInteger(literal?.firstByte))
  const named = (await send({ url: url('receiver.test') })).times
  t.true(Number.isInteger(named?.dns))
  const limited = await open(t, {}, undefined, monotonicClock)
  const insecure = (await limited.send({ url: limited.url('receiver.test').replace('http', 'https') })).times
  t.like(insecure, { tls: null, firstByte: null })
  t.true(Number.isInteger(insecure?.dns) && Number.isInteger(insecure?.connect))
  await receiver.close()
  const refused = (await send({ url: url('other.test') })).times
  t.like(refused, { connect: null, tls: null, firstByte: null })
  const malformed = (await send({ url: 'mailto:a@example.com' })).times
  t.like(malformed, { dns: null, connect: null, tls: null, firstByte: null })
})

/** How much a receiver can write, a piece every two milliseconds, before the connection is closed. */
const writtenUntilCut = async (
  t: ExecutionContext,
  first: string,
  piece: string,
  secure?: TlsOptions,
): Promise<number> => {
  let written = first.length
  const behaviour: Behaviour = {
    onRequest: (connection) => {
      connection.write(first)
      every(2, connection, () => {
        written += piece.length
        connection.write(piece)
      })
    },
  }
  const { receiver, send } = await open(t, behaviour, secure)
  await send()
  await until('the connection is closed', 60_000, () => receiver.open() === 0)
  return written
}

test('no more than 16 kB of a response are read', async (t) => {
  const head = 'HTTP/1.1 200 OK\r\n'
  const piece = 'x'.repeat(200)
  const all = await Promise.all([
    writtenUntilCut(t, `${head}content-length: 100000000\r\n\r\n`, piece),
    writtenUntilCut(t, `${head}content-length: 100000000\r\n\r\n`, piece, identity),
    writtenUntilCut(t, `${head}\r\n`, piece),
    writtenUntilCut(t, `${head}transfer-encoding: chunked\r\n\r\n`, `c8\r\n${piece}\r\n`),
    writtenUntilCut(t, head, `a: ${piece}\r\n`),
    writtenUntilCut(t, '', `HTTP/1.1 102 x\r\na: ${piece}\r\n\r\n`),
  ])
  // What is on its way when the connection is closed counts too, and the more the slower the machine is.
  for (const written of all) t.true(written > 15_000 && written < 16_384 + 16_384, `${written} bytes`)
})

test('a receiver that closes each connection after its answer, without saying so, gets every post once', async (t) => {
  const { receiver, send } = await open(t, { onRequest: (connection) => connection.end(answer(200)) })
  t.true((await inTurn(100, () => send())).every(isDelivered))
  const beside = await Promise.all(Array.from({ length: 8 }, () => inTurn(25, () => send())))
  t.true(beside.flat().every(isDelivered))
  t.is(receiver.requests.length, 300)
  t.is(receiver.made(), 300)
})

/** Tells how many connections to a port this process has, which learns later than the other side that one is closed. */
const countingConnections = (t: ExecutionContext): ((port: number) => number) => {
  const connected = new Map<Socket, number | undefined>()
  const track = (message: unknown): void => {
    const { socket } = message as { readonly socket: Socket }
    socket.once('connect', () => connected.set(socket, socket.remotePort))
    socket.once('close', () => connected.delete(socket))
  }
  subscribe('net.client.socket', track)
  t.teardown(() => unsubscribe('net.client.socket', track))
  return (port) => [...connected.values()].filter((one) => one === port).length
}

test('a pooled connection that was closed is not reused', async (t) => {
  const connectionsTo = countingConnections(t)
  for (const close of [(one: Socket) => one.end(), (one: Socket) => one.resetAndDestroy()]) {
    let pooled: Socket | undefined
    const { receiver, send } = await open(t, {
      onRequest: (connection) => {
        pooled = connection
        connection.write(answer(200))
      },
    })
    t.true(isDelivered(await send()))
    t.is(connectionsTo(receiver.port), 1)
    if (pooled !== undefined) close(pooled)
    await until('the connection is closed', 60_000, () => connectionsTo(receiver.port) === 0)
    t.true(isDelivered(await send()))
    t.is(receiver.made(), 2)
  }
})

test('a request that a pooled connection may have carried is not sent again within its attempt', async (t) => {
  for (const close of [
    (one: Socket) => one.end(),
    (one: Socket) => one.destroy(),
    (one: Socket) => one.resetAndDestroy(),
  ]) {
    const used = new WeakSet<Socket>()
    const { receiver, send } = await open(t, {
      onRequest: (connection) => {
        if (used.has(connection)) close(connection)
        else connection.write(answer(200))
        used.add(connection)
      },
    })
    t.true(isDelivered(await send()))
    t.like(await send(), { delivered: false, status: null, reason: reset })
    t.is(receiver.requests.length, 2)
    t.is(receiver.made(), 1)
    t.true(isDelivered(await send()))
    t.is(receiver.made(), 2)
  }
})

test('an answer that nobody waits for does not answer the next request', async (t) => {
  const connectionsTo = countingConnections(t)
  for (const milliseconds of [0, 1, 2, 5, 20]) {
    let n = 0
    const { receiver, send } = await open(t, {
      onConnection: (connection) => connection.setNoDelay(),
      onRequest: (connection) => {
        n += 1
        connection.write(answer(n % 2 === 1 ? 200 : 500))
        if (n % 2 === 1) setTimeout(() => connection.write(answer(200)), milliseconds)
      },
    })
    for (let round = 0; round < 10; round += 1) {
      t.is((await send()).status, 200)
      await until('the connection is closed', 60_000, () => connectionsTo(receiver.port) === 0)
      t.is((await send()).status, 500)
    }
    t.is(receiver.requests.length, 20)
  }
})

test('a pooled connection is closed after a while without use', async (t) => {
  const { receiver, send } = await open(t, answers(answer(200)))
  await send()
  const begun = performance.now()
  await until('the connection is closed', 60_000, () => receiver.open() === 0)
  const elapsed = performance.now() - begun
  t.true(elapsed > 3_500, `${elapsed} ms`)
})

test('a request is what the contract says, whatever the environment and earlier answers say', async (t) => {
  const cookie = answer(200).replace('\r\n\r\n', '\r\nset-cookie: a=b; path=/\r\nalt-svc: h2=":1"\r\n\r\n')
  const trap = await openRawReceiver({})
  t.teardown(trap.close)
  const proxies = ['http_proxy', 'https_proxy', 'all_proxy', 'HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']
  const environment = {
    ...Object.fromEntries(proxies.map((name) => [name, `http://127.0.0.1:${trap.port}`])),
    NODE_USE_ENV_PROXY: '1',
  }
  const { receiver, url } = await open(t, answers(cookie))
  const body = '{"name":"Zo\u00eb \u2603"}'
  const urls = [url('127.0.0.1'), url('127.0.0.1'), `${url('user:secret@127.0.0.1')}#a`]
  const all = await postWithEnvironment(
    environment,
    urls.map((one) => requestTo(one, body)),
  )
  t.true(all.every(isDelivered))
  for (const request of receiver.requests) {
    const [lines = '', content] = request.split('\r\n\r\n')
    t.is(content, Buffer.from(body).toString('latin1'))
    const [first, ...headers] = lines.split('\r\n')
    t.is(first, 'POST /hook HTTP/1.1')
    t.deepEqual(headers.map((header) => header.toLowerCase()).sort(), [
      'accept-encoding: identity',
      'accept: */*',
      `authorization: bearer ${token}`,
      'connection: keep-alive',
      `content-length: ${Buffer.byteLength(body)}`,
      'content-type: application/json',
      `host: 127.0.0.1:${receiver.port}`,
      'user-agent: leadloop',
      'webhook-id: dlv_1',
      'webhook-signature: v1,abc',
      'webhook-timestamp: 1700000000',
    ])
  }
  t.is(receiver.requests.length, 3)
  t.is(trap.made(), 0)
})

test('an attempt never rejects, and no reason holds the token or the URL', async (t) => {
  const { receiver, send } = await open(t, answers(answer(200)))
  const requests: ReadonlyArray<Partial<WebhookRequest>> = [
    ...['', 'secret-host', 'http://', 'data:text/plain,secret', 'file:///secret', 'http://127.0.0.1:0/secret'].map(
      (one) => ({ url: one }),
    ),
    ...[`${token}\r\nx: y`, `${token}\0`, `${token}\u2603`].map((one) => ({ token: one })),
    { id: 'secret\r\nx: y' },
    { signature: 'secret\n' },
    { url: `http://secret.${'a'.repeat(300)}.test/` },
  ]
  for (const request of requests) {
    const { delivered, status, reason, excerpt } = await send(request)
    t.deepEqual({ delivered, status, excerpt }, { delivered: false, status: null, excerpt: null }, reason)
    t.notRegex(reason, /secret|tok-/)
  }
  t.is(receiver.requests.length, 0)
  t.true(isDelivered(await send()))
})

test('attempts that are in flight when the client closes fail, and never reject', async (t) => {
  const receiver = await openRawReceiver({})
  t.teardown(receiver.close)
  const client = webhookClient({ allowPrivate: true, resolve, monotonic: slowTime })
  const underWay = Array.from({ length: 5 }, () =>
    client.send(requestTo(`http://127.0.0.1:${receiver.port}/`), new AbortController().signal),
  )
  await until('the requests are there', 60_000, () => receiver.requests.length === 5)
  client.close()
  for (const { reason } of await Promise.all(underWay)) t.is(reason, reset)
})

/** A server of another thread that accepts connections only after so many milliseconds, and whose queue is full. */
const openFullServer = async (t: ExecutionContext, milliseconds: number): Promise<number> => {
  const code = `
    const { createServer } = require('node:net')
    const { parentPort } = require('node:worker_threads')
    const served = (socket) => {
      socket.on('error', () => undefined)
      socket.on('data', () => socket.end(${JSON.stringify(answer(200))}))
    }
    const server = createServer(served).listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
      parentPort.postMessage(server.address().port)
      setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${milliseconds}))
    })`
  const worker = new Worker(code, { eval: true })
  t.teardown(() => worker.terminate())
  const [port] = (await once(worker, 'message')) as [number]
  await sleep(100)
  const fillers = Array.from({ length: 8 }, () => connect(port, '127.0.0.1').on('error', () => undefined))
  t.teardown(() => fillers.forEach((one) => one.destroy()))
  await sleep(100)
  return port
}

test('an attempt fails where no connection is accepted within three seconds, and not where it is accepted late', async (t) => {
  const [client, unlimited] = [monotonicClock, slowTime].map((monotonic) =>
    webhookClient({ allowPrivate: true, resolve, monotonic }),
  )
  t.teardown(() => [client, unlimited].forEach((one) => one?.close()))
  const [never, late] = await Promise.all([openFullServer(t, 60_000), openFullServer(t, 700)])
  const [failed, delivered] = await Promise.all([
    client?.send(requestTo(`http://127.0.0.1:${never}/`), new AbortController().signal),
    unlimited?.send(requestTo(`http://127.0.0.1:${late}/`), new AbortController().signal),
  ])
  t.like(failed, { delivered: false, status: null, reason: noConnection })
  t.true(Number(failed?.durationMs) >= 3_000, `${failed?.durationMs} ms`)
  t.like(failed?.times, { connect: null, firstByte: null })
  t.like(delivered, { delivered: true, status: 200 })
})
