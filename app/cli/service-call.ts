import fetch, { FetchError } from 'node-fetch'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { E, type Either } from '../../domain/prelude.js'
import { compose } from '../composition/compose.js'
import type { Config } from '../composition/config.js'

type Called = { readonly status: number; readonly body: unknown }

/**
 * Calls the management API of the service that these settings describe. Where none runs, one runs for this call alone, and does
 * meanwhile what it always does. Left: one sentence.
 */
export const callService = async (
  config: Config,
  method: 'GET' | 'POST',
  path: string,
): Promise<Either<string, Called>> => {
  const key = operatorKeyOf(config)
  if (key === undefined) return E.left('OPERATOR_KEY: it is not set, and DATA_DIR holds no operator-key.')
  const called = await call(`http://${reachable(config.host)}:${config.port}`, key, method, path)
  if (called !== undefined) return E.right(called)
  // Composing would make the folder, and a path that was mistyped would look like an empty store.
  if (config.eventStoreUrl === undefined && !existsSync(config.dataDir))
    return E.left(`DATA_DIR: there is no ${config.dataDir}.`)
  const own = await compose({ ...config, port: 0, logLevel: 'silent' })
  if (E.isLeft(own)) return own
  try {
    const answered = await call(own.right.address, key, method, path)
    return answered === undefined ? E.left('The service does not answer.') : E.right(answered)
  } finally {
    await own.right.stop()
  }
}

const operatorKeyOf = ({ dataDir, operatorKey }: Config): string | undefined => {
  const file = join(dataDir, 'operator-key')
  return operatorKey ?? (existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined)
}

/** An address that stands for all of the machine's is none that can be called. */
const reachable = (host: string): string => {
  const named = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  return named.includes(':') ? `[${named}]` : named
}

/** Undefined where nobody listens. */
const call = async (site: string, key: string, method: string, path: string): Promise<Called | undefined> => {
  try {
    const headers = { authorization: `Bearer ${key}` }
    const response = await fetch(`${site}/manage/v1${path}`, { method, headers })
    return { status: response.status, body: await response.json() }
  } catch (error) {
    if (error instanceof FetchError && error.code === 'ECONNREFUSED') return undefined
    throw error
  }
}
