import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import { documentsContract } from '../../contracts/documents.js'
import { openSqlite } from '../../kit/stores/sqlite.js'

documentsContract('sqlite', async () => {
  const { port: documents, ...opened } = await openSqlite(sqliteDocuments)
  return { documents, ...opened }
})
