import { sqliteDocuments } from '../../adapters/documents/sqlite.js'
import { documentsContract } from '../contracts/documents.js'
import { openSqlite } from '../support/open-sqlite.js'

documentsContract('sqlite', async () => {
  const { port: documents, ...opened } = await openSqlite(sqliteDocuments)
  return { documents, ...opened }
})
