import Router from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import { createServer, type Server } from 'node:http'
import { performance } from 'node:perf_hooks'
import { Readable } from 'node:stream'
import type { Logger } from '../../domain/ports.js'
import { E, flow, pipe, TE, type Either, type TaskEither } from '../../domain/prelude.js'
import type { Endpoint, HasRequest, Surface } from './endpoint.js'
import { answerTo, nothingAtPath, StreamedText, type Answer, type Problem } from './problem.js'
import { bodyProblem, bodyReaderFor, headerProblem, type BodyReader } from './request/body-reader.js'
import { isMalformedTarget, requestOf } from './request/request.js'
import { bind, chain } from './steps.js'
import { traceOf } from './trace.js'
import { turnEnd } from './turn-end.js'

/** A request and its answer, for the metrics: the declared route, never the path that was sent. */
export type Observed = {
  readonly surface: string
  readonly route: string
  readonly status: number
  readonly seconds: number
}

/** The routes of a surface without the type of its callers, so that all surfaces fit one list. */
export type Routes = { readonly prefix: string; readonly router: Router }

export const routesOf = <Caller>(surface: Surface<Caller>, logger: Logger): Routes => {
  // A prefix is told by its case. Without one the whole path is: a proxy that blocks `/metrics` lets `/METRICS` pass.
  const router = new Router({ prefix: surface.prefix, sensitive: surface.prefix === '' })
  for (const endpoint of surface.endpoints) {
    router.register(endpoint.path, [endpoint.method], answering(surface, endpoint, logger))
  }
  return { prefix: surface.prefix, router }
}

type ServerPorts = { readonly logger: Logger; readonly observe: (observed: Observed) => void }

export type HttpServer = {
  readonly server: Server
  /** Serves these surfaces from now on. Until then only that of the start answers; all other requests get 503. */
  readonly serve: (surfaces: ReadonlyArray<Routes>) => void
}

/** This file and the folder `request` alone touch Koa's `ctx`. It can listen before there is anything to serve. */
export const httpServer = (starting: Routes, { logger, observe }: ServerPorts): HttpServer => {
  let route = routingOfStart(starting)
  const koa = new Koa()
  koa.use(async (ctx, next) => {
    await next()
    // While the server closes, each answer is the last one on its connection.
    if (!server.listening) ctx.set('connection', 'close')
  })
  koa.use(observing({ logger, observe }))
  koa.use(catching(logger))
  koa.use(async (ctx, next) => {
    await route(ctx, next)
  })
  // Answers are made here, so that no error of the platform's shows a value of the request.
  koa.silent = true

  const handle = koa.callback()
  const server = createServer(timeouts, (request, response) => void handle(request, response))
  return {
    server,
    serve: (surfaces) => {
      route = routing(surfaces)
    },
  }
}

/**
 * In milliseconds. A request that takes too long is cut off; an idle connection stays open longer than the minute after
 * which proxies close theirs.
 */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
}

/** What is known of a request once it has been answered. */
type Progress = { surface: string; route: string; correlationId: string | undefined }

const progressOf = (ctx: Context): Progress => ctx.state

/** Tells the metrics and the log what each request came to. */
const observing =
  ({ logger, observe }: ServerPorts): Middleware =>
  async (ctx, next) => {
    const started = performance.now()
    const progress: Progress = { surface: 'none', route: 'none', correlationId: undefined }
    ctx.state = progress
    await next()
    const milliseconds = performance.now() - started
    const { surface, route, correlationId } = progress
    const { status } = ctx
    observe({ surface, route, status, seconds: milliseconds / 1000 })
    const rounded = Math.round(milliseconds * 10) / 10
    const line = { surface, route, status, milliseconds: rounded, correlation_id: correlationId }
    logger.debug(line, 'a request was answered')
  }

/** Whatever goes wrong, the answer is JSON of ours, and the log line holds no value of the request. */
const catching =
  (logger: Logger): Middleware =>
  async (ctx, next) => {
    try {
      await next()
    } catch (error) {
      const isMalformed = isMalformedTarget(error)
      if (!isMalformed) logger.error({ ...traceOf(error), route: progressOf(ctx).route }, 'a request failed')
      const malformed: Problem = { kind: 'invalid', messages: ['the request target is malformed'] }
      send(ctx, answerTo(isMalformed ? malformed : { kind: 'unexpected' }))
    }
  }

