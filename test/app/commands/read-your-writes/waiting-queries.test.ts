import test from 'ava'
import { waitingQueries } from '../../../../app/commands/read-your-writes/waiting-queries.js'
import { neverAborted } from '../../../../domain/abortable.js'
import { beginning, type Position } from '../../../../domain/event.js'
import { E } from '../../../../domain/prelude.js'
import { collectionOf } from '../../../../projections/projection.js'
import { contacts } from '../../../../projections/read-models/contacts.js'
import { conversionList } from '../../../../projections/read-models/lists/conversion-list.js'
import { readModels } from '../../../../projections/read-models/registry.js'
import { waiters } from '../../../../projections/subscriptions/follower.js'
import { logOf } from '../../../kit/domain/log.js'
import { contactCreated, contactId, conversionDefined, conversionId, positionAt } from '../../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { manualTime } from '../../../kit/time/manual-time.js'
import { isOver, settled } from '../../../kit/time/turns.js'

const createdAt = (n: number) => [`contact-${contactId(n)}`, contactCreated] as const

const [ofFirst = [], ofSecond = [], ofFirstAgain = [], ofConversion = []] = logOf(
  createdAt(1),
  createdAt(2),
  createdAt(1),
  [`conversion-${conversionId()}`, conversionDefined],
).map((event) => [event])

const away = E.left({ kind: 'unavailable', reason: 'away' } as const)

/** Read models that come as far as they are let; `head`: where the log ended when this process began. */
const open = (head: Position = beginning) => {
  const time = manualTime()
  const asked: Array<readonly [name: string, position: Position]> = []
  const position = new Map<string, Position>()
  const followers = readModels.map((projection) => {
    const { wake, reached } = waiters((wanted) => (position.get(projection.name) ?? positionAt(0)) >= wanted)
    const caughtUpTo = (wanted: Position, signal: AbortSignal): Promise<void> => {
      asked.push([projection.name, wanted])
      return reached(wanted, signal)
    }
    return { projection, wake, follower: { caughtUpTo } }
  })
  const stored = memoryDocuments(documentState())
  for (const projection of readModels) void stored.prepare(collectionOf(projection))
  let isAway = false
  const { untilAnswerable, documents } = waitingQueries({
    readModels: followers,
    head,
    documents: { ...stored, exists: (one) => (isAway ? Promise.resolve(away) : stored.exists(one)) },
    monotonic: time.process(),
    stopping: neverAborted,
  })
  return {
    asked,
    untilAnswerable,
    advance: time.advance,
    documents,
    contact: () => documents.get(collectionOf(contacts), [contactId()]),
    contactCount: () => documents.count(collectionOf(contacts)),
    conversions: () => documents.find(collectionOf(conversionList), { index: 'by_account', equals: ['a'], limit: 1 }),
    /** The contacts are being built anew, in another version. */
    build: () => stored.drop(collectionOf(contacts)),
    takeAway: () => (isAway = true),
    /** The read model `name` has come to a position. */
    come: (name: string, to: Position): void => {
      position.set(name, to)
      for (const { projection, wake } of followers) if (projection.name === name) wake()
    },
  }
}

test('a command is answered at once, and who reads what it concerns waits until that shows it', async (t) => {
  const { untilAnswerable, contact, come } = open()
  t.true(await isOver(untilAnswerable(ofFirst)))
  const reading = contact()
  t.false(await isOver(reading))
  come('contacts', positionAt(1))
  t.true(await isOver(reading))
})

test('every way to read documents waits', async (t) => {
  const { untilAnswerable, documents } = open()
  await untilAnswerable(ofFirst)
  const collection = collectionOf(contacts)
  for (const read of [
    () => documents.get(collection, [contactId()]),
    () => documents.find(collection, { index: 'any', equals: [], limit: 1 }),
    () => documents.count(collection),
    () => documents.values(collection, 'any'),
  ])
    t.false(await isOver(read()))
})

test('who reads what no command concerned waits for nothing', async (t) => {
  const { untilAnswerable, conversions } = open()
  await untilAnswerable(ofFirst)
  t.true(await isOver(conversions()))
})

