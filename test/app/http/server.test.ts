import test, { type ExecutionContext } from 'ava'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { text } from 'node:stream/consumers'
import { aborted } from '../../../domain/abortable.js'
import { E, flow, TE } from '../../../domain/prelude.js'
import type { Endpoint, Surface } from '../../../app/http/endpoint.js'
import { drain, listen } from '../../../app/http/listener.js'
import { httpServer, routesOf, type Observed } from '../../../app/http/server.js'
import { StreamedText, type Problem } from '../../../app/http/problem.js'
import { answer, execute } from '../../../app/http/steps.js'
import { send, sendJson } from '../../kit/network/http.js'
import { until } from '../../kit/time/until.js'
import { recordingLogger, type LogLine } from '../../kit/parts/recording-logger.js'

const phone = '+14155550123'

const endpoints: ReadonlyArray<Endpoint<undefined>> = [
  {
    method: 'POST',
    path: '/things/:id',
    handle: flow(
      execute(() => Promise.resolve(E.right({ events: [{ correlationId: 'cor-1' }, { correlationId: 'cor-2' }] }))),
      answer(201, ({ request }) => ({ id: request.params['id'] })),
    ),
  },
  { method: 'GET', path: '/things/:id', handle: answer(200, () => ({})) },
  {
    method: 'GET',
    path: '/away',
    handle: flow(
      TE.bindW('it', () => TE.left<Problem>({ kind: 'unavailable', reason: 'the disk is full' })),
      answer(200, () => ({})),
    ),
  },
  {
    method: 'GET',
    path: '/broken',
    handle: flow(
      TE.bindW('it', () =>
        TE.fromTask<never, Problem>(() => Promise.reject(new RangeError(`no room\n    at ${phone}`))),
      ),
      answer(200, () => ({})),
    ),
  },
  { method: 'GET', path: '/endless', handle: answer(200, () => new StreamedText(endless)) },
  { method: 'GET', path: '/failing', handle: answer(200, () => new StreamedText(failing)) },
]

/** The clients of a text that never ends, and those of them that are known to have gone. */
const following = { begun: 0, gone: 0 }

async function* endless(gone: AbortSignal): AsyncGenerator<string> {
  following.begun += 1
  yield 'first\n'
  await aborted(gone)
  following.gone += 1
}

async function* failing(): AsyncGenerator<string> {
  yield 'first\n'
  await Promise.resolve()
  throw new Error('the disk is full')
}

const surface: Surface<undefined> = {
  name: 'example',
  prefix: '/example',
  bodies: ['json'],
  invalidJson: { kind: 'invalid-json' },
  authenticate: TE.map(() => undefined),
  endpoints,
}

/** A server of these endpoints, and what it tells the log and the metrics. */
const served = async (
  t: ExecutionContext,
): Promise<{ readonly url: string; readonly lines: ReadonlyArray<LogLine>; readonly observed: Array<Observed> }> => {
  const logger = recordingLogger()
  const observed: Array<Observed> = []
  const { server, serve } = httpServer(routesOf(surface, logger), { logger, observe: (one) => void observed.push(one) })
  serve([routesOf(surface, logger)])
  const address = await listen(server, { host: '127.0.0.1', port: 0 })
  if (E.isLeft(address)) throw new Error(address.left)
  t.teardown(() => drain(server))
  return { url: `${address.right}/example`, lines: logger.lines, observed }
}

/** The one line that says that a request was answered; how long it took is a number. */
const answeredIn = (t: ExecutionContext, lines: ReadonlyArray<LogLine>) => {
  const [line, ...others] = lines.filter(({ message }) => message === 'a request was answered')
  t.deepEqual(others, [])
  const { milliseconds, ...fields } = line?.fields ?? {}
  t.is(typeof milliseconds, 'number')
  return { level: line?.level, ...fields }
}

test('a request has one line, with its declared route and the correlation id of what it wrote', async (t) => {
  const { url, lines, observed } = await served(t)
  const { status, text, headers } = await sendJson(`${url}/things/${phone}`, 'POST', {})
  t.is(status, 201)
  t.deepEqual(answeredIn(t, lines), {
    level: 'debug',
    surface: 'example',
    route: '/example/things/:id',
    status: 201,
    correlation_id: 'cor-1',
  })
  t.false(JSON.stringify([lines, observed]).includes(phone))
  t.false(JSON.stringify([text, headers]).includes('cor-'), 'the correlation id is not answered')
  t.like(observed, { 0: { surface: 'example', route: '/example/things/:id', status: 201 }, length: 1 })
})

test('a request that wrote nothing has no correlation id', async (t) => {
  const { url, lines } = await served(t)
  await send(`${url}/things/1`)
  t.like(answeredIn(t, lines), { status: 200, correlation_id: undefined })
})

test('a request that leads to no endpoint has a line too', async (t) => {
  const { url, lines } = await served(t)
  t.is((await send(`${url}/nothing/${phone}`)).status, 404)
  t.like(answeredIn(t, lines), { surface: 'none', route: 'none', status: 404 })
})

test('a store that fails is told to the operator with its reason, and to the client without', async (t) => {
  const { url, lines } = await served(t)
  const { status, body } = await send(`${url}/away`)
  t.is(status, 503)
  t.deepEqual(body, { errors: ['the store does not answer, try again'] })
  t.deepEqual(
    lines.filter(({ level }) => level === 'error'),
    [
      {
        level: 'error',
        fields: { route: '/example/away', reason: 'the disk is full' },
        message: 'the store failed, a request was turned away',
      },
    ],
  )
})

test('what is thrown is told by its kind and place: its message may hold what was sent', async (t) => {
  const { url, lines } = await served(t)
  const { status, body } = await send(`${url}/broken`)
  t.is(status, 500)
  t.deepEqual(body, { errors: ['the request could not be handled'] })
  const [line] = lines.filter(({ level }) => level === 'error')
  t.like(line, { fields: { error: 'RangeError', route: '/example/broken' }, message: 'a request failed' })
  t.regex(JSON.stringify(line?.fields['at']), /server\.test\.[jt]s:\d+/)
  t.false(JSON.stringify(lines).includes(phone))
})

test('a text that goes on ends when its client has gone, although nothing more comes of it', async (t) => {
  const { url } = await served(t)
  const clients = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const request = get(`${url}/endless`)
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      const [chunk] = (await once(response, 'data')) as [Buffer]
      t.is(chunk.toString(), 'first\n')
      return request
    }),
  )
  t.deepEqual(following, { begun: 3, gone: 0 })
  for (const client of clients) client.destroy()
  await until('all are known to have gone', 60_000, () => following.gone === 3)
  t.is(following.begun, 3)
})

test('a text that fails on its way never passes for a whole one', async (t) => {
  const { url } = await served(t)
  const [response] = (await once(get(`${url}/failing`), 'response')) as [IncomingMessage]
  await t.throwsAsync(text(response))
  t.false(response.complete)
})
