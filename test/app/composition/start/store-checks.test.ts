import test from 'ava'
import { sqliteDocuments } from '../../../../adapters/sqlite/documents/documents.js'
import { ofSameLog, withinLog } from '../../../../app/composition/start/store-checks.js'
import { beginning } from '../../../../domain/event.js'
import { E } from '../../../../domain/prelude.js'
import { StoreFailed } from '../../../../domain/store-failed.js'
import type { Documents } from '../../../../projections/ports.js'
import { anyProjection, collectionOf } from '../../../../projections/projection.js'
import { contacts as contactsReadModel } from '../../../../projections/read-models/contacts.js'
import { checkpointCollection } from '../../../../projections/subscriptions/checkpoint.js'
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

const contacts = anyProjection(contactsReadModel)

for (const { title, collection } of [
  { title: 'a read model', collection: collectionOf(contacts) },
  { title: 'a half built read model', collection: collectionOf(contacts, 'next') },
  { title: 'a process manager', collection: checkpointCollection('reactions') },
])
  test(`${title} that has come further than the log is refused, unless its head was only late`, async (t) => {
    const { store, documents, close } = await openSqliteStores()
    t.teardown(close)
    t.deepEqual(await withinLog({ store, documents }, turnTime), same, 'nothing was made yet')
    rightOf(await documents.prepare(collection))
    rightOf(await documents.apply(collection, [], positionAt(5)))
    const heads = [positionAt(3), positionAt(4), positionAt(5)]
    const late = { ...store, head: () => Promise.resolve(E.right(heads.shift() ?? positionAt(6))) }
    t.deepEqual(await withinLog({ store: late, documents }, turnTime), same)
    const older = { ...store, head: () => Promise.resolve(E.right(positionAt(4))) }
    const refused = await withinLog({ store: older, documents }, turnTime)
    t.regex(
      E.isLeft(refused) ? refused.left : '',
      /^The read models or process managers have come further than the log: [^.]+\.$/,
    )
  })

test('a checkpoint in the log that was copied from another one, and is further, is refused', async (t) => {
  const { store, documents, close } = await openSqliteStores()
  t.teardown(close)
  const saved = (name: string) => Promise.resolve(E.right(name === 'delivery_projector' ? positionAt(5) : beginning))
  const copied = { ...store, checkpoint: saved, head: () => Promise.resolve(E.right(positionAt(4))) }
  const refused = await withinLog({ store: copied, documents }, turnTime)
  t.regex(E.isLeft(refused) ? refused.left : '', /^The streams checkpoint-… were copied from another log [^.]+\.$/)
  const whole = { ...copied, head: () => Promise.resolve(E.right(positionAt(6))) }
  t.deepEqual(await withinLog({ store: whole, documents }, turnTime), same)
})
