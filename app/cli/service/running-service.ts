import fetch from 'node-fetch'
import { existsSync, readFileSync } from 'node:fs'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import type { MonotonicClock } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Config } from '../../composition/config.js'
import { operatorKeyFile } from '../../composition/start/secrets.js'
import { answerOf, callOf, isRefused, type Call } from './service-call.js'

/** In milliseconds, for the look whether a service runs. */
const longestLook = 5_000

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
