import { documentsContract } from '../../contracts/documents.js'
import { memoryDocuments, documentState } from './documents.js'

documentsContract('memory', () => {
  const state = documentState()
  return Promise.resolve({
    documents: memoryDocuments(state),
    reopen: () => Promise.resolve(memoryDocuments(state)),
    close: () => Promise.resolve(),
  })
})
