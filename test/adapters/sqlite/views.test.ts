import test from 'ava'
import { sqliteDocuments } from '../../../adapters/sqlite/documents/documents.js'
import type { Collection } from '../../../projections/ports.js'
import { byHand, openIn } from '../../kit/stores/sqlite.js'
import { positionAt } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import { temporaryDirectory } from '../../kit/temporary-directory.js'

const live: Collection = {
  name: 'ranks',
  version: 1,
  indexes: { by_group: ['group', 'rank'], by_rank: ['rank'] },
  generation: 'live',
}

const document = { group: 'a', rank: 7, title: 'x' }
const row = { key: 'k', position: 1, group: 'a', rank: 7, body: JSON.stringify(document) }

const rowsOfView = (directory: string): ReadonlyArray<unknown> =>
  byHand(directory, (database) => database.prepare('SELECT * FROM ranks').all())

test('a view shows what indexes are about in columns, before and after a rebuild, and no removed document', async (t) => {
  const directory = temporaryDirectory(t)
  const database = await openIn(directory)
  const documents = sqliteDocuments(database)
  const changes = [
    { key: 'k', position: positionAt(1), document },
    { key: 'gone', position: positionAt(1), document: undefined },
  ]
  for (const generation of ['live', 'next'] as const) {
    rightOf(await documents.prepare({ ...live, generation }))
    rightOf(await documents.apply({ ...live, generation }, changes, positionAt(1)))
    if (generation === 'next') rightOf(await documents.promote(live))
    t.deepEqual(rowsOfView(directory), [row])
  }
  await database.close()
})

test('a view that an earlier version made shows them once the file is opened', async (t) => {
  const directory = temporaryDirectory(t)
  const first = await openIn(directory)
  rightOf(await sqliteDocuments(first).prepare(live))
  rightOf(await sqliteDocuments(first).apply(live, [{ key: 'k', position: positionAt(1), document }], positionAt(1)))
  await first.close()
  byHand(directory, (database) => {
    const table = database.prepare<[], string>(`SELECT table_name FROM collections`).pluck().get() as string
    database.exec(
      `DROP VIEW ranks; CREATE VIEW ranks AS SELECT key, position, body FROM "${table}" WHERE body IS NOT NULL`,
    )
  })
  await (await openIn(directory)).close()
  t.deepEqual(rowsOfView(directory), [row])
})
