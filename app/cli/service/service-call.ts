import fetch, { FetchError } from 'node-fetch'
import { existsSync, readFileSync } from 'node:fs'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import { withinLimit } from '../../../domain/abortable.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Config } from '../../composition/config.js'
import { operatorKeyFile } from '../../composition/start/secrets.js'
import { toldReason } from '../run.js'

export type Called = { readonly status: number; readonly body: unknown }

/** Calls the management API. Left: one sentence that says why there is no answer. */
export type Call = (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<Either<string, Called>>

/** In milliseconds, for the look whether a service runs. */
const longestLook = 5_000

/** In milliseconds: longer than a request waits for what follows from it, and for stores that hang. */
const longestCall = 60_000

/** Roles of the service that runs for one command alone. */
type Roles = Config['roles']

/**
 * Lets `use` call the service that these settings describe. Where none runs, one with these roles runs for as long as
 * `use` does. Left: one sentence.
 */
export const withService = async <A>(
  config: Config,
  roles: Roles,
  use: (call: Call, isOwn: boolean) => Promise<Either<string, A>>,
): Promise<Either<string, A>> => {
  const running = await runningService(config)
  if (E.isLeft(running)) return running
  if (running.right !== undefined) return use(running.right, false)
  const key = keyFor(config)
  if (E.isLeft(key)) return key
  // Whoever calls a service that runs needs none of its parts.
  const { compose } = await import('../../composition/compose.js')
  const { databaseFile } = await import('../../../adapters/sqlite/database.js')
  const file = databaseFile(config.dataDir)
  // Composing would make the folder, and a path that was mistyped would look like an empty store.
  if (config.eventStoreUrl === undefined && !existsSync(file)) return E.left(`DATA_DIR: there is no ${file}.`)
  const own = await compose({ ...config, port: 0, logLevel: 'silent', roles })
  if (E.isLeft(own)) return own
  try {
    return await use(callOf(own.right.address, key.right, monotonicClock), true)
  } finally {
    await own.right.stop()
  }
}

/** Calls the service that these settings describe; undefined where none runs. Left: one sentence. */
export const runningService = async (
  config: Config,
  monotonic: MonotonicClock = monotonicClock,
): Promise<Either<string, Call | undefined>> => {
  // With port 0 a service listens where nobody knows it.
  if (config.port === 0) return E.right(undefined)
  const site = `http://${reachable(config.host)}:${config.port}`
  const listener = await listenerAt(site, monotonic)
  if (E.isLeft(listener)) return listener
  if (listener.right === 'nobody') return E.right(undefined)
  if (listener.right === 'a stranger') return E.left(`What listens at ${site} is not Leadloop: set HOST and PORT.`)
  const key = keyFor(config)
  return E.isLeft(key) ? key : E.right(callOf(site, key.right, monotonic))
}

const keyFor = (config: Config): Either<string, string> => {
  const file = operatorKeyFile(config)
  const key = config.operatorKey ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined)
  return key === undefined ? E.left('OPERATOR_KEY: it is not set, and DATA_DIR holds no operator-key.') : E.right(key)
}

/** An address that stands for all of the machine's is none that can be called. */
const reachable = (host: string): string => {
  const named = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return named.includes(':') ? `[${named}]` : named
}

type Listener = 'a service' | 'a stranger' | 'nobody'

/** Without a key: whatever listens there could take it. */
const listenerAt = (site: string, monotonic: MonotonicClock): Promise<Either<string, Listener>> =>
  answerOf<Listener>({ site, limit: longestLook, monotonic }, async (signal) => {
    try {
      const response = await fetch(`${site}/health/live`, { redirect: 'manual', signal })
      const text = await response.text()
      return response.status === 200 && text === '{"status":"live"}' ? 'a service' : 'a stranger'
    } catch (error) {
      if (isRefused(error)) return 'nobody'
      throw error
    }
  })

const callOf =
  (site: string, key: string, monotonic: MonotonicClock): Call =>
  (method, path, body) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const mayGoOn = method === 'POST' ? ' It may still do what it was asked for.' : ''
    return answerOf({ site, limit: longestCall, monotonic, mayGoOn }, async (signal) => {
      const response = await fetch(`${site}/manage/v1${path}`, { method, headers, ...sent, signal })
      return { status: response.status, body: await response.json() }
    })
  }

type Asked = {
  readonly site: string
  /** In milliseconds. */
  readonly limit: number
  readonly monotonic: MonotonicClock
  /** What is told of a request beside why nothing answered it, where it may have come to something that listens. */
  readonly mayGoOn?: string
}

/** What `ask` gives. Left: one sentence, also where it gives nothing within the limit. */
const answerOf = async <A>(
  { site, limit, monotonic, mayGoOn = '' }: Asked,
  ask: (signal: AbortSignal) => Promise<A>,
): Promise<Either<string, A>> => {
  try {
    const answer = await withinLimit(monotonic, limit, ask)
    return answer === undefined
      ? E.left(`What listens at ${site} gave no answer within ${limit / 1000} seconds.${mayGoOn}`)
      : E.right(answer)
  } catch (error) {
    return E.left(`${toldReason(error)}.${isRefused(error) ? '' : mayGoOn}`)
  }
}

const isRefused = (error: unknown): boolean => error instanceof FetchError && error.code === 'ECONNREFUSED'
