import test from 'ava'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import type { Collection, Documents } from '../../../projections/ports.js'
import { apply, prepared, put } from '../../contracts/document-fixtures.js'
import { rightOf } from '../../kit/right-of.js'
import { openSqlite } from '../../kit/stores/sqlite.js'

const documentsRead = 4_000

/** How many turns everything else has while `read` goes on. */
const turnsWhile = async (read: () => Promise<void>): Promise<number> => {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  await read()
  isOver = true
  return turns
}

const opened = async () => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const collection = await prepared(documents)
  const changes = Array.from({ length: documentsRead }, (_, n) =>
    put(`key ${String(n).padStart(5, '0')}`, 1n, { group: 'a', rank: n }),
  )
  await apply(documents, collection, changes, 1n)
  return { documents, collection, close }
}

const readAll = async (documents: Documents, collection: Collection, limit: number): Promise<void> => {
  for (let from = 0; from < documentsRead; from += limit) {
    const query = { index: 'by_group', equals: ['a'], from, limit }
    rightOf(await documents.find(collection, query))
  }
}

test('however many read page after page, everything else has its turn between two pages', async (t) => {
  const { documents, collection, close } = await opened()
  const readers = 8
  const turns = await turnsWhile(async () => {
    await Promise.all(Array.from({ length: readers }, () => readAll(documents, collection, 500)))
  })
  const pages = (readers * documentsRead) / 500
  t.true(turns >= pages - readers, `${turns} turns in ${pages} pages`)
  await close()
})

test('in a long row of small finds everything else has its turn, and one of them waits for nobody', async (t) => {
  const { documents, collection, close } = await opened()
  t.true((await turnsWhile(() => readAll(documents, collection, 1))) >= documentsRead / 100)
  const one = { index: 'by_group', equals: ['a'], limit: 1 }
  t.is(await turnsWhile(async () => void rightOf(await documents.find(collection, one))), 0)
  await close()
})
