import type { Db } from 'mongodb'
import { ferretDb } from './ferretdb.js'
import { mongoDb } from './mongodb.js'
import type { Server } from './server.js'

/** Asks a server once what it is: FerretDB of the first version says so, all others are taken for MongoDB. */
export const serverOf = (db: Db): (() => Promise<Server>) => {
  let known: Server | undefined
  return async () => {
    if (known === undefined) {
      const { ferretdbVersion } = await db.command({ buildInfo: 1 })
      known ??= ferretdbVersion === undefined ? mongoDb : ferretDb()
    }
    return known
  }
}
