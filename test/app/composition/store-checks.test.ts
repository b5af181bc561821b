import test from 'ava'
import { sqliteDocuments } from '../../../adapters/sqlite/documents.js'
import { ofSameLog } from '../../../app/composition/store-checks.js'
import { E } from '../../../domain/prelude.js'
import { StoreFailed } from '../../../domain/store-failed.js'
import type { Documents } from '../../../projections/ports.js'
import { logOf } from '../../kit/domain/log.js'
import { openSqlite } from '../../kit/stores/sqlite.js'

const enabled = { type: 'AccountEnabled', data: {} } as const
const [first, second] = logOf(['account-1', enabled], ['account-2', enabled])

const same = E.right(undefined)

test('the first log that there is becomes the one that belongs to the read models', async (t) => {
  const { port: documents, reopen, close } = await openSqlite(sqliteDocuments)
  t.deepEqual(await ofSameLog(documents, first), same)
  t.deepEqual(await ofSameLog(documents, first), same)
  t.deepEqual(await ofSameLog(await reopen(), first), same)
  await close()
})

test('read models are refused beside another log, and beside one that was emptied, in one sentence', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  t.deepEqual(await ofSameLog(documents, first), same)
  for (const other of [second, undefined]) {
    const refused = await ofSameLog(documents, other)
    t.regex(E.isLeft(refused) ? refused.left : '', /^The read models were made from another log: [^.]+\.$/)
    t.false(JSON.stringify(refused).includes(first?.id ?? ''))
  }
  t.deepEqual(await ofSameLog(documents, first), same, 'a refusal changes nothing')
  await close()
})

test('an empty log says nothing yet', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  t.deepEqual(await ofSameLog(documents, undefined), same)
  t.deepEqual(await ofSameLog(documents, second), same)
  t.true(E.isLeft(await ofSameLog(documents, first)))
  await close()
})

test('a store that fails is no answer', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const away: Documents = {
    ...documents,
    get: () => Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' })),
  }
  await t.throwsAsync(ofSameLog(away, first), { instanceOf: StoreFailed, message: 'away' })
  await close()
})
