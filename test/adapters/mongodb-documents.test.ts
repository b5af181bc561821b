import test from 'ava'
import { mongoDocuments } from '../../adapters/documents/mongodb.js'
import { documentsContract } from '../contracts/documents.js'
import { mongoUrl, testDatabase } from '../support/mongodb.js'

if (mongoUrl === undefined) {
  test.skip('documents on MongoDB need a server: set MONGODB_URL', (t) => t.fail())
} else {
  const database = testDatabase(mongoUrl)
  test.after.always('the database is dropped', database.drop)

  documentsContract('mongodb', () => {
    let connection = database.open()
    return Promise.resolve({
      documents: mongoDocuments(connection.db),
      reopen: async () => {
        await connection.close()
        connection = database.open()
        return mongoDocuments(connection.db)
      },
      close: () => connection.close(),
    })
  })
}
