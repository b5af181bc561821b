import { randomBytes } from 'node:crypto'
import { connectMongo, type MongoConnection } from '../../adapters/mongodb/connection.js'
import type { Logger } from '../../domain/ports.js'
import { rightOf } from './right-of.js'

/** The server to run against: undefined where none was given, and what needs one is skipped. */
export const mongoUrl = process.env['MONGODB_URL']

const ignore = (): void => undefined

/** A logger for connections whose coming and going is what is tested. */
export const quiet: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }

export type TestDatabase = {
  readonly url: string
  readonly open: () => MongoConnection
  readonly drop: () => Promise<void>
}

/** A database of its own on the server at `url`; nothing is there until something is written. */
export const testDatabase = (url: string): TestDatabase => {
  const own = urlWith(url, { database: `leadloop_test_${randomBytes(6).toString('hex')}` })
  const open = (): MongoConnection => rightOf(connectMongo(urlWith(own, { option: 'monitorCommands=true' }), quiet))
  return {
    url: own,
    open,
    drop: async () => {
      const { db, close } = open()
      await db.dropDatabase()
      await close()
    },
  }
}

/** Where the one server listens. */
export const addressOf = (url: string): { readonly host: string; readonly port: number } => {
  const [, host = '', port = '27017'] = /^[^:]+:\/\/(?:[^@/]*@)?([^:/?]+):?(\d+)?/.exec(url) ?? []
  return { host, port: Number(port) }
}

/** The same database at another port of this machine, and nowhere else. */
export const urlAt = (url: string, port: number): string =>
  urlWith(url.replace(/^([^:]+:\/\/(?:[^@/]*@)?)[^/?]+/, `$1127.0.0.1:${port}`), { option: 'directConnection=true' })

type Changes = { readonly database?: string; readonly option?: string }

/** With another database users are still looked up where they were. */
const urlWith = (url: string, { database, option }: Changes): string => {
  const [, server = '', path = '', query = ''] = /^([^:]+:\/\/[^/?]+)\/?([^?]*)\??(.*)$/.exec(url) ?? []
  const source = path === '' || database === undefined || query.includes('authSource=') ? [] : [`authSource=${path}`]
  const options = [query, ...source, option ?? ''].filter((one) => one !== '')
  return `${server}/${database ?? path}?${options.join('&')}`
}

export type InFlight = {
  /** Resolves once nothing has been under way for a moment. */
  readonly settled: () => Promise<void>
}

/** Counts what a connection has under way, for tests whose time stands still meanwhile. */
export const inFlight = ({ db }: MongoConnection): InFlight => {
  let underWay = 0
  let changes = 0
  const change = (by: number) => () => {
    underWay += by
    changes += 1
  }
  db.client
    .on('connectionCheckOutStarted', change(1))
    .on('connectionCheckOutFailed', change(-1))
    .on('connectionCheckedIn', change(-1))
  return {
    settled: async () => {
      for (let quiet = 0; quiet < 3; quiet += 1) {
        const before = changes
        await new Promise((resolve) => setTimeout(resolve, 1))
        if (underWay > 0 || changes > before) quiet = -1
      }
    },
  }
}
