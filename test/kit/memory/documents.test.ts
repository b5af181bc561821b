import test from 'ava'
import type { Collection, Query } from '../../../projections/ports.js'
import { positionAt } from '../domain/samples.js'
import { rightOf } from '../right-of.js'
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

test('numbers stand before texts and these before instants, and a bound finds its own kind alone, as on MongoDB', async (t) => {
  const collection: Collection = { name: 'mixed', version: 1, indexes: { all: ['at'] }, generation: 'live' }
  const documents = memoryDocuments(documentState())
  rightOf(await documents.prepare(collection))
  const values = ['2026-01-14T09:30:00.000Z', 7, 'waiting', '2026-01-15T09:30:00.000Z', '1999']
  const changes = values.map((at, n) => ({ key: `${n}`, document: { at }, position: positionAt(1) }))
  rightOf(await documents.apply(collection, changes, positionAt(1)))
  const found = async (query: Partial<Query> = {}) => {
    const entries = rightOf(await documents.find(collection, { index: 'all', equals: [], limit: 9, ...query }))
    return entries.map(({ document }) => document['at'])
  }
  const [first, seven, waiting, second, year] = values
  t.deepEqual(await found(), [seven, year, waiting, first, second])
  t.deepEqual(await found({ descending: true }), [second, first, waiting, year, seven])
  t.deepEqual(await found({ from: '1999' }), [year, waiting])
  t.deepEqual(await found({ upTo: 'z' }), [year, waiting])
  t.deepEqual(await found({ upTo: '2026-01-14T09:30:00.000Z' }), [first])
  t.deepEqual(await found({ after: { value: '1999', key: '4' } }), [waiting])
  t.deepEqual(await found({ after: { value: '2026-01-15T09:30:00.000Z', key: '3' }, descending: true }), [first])
})
