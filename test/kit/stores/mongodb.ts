import { BSON } from 'mongodb'
import { randomBytes } from 'node:crypto'
import { connectMongo, type MongoConnection } from '../../../adapters/mongodb/client/connection.js'
import { rightOf } from '../right-of.js'
import { sleep } from '../time/until.js'
import { recordingLogger } from '../parts/recording-logger.js'
import { urlWith } from './mongo-url.js'

export type TestDatabase = {
  readonly url: string
  readonly open: () => MongoConnection
  /** The collections of which a document holds a text. */
  readonly holding: (text: string) => Promise<ReadonlyArray<string>>
  readonly drop: () => Promise<void>
}

/** A database of its own on the server at `url`; nothing is there until something is written. */
export const testDatabase = (url: string): TestDatabase => {
  const own = urlWith(url, { database: `leadloop_test_${randomBytes(6).toString('hex')}` })
  const open = (): MongoConnection =>
    rightOf(connectMongo(urlWith(own, { option: 'monitorCommands=true' }), recordingLogger()))
  return {
    url: own,
    open,
    holding: async (text) => {
      const { db, close } = open()
      const found: Array<string> = []
      for (const { name } of await db.listCollections().toArray()) {
        const documents = await db.collection(name).find().toArray()
        if (BSON.EJSON.stringify(documents).includes(text)) found.push(name)
      }
      await close()
      return found
    },
    drop: async () => {
      const { db, close } = open()
      // FerretDB can crash when a database goes while a killed process's last command still runs; MongoDB forgets an
      // empty one.
      for (const { name } of await db.listCollections().toArray()) await db.dropCollection(name)
      await close()
    },
  }
}

type InFlight = {
  /** Resolves once nothing has been in flight for a moment. */
  readonly settled: () => Promise<void>
}

/** Counts the operations of a connection that are in flight, for tests whose time stands still meanwhile. */
export const inFlight = ({ db }: MongoConnection): InFlight => {
  let operations = 0
  let changes = 0
  const change = (by: number) => () => {
    operations += by
    changes += 1
  }
  db.client
    .on('connectionCheckOutStarted', change(1))
    .on('connectionCheckOutFailed', change(-1))
    .on('connectionCheckedIn', change(-1))
  return {
    settled: async () => {
      for (let idle = 0; idle < 3; idle += 1) {
        const before = changes
        await sleep(1)
        if (operations > 0 || changes > before) idle = -1
      }
    },
  }
}