const routingOfStart = (starting: Routes): Middleware => {
  const health = routing([starting])
  return async (ctx, next) => {
    if ((ctx.path as string | null)?.startsWith(starting.prefix) === true) await health(ctx, next)
    else send(ctx, answerTo({ kind: 'unavailable', reason: 'the service starts' }))
  }
}

/** A router for each surface: one that held them all would try every route on every request. */
const routing = (surfaces: ReadonlyArray<Routes>): Middleware => {
  const all = surfaces.map(({ prefix, router }) => ({
    prefix,
    router,
    routes: router.routes() as unknown as Middleware,
  }))
  return async (ctx, next) => {
    // An absolute target without a host has no path at all.
    const path = (ctx.path as string | null) ?? ''
    const surface = path === '' ? undefined : all.find(({ prefix }) => path.startsWith(prefix))
    if (surface !== undefined) await surface.routes(ctx, next)
    if (ctx.status === 404 && ctx.body === undefined) sendUnmatched(ctx, surface?.router)
  }
}

/** No endpoint has this path, or none with this method. */
const sendUnmatched = (ctx: Context, router: Router | undefined): void => {
  const allowed = router?.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods) ?? []
  if (allowed.length === 0) {
    send(ctx, answerTo(nothingAtPath))
    return
  }
  send(ctx, answerTo({ kind: 'method-not-allowed' }))
  ctx.set('allow', [...new Set(allowed)].join(', '))
}

/** Runs the pipeline of an endpoint for a request, and sends the answer. */
const answering = <Caller>(surface: Surface<Caller>, endpoint: Endpoint<Caller>, logger: Logger): Middleware => {
  const route = surface.prefix + endpoint.path
  const readBody = bodyReaderFor(surface.bodies)

  const called = (ctx: Context) =>
    pipe(
      TE.right({ request: requestOf(ctx) }),
      bind('caller', ({ request }) => surface.authenticate(TE.right({ request }))),
    )
  const handled: (ctx: Context) => TaskEither<Problem, Answer> =
    endpoint.method === 'GET'
      ? flow(called, endpoint.handle)
      : (ctx) =>
          pipe(
            called(ctx),
            chain((call) => () => withParsedBody(ctx, call, surface, readBody)),
            endpoint.handle,
          )
  return async (ctx) => {
    const progress = progressOf(ctx)
    progress.surface = surface.name
    progress.route = route
    const result = await handled(ctx)()
    if (E.isLeft(result)) logStoreFailure(result.left, route, logger)
    const answer = E.isLeft(result) ? answerTo(result.left) : result.right
    progress.correlationId = answer.correlationId
    await turnEnd()
    send(ctx, answer)
  }
}

/** For the operator: a client can do nothing about a failing store. */
const logStoreFailure = (problem: Problem, route: string, logger: Logger): void => {
  if (problem.kind === 'unavailable' || problem.kind === 'corrupt') {
    logger.error({ route, reason: problem.reason }, 'the store failed, a request was turned away')
  }
}

/** Parses the body into the request; left: why it can't be read. */
const withParsedBody = async <Call extends HasRequest>(
  ctx: Context,
  call: Call,
  { bodies, invalidJson }: Pick<Surface<unknown>, 'bodies' | 'invalidJson'>,
  readBody: BodyReader,
): Promise<Either<Problem, Call>> => {
  const refused = headerProblem(ctx.req.headers, bodies)
  if (refused !== undefined) return E.left(refused)
  try {
    const body = await readBody(ctx)
    return E.isLeft(body) ? body : E.right({ ...call, request: { ...call.request, body: body.right } })
  } catch (error) {
    const problem = bodyProblem(error, invalidJson)
    if (problem === undefined) throw error
    // The unread rest of the body would be taken for the next request.
    ctx.set('connection', 'close')
    return E.left(problem)
  }
}

const send = (ctx: Context, { status, body, headers }: Answer): void => {
  ctx.status = status
  ctx.body = body instanceof StreamedText ? streamOf(ctx, body) : body
  if (headers !== undefined) ctx.set(headers)
  // The first of it may come much later.
  if (body instanceof StreamedText) ctx.flushHeaders()
}

/** A text that fails breaks the connection off, so that a part never passes for the whole. */
const streamOf = (ctx: Context, { from }: StreamedText): Readable => {
  const gone = new AbortController()
  ctx.res.once('close', () => gone.abort())
  return Readable.from(from(gone.signal)).once('error', () => ctx.res.destroy())
}
