import test from 'ava'
import { sqliteDocuments } from '../../../../adapters/sqlite/documents/documents.js'
import { ofSameLog, withinLog } from '../../../../app/composition/start/store-checks.js'
import { E } from '../../../../domain/prelude.js'
import { StoreFailed } from '../../../../domain/store-failed.js'
import type { Documents } from '../../../../projections/ports.js'
import { anyProjection, collectionOf } from '../../../../projections/projection.js'
import { contacts as contactsReadModel } from '../../../../projections/read-models/contacts.js'
import { logOf } from '../../../kit/domain/log.js'
import { positionAt } from '../../../kit/domain/samples.js'
import { rightOf } from '../../../kit/right-of.js'
import { openSqlite, openSqliteStores } from '../../../kit/stores/sqlite.js'
import { turnTime } from '../../../kit/time/turns.js'

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

test('beside an empty log the read models are those of none yet', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  t.deepEqual(await ofSameLog(documents, undefined), same)
  t.deepEqual(await ofSameLog(documents, second), same)
  t.true(E.isLeft(await ofSameLog(documents, first)))
  await close()
})

test('a start whose documents do not answer fails, and takes no other log for theirs', async (t) => {
  const { port: documents, close } = await openSqlite(sqliteDocuments)
  const away: Documents = {
    ...documents,
    get: () => Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' })),
  }
  await t.throwsAsync(ofSameLog(away, first), { instanceOf: StoreFailed, message: 'away' })
  await close()
})

test('read models that have come further than the log are refused, unless its head was only late', async (t) => {
  const { store, documents, close } = await openSqliteStores()
  t.teardown(close)
  t.deepEqual(await withinLog({ store, documents }, turnTime), same, 'nothing was made yet')
  const contacts = collectionOf(anyProjection(contactsReadModel))
  rightOf(await documents.prepare(contacts))
  rightOf(await documents.apply(contacts, [], positionAt(5)))
  const heads = [positionAt(3), positionAt(4), positionAt(5)]
  const late = { ...store, head: () => Promise.resolve(E.right(heads.shift() ?? positionAt(6))) }
  t.deepEqual(await withinLog({ store: late, documents }, turnTime), same)
  const older = { ...store, head: () => Promise.resolve(E.right(positionAt(4))) }
  const refused = await withinLog({ store: older, documents }, turnTime)
  t.regex(E.isLeft(refused) ? refused.left : '', /^The read models have come further than the log: [^.]+\.$/)
})
