import Router from '@koa/router'
import Koa, { type Context, type Middleware } from 'koa'
import { createServer, type Server } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Logger } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { answerTo, type Answer, type Problem } from './problem.js'
import { traceOf } from './trace.js'
import { bodyProblem, depthProblem, headerProblem, readBody } from './body.js'
import type { Endpoint, Request, Surface } from './endpoint.js'

/** What a request came to, for the metrics: the route as it was declared, never the path as it was sent. */
export type Observed = {
  readonly surface: string
  readonly route: string
  readonly status: number
  readonly seconds: number
}

/** A surface whose callers are forgotten, so that all are alike. */
type Mounted = { readonly prefix: string; readonly router: Router }

export const mounted = <Caller>(surface: Surface<Caller>, logger: Logger): Mounted => {
  const router = new Router({ prefix: surface.prefix })
  for (const endpoint of surface.endpoints) {
    router.register(endpoint.path, [endpoint.method], handling(surface, endpoint, logger))
  }
  return { prefix: surface.prefix, router }
}

/** The only file that touches Koa's `ctx`. */
export const httpServer = (
  surfaces: ReadonlyArray<Mounted>,
  { logger, observe }: { readonly logger: Logger; readonly observe: (observed: Observed) => void },
): Server => {
  const koa = new Koa()
  koa.use(async (ctx, next) => {
    await next()
    // While the server closes, each answer is the last one on its connection.
    if (!server.listening) ctx.set('connection', 'close')
  })
  koa.use(guarded(logger, observe))
  koa.use(routed(surfaces))
  // Answers are made here, so that no error of the platform's shows a value of the request.
  koa.silent = true

  const respond = koa.callback()
  const server = createServer(timeouts, (request, response) => void respond(request, response))
  return server
}

/** A request that never ends is cut off; an idle connection outlives the minute that proxies keep theirs. */
const timeouts = {
  headersTimeout: 10_000,
  requestTimeout: 30_000,
  connectionsCheckingInterval: 5_000,
  keepAliveTimeout: 65_000,
}

/** A router for each surface: one that held them all would try every route on every request. */
const routed = (surfaces: ReadonlyArray<Mounted>): Middleware => {
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
    if (ctx.status === 404 && ctx.body === undefined) unmatched(ctx, surface?.router)
  }
}

const unmatched = (ctx: Context, router: Router | undefined): void => {
  const allowed = router?.match(ctx.path, ctx.method).path.flatMap((layer) => layer.methods) ?? []
  if (allowed.length === 0) {
    send(ctx, answerTo({ kind: 'not-found', message: 'there is nothing at this path' }))
    return
  }
  send(ctx, answerTo({ kind: 'method-not-allowed' }))
  ctx.set('allow', [...new Set(allowed)].join(', '))
}

const handling = <Caller>(surface: Surface<Caller>, endpoint: Endpoint<Caller>, logger: Logger): Middleware => {
  const read = endpoint.method === 'GET' ? undefined : readBody(surface.bodies)
  const route = surface.prefix + endpoint.path

  const answered = async (ctx: Context): Promise<Either<Problem, Answer>> => {
    const request = requestOf(ctx)
    const caller = await surface.authenticate(request)
    if (E.isLeft(caller)) return caller
    const problem = read === undefined ? undefined : await unreadable(ctx, surface, read)
    return problem === undefined ? endpoint.handle(request, caller.right) : E.left(problem)
  }
  return async (ctx) => {
    ctx.state['surface'] = surface.name
    ctx.state['route'] = route
    const answer = await answered(ctx)
    if (E.isLeft(answer)) tellOperator(answer.left, route, logger)
    send(ctx, E.isLeft(answer) ? answerTo(answer.left) : answer.right)
  }
}

/** What a client can do nothing about. */
const tellOperator = (problem: Problem, route: string, logger: Logger): void => {
  if (problem.kind === 'unavailable' || problem.kind === 'corrupt') {
    logger.error({ route, reason: problem.reason }, 'the store failed, a request was turned away')
  }
}

const unreadable = async <Caller>(
  ctx: Context,
  surface: Surface<Caller>,
  read: Middleware,
): Promise<Problem | undefined> => {
  const refused = headerProblem(ctx.req.headers, surface.bodies)
  if (refused !== undefined) return refused
  try {
    await read(ctx, () => Promise.resolve())
    return depthProblem((ctx.request as { readonly body?: unknown }).body)
  } catch (error) {
    const problem = bodyProblem(error, surface.invalidJson)
    if (problem === undefined) throw error
    // What was not read of the body can't be told from the next request.
    ctx.set('connection', 'close')
    return problem
  }
}

const requestOf = (ctx: Context): Request => ({
  params: ctx['params'] as Readonly<Record<string, string>>,
  query: (name) => {
    const value = ctx.query[name]
    return typeof value === 'string' ? value : undefined
  },
  header: (name) => {
    const value = ctx.req.headers[name]
    return typeof value === 'string' ? value : undefined
  },
  get body() {
    return (ctx.request as { readonly body?: unknown }).body
  },
})

const send = (ctx: Context, { status, body, headers }: Answer): void => {
  ctx.status = status
  if (headers !== undefined) ctx.set(headers)
  ctx.body = body
}

/** Whatever goes wrong, the answer is JSON of ours, and the log line holds no value of the request. */
const guarded =
  (logger: Logger, observe: (observed: Observed) => void): Middleware =>
  async (ctx, next) => {
    const started = performance.now()
    try {
      await next()
    } catch (error) {
      const isMalformed = isMalformedTarget(error)
      if (!isMalformed) logger.error({ ...traceOf(error), route: routeOf(ctx) }, 'a request failed')
      const malformed: Problem = { kind: 'invalid', messages: ['the request target is malformed'] }
      send(ctx, answerTo(isMalformed ? malformed : { kind: 'unexpected' }))
    }
    const seconds = (performance.now() - started) / 1000
    const observed = { surface: surfaceOf(ctx), route: routeOf(ctx), status: ctx.status, seconds }
    observe(observed)
    logger.debug(observed, 'a request was answered')
  }

/** What Koa, its router and the platform throw for a target that is no path. */
const isMalformedTarget = (error: unknown): boolean => {
  const { status, code } = error as { readonly status?: unknown; readonly code?: unknown }
  return error instanceof URIError || status === 400 || code === 'ERR_INVALID_URL'
}

const surfaceOf = (ctx: Context): string => (ctx.state['surface'] as string | undefined) ?? 'none'
const routeOf = (ctx: Context): string => (ctx.state['route'] as string | undefined) ?? 'none'
