import fetch, { FetchError } from 'node-fetch'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { E, type Either } from '../../../domain/prelude.js'
import type { Config } from '../../composition/config.js'

export type Called = { readonly status: number; readonly body: unknown }

/** Calls the management API. */
export type Call = (method: 'GET' | 'POST', path: string, body?: unknown) => Promise<Called>

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
  // Composing would make the folder, and a path that was mistyped would look like an empty store.
  if (config.eventStoreUrl === undefined && !existsSync(join(config.dataDir, 'leadloop.db')))
    return E.left(`DATA_DIR: there is no ${join(config.dataDir, 'leadloop.db')}.`)
  // Whoever calls a service that runs needs none of its parts.
  const { compose } = await import('../../composition/compose.js')
  const own = await compose({ ...config, port: 0, logLevel: 'silent', roles })
  if (E.isLeft(own)) return own
  try {
    return await use(callOf(own.right.address, key.right), true)
  } finally {
    await own.right.stop()
  }
}

/** Calls the service that these settings describe; undefined where none runs. Left: one sentence. */
export const runningService = async (config: Config): Promise<Either<string, Call | undefined>> => {
  const site = `http://${reachable(config.host)}:${config.port}`
  // With port 0 a service listens where nobody knows it.
  if (config.port === 0 || !(await isListening(site))) return E.right(undefined)
  const key = keyFor(config)
  return E.isLeft(key) ? key : E.right(callOf(site, key.right))
}

const keyFor = ({ dataDir, operatorKey }: Config): Either<string, string> => {
  const file = join(dataDir, 'operator-key')
  const key = operatorKey ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined)
  return key === undefined ? E.left('OPERATOR_KEY: it is not set, and DATA_DIR holds no operator-key.') : E.right(key)
}

/** An address that stands for all of the machine's is none that can be called. */
const reachable = (host: string): string => {
  const named = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return named.includes(':') ? `[${named}]` : named
}

const isListening = async (site: string): Promise<boolean> => {
  try {
    await fetch(`${site}/health/live`)
    return true
  } catch (error) {
    if (error instanceof FetchError && error.code === 'ECONNREFUSED') return false
    throw error
  }
}

const callOf =
  (site: string, key: string): Call =>
  async (method, path, body) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const response = await fetch(`${site}/manage/v1${path}`, { method, headers, ...sent })
    return { status: response.status, body: await response.json() }
  }