test('who reads a document by its key does not wait for what was written to others', async (t) => {
  const { untilAnswerable, contact, contactCount, come } = open()
  await untilAnswerable(ofSecond)
  t.true(await isOver(contact()))
  const counting = contactCount()
  t.false(await isOver(counting))
  come('contacts', positionAt(2))
  t.true(await isOver(counting))
})

test('where very many documents were written to, who reads one of them waits for all', async (t) => {
  const { untilAnswerable, contact, come } = open()
  void untilAnswerable(logOf(...Array.from({ length: 10_001 }, (_, n) => createdAt(n + 2))))
  const reading = contact()
  t.false(await isOver(reading))
  come('contacts', positionAt(10_001))
  t.true(await isOver(reading))
  t.true(await isOver(contact()))
})

test('where a read model has 2,000 events to catch up with, who writes to it waits for it, and nobody else', async (t) => {
  const { untilAnswerable, come, advance } = open()
  const created = logOf(...Array.from({ length: 2_002 }, (_, n) => createdAt(n + 1)))
  for (const event of created.slice(0, 2_000)) await untilAnswerable([event])
  const [first, second] = created.slice(2_000).map((event) => untilAnswerable([event]))
  t.false(await isOver(first ?? Promise.resolve()))
  t.true(await isOver(untilAnswerable(ofConversion)))
  come('contacts', positionAt(2_001))
  t.true(await isOver(first ?? Promise.resolve()))
  t.false(await isOver(second ?? Promise.resolve()))
  await advance(3_000)
  t.true(await isOver(second ?? Promise.resolve()), 'as long as one who reads')
})

test('what a read model has caught up with holds up no command, in whichever order it was answered', async (t) => {
  const { untilAnswerable, come } = open()
  const created = logOf(...Array.from({ length: 2_003 }, (_, n) => createdAt(n + 1)))
  await untilAnswerable(created.slice(2_001, 2_002))
  void untilAnswerable(created.slice(0, 2_001))
  come('contacts', positionAt(2_002))
  await settled()
  t.true(await isOver(untilAnswerable(created.slice(2_002))))
})

test('what was written to a document twice is waited for in whichever order the two were answered', async (t) => {
  const { untilAnswerable, contact, come } = open()
  await untilAnswerable(ofFirstAgain)
  await untilAnswerable(ofFirst)
  const reading = contact()
  come('contacts', positionAt(1))
  t.false(await isOver(reading))
  come('contacts', positionAt(3))
  t.true(await isOver(reading))
})

test('all that is answered while a read model catches up costs one look at how far it has come', async (t) => {
  const { asked, untilAnswerable, come } = open()
  for (const event of logOf(...[1, 2, 3].map(createdAt))) await untilAnswerable([event])
  come('contacts', positionAt(1))
  await settled()
  come('contacts', positionAt(3))
  await settled()
  t.deepEqual(asked, [
    ['contacts', 1n],
    ['contacts', 3n],
  ])
})

test('what was answered before this process began is waited for too', async (t) => {
  const { contact, conversions, come } = open(positionAt(5))
  const reading = [contact(), conversions()]
  for (const one of reading) t.false(await isOver(one))
  come('contacts', positionAt(5))
  come('conversion_list', positionAt(5))
  for (const one of reading) t.true(await isOver(one))
})

test('who reads what is being built is told so at once, and what can be read from streams is', async (t) => {
  const { contact, build } = open(positionAt(5))
  await build()
  t.true(await isOver(contact()))
})

test('where the documents do not answer nobody waits for a read model', async (t) => {
  const { untilAnswerable, contact, takeAway } = open()
  await untilAnswerable(ofFirst)
  takeAway()
  t.deepEqual(await contact(), away)
})

test('who reads waits for three seconds at most, and nobody waits again until the read model has caught up', async (t) => {
  const { untilAnswerable, advance, contact, come } = open()
  await untilAnswerable(ofFirst)
  const reading = contact()
  await settled()
  await advance(2_999)
  t.false(await isOver(reading))
  await advance(1)
  t.true(await isOver(reading))

  await untilAnswerable(ofFirstAgain)
  t.true(await isOver(contact()), 'it is known to be late')
  come('contacts', positionAt(1))
  await settled()
  t.false(await isOver(contact()), 'it has caught up with what it was late with')
})
