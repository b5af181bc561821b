import test from 'ava'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import { E } from '../../../domain/prelude.js'
import { apply, prepared, put } from '../../contracts/document-fixtures.js'
import { rightOf } from '../../kit/right-of.js'
import { byHand, openIn } from '../../kit/stores/sqlite.js'
import { openTemporaryDirectory } from '../../kit/temporary-directory.js'

const opened = async () => {
  const directory = openTemporaryDirectory()
  const database = await openIn(directory.path)
  const documents = sqliteDocuments(database)
  const collection = await prepared(documents)
  await apply(documents, collection, [put('a', 1n, { rank: 1 }), put('b', 1n, { rank: 2 }), put('c', 1n, {})], 1n)
  return {
    documents,
    collection,
    damage: (key: string) =>
      byHand(directory.path, (file) => {
        const { table_name: table } = file
          .prepare<[string], { table_name: string }>('SELECT table_name FROM collections WHERE name = ?')
          .get(collection.name) as { table_name: string }
        file.prepare(`UPDATE "${table}" SET body = '{' WHERE key = ?`).run(key)
      }),
    close: async () => {
      await database.close()
      await directory.remove()
    },
  }
}

test('of those who ask in one turn each gets what it asked for, and nothing of the others', async (t) => {
  const { documents, collection, close } = await opened()
  const read = await Promise.all([['a'], ['b', 'a'], ['missing']].map((keys) => documents.get(collection, keys)))
  t.deepEqual(
    read.map((one) => [...rightOf(one).keys()]),
    [['a'], ['b', 'a'], []],
  )
  await close()
})

test('a document that can not be read fails those alone who ask for it', async (t) => {
  const { documents, collection, damage, close } = await opened()
  damage('b')
  const [one, damaged, other] = await Promise.all(['a', 'b', 'c'].map((key) => documents.get(collection, [key])))
  t.deepEqual(
    [one, damaged, other].map((read) => read !== undefined && E.isRight(read)),
    [true, false, true],
  )
  await close()
})
