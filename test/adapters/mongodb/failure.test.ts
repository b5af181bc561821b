import test from 'ava'
import { createRequire } from 'node:module'
import {
  BSON,
  MongoBulkWriteError,
  MongoCompatibilityError,
  MongoNetworkError,
  MongoNetworkTimeoutError,
  MongoServerError,
  type BulkWriteResult,
} from 'mongodb'
import { isDuplicate, isTimeout, storeFailure } from '../../../adapters/mongodb/failure.js'

const words = 'dup key: { phone: "+14155550123" } at mongodb://ada:pass-word@host'

/** The driver names it for nobody but itself. */
const { WaitQueueTimeoutError } = createRequire(import.meta.url)('mongodb/lib/cmap/errors.js') as {
  readonly WaitQueueTimeoutError: new (message: string, address: string) => Error
}

const noResult: unknown = {}

/** What the driver throws where a bulk write ends with `cause`. */
const bulkError = (cause: ConstructorParameters<typeof MongoBulkWriteError>[0]): MongoBulkWriteError =>
  new MongoBulkWriteError(cause, noResult as BulkWriteResult)

test('what ended a bulk write is told as what it was, and in no word of the driver or the server', (t) => {
  const told = [
    [new MongoNetworkError(words), 'unavailable', 'the connection to MongoDB broke (MongoNetworkError)'],
    [new MongoNetworkTimeoutError(words), 'unavailable', 'MongoDB did not answer in time (MongoNetworkTimeoutError)'],
    [
      new MongoServerError({ message: words, code: 11602 }),
      'unavailable',
      'MongoDB has no primary now (MongoBulkWriteError 11602)',
    ],
    [{ message: words, code: 64 }, 'unavailable', 'MongoDB could not confirm a write (MongoBulkWriteError 64)'],
    [{ message: words, code: 2 }, 'unavailable', 'MongoDB failed (MongoBulkWriteError 2)'],
  ] as const
  for (const [cause, kind, reason] of told) t.deepEqual(storeFailure(bulkError(cause)), { kind, reason })
})

test('that every connection was in use is told as that', (t) => {
  const reason = 'no connection to MongoDB was free in time (MongoWaitQueueTimeoutError)'
  t.deepEqual(storeFailure(new WaitQueueTimeoutError(words, 'host:27017')), { kind: 'unavailable', reason })
})

test('a document that is too large stays so, however often it is written: corrupt', (t) => {
  const reason = 'a document is larger than MongoDB holds'
  for (const code of [10334, 17419, 17420]) {
    const kind = 'corrupt'
    t.deepEqual(storeFailure(bulkError({ message: words, code })), {
      kind,
      reason: `${reason} (MongoBulkWriteError ${code})`,
    })
    const alone = new MongoServerError({ message: words, code })
    t.deepEqual(storeFailure(alone), { kind, reason: `${reason} (MongoServerError ${code})` })
  }
})

test('what the driver can not write as BSON stays so, however often it is written: corrupt', (t) => {
  const reason = 'a document can not be written as BSON'
  for (const error of [new BSON.BSONError(words), new BSON.BSONVersionError()])
    t.deepEqual(storeFailure(error), { kind: 'corrupt', reason: `${reason} (${error.name})` })
})

test('a refused password or name, a server that is too old and a certificate that is not trusted need an operator', (t) => {
  const refused = 'MongoDB refused the credentials'
  const told = [
    [new MongoServerError({ message: words, code: 18 }), `${refused} (MongoServerError 18)`],
    [new MongoServerError({ message: words, code: 13 }), `${refused} (MongoServerError 13)`],
    [
      new MongoServerError({ message: words, code: 73 }),
      'MongoDB takes no database of the name in the path of the URL (MongoServerError 73)',
    ],
    [
      new MongoServerError({ message: words, code: 13297 }),
      'MongoDB has a database whose name differs from the one in the path of the URL only in its case (MongoServerError 13297)',
    ],
    [new MongoCompatibilityError(words), 'MongoDB is too old for the driver (MongoCompatibilityError)'],
    [
      new MongoNetworkError(words, { cause: new Error('self-signed certificate') }),
      'MongoDB shows a certificate that is not trusted here (MongoNetworkError)',
    ],
  ] as const
  for (const [error, reason] of told) {
    t.deepEqual(storeFailure(error), { kind: 'unavailable', reason, needsOperator: true })
  }
})

test('only a timeout of the socket says that a batch may be too large for the server', (t) => {
  t.true(isTimeout(bulkError(new MongoNetworkTimeoutError(words))))
  t.true(isTimeout(new MongoNetworkTimeoutError(words)))
  t.false(isTimeout(bulkError(new MongoNetworkError(words))))
  t.false(isTimeout(bulkError({ message: words, code: 64 })), 'the server was done, and waited for a majority')
})

test('a connection that broke within a bulk write is no duplicate', (t) => {
  t.false(isDuplicate(bulkError(new MongoNetworkError(words))))
  t.true(isDuplicate(new MongoServerError({ message: words, code: 11000 })))
})
