import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { contactFrom, contactOf } from '../../../../projections/from-streams/contact.js'
import { followedContacts, type RecordedActivity } from '../../../../projections/delivery/fan-out/followed-contacts.js'
import { histories, historyOf, type History } from '../../../kit/domain/histories.js'
import { holdsAsync } from '../../../kit/domain/property.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { countedReads } from '../../../kit/parts/counted-reads.js'
import { E } from '../../../../domain/prelude.js'
import { rightOf } from '../../../kit/right-of.js'

const storeOf = async (history: History) => {
  const store = memoryEventStore(memoryLog())
  for (const { stream, revision, position: _position, ...event } of history) {
    const expected = revision === 0 ? 'no-stream' : revision - 1
    rightOf(await store.append(stream, expected, [event]))
  }
  return countedReads(store)
}

const activitiesIn = (events: History): ReadonlySet<RecordedActivity> =>
  new Set(events.filter((event) => event.type === 'ActivityRecorded'))

/** The contact as its stream had it before the activity. */
const asOf = (history: History, { position, data }: RecordedActivity) => {
  const stream = `contact-${data.activity.contact_id}`
  const document = contactFrom(history.filter((event) => event.stream === stream && event.position < position))
  return document === undefined ? undefined : contactOf(document)
}

test('wherever it begins and in whatever batches, an activity meets its contact as it was then', async (t) => {
  const cuts = fc.array(fc.nat(80), { maxLength: 8 })
  await holdsAsync(
    t,
    fc.asyncProperty(histories, fc.nat(80), cuts, async (history, begin, at) => {
      const { store } = await storeOf(history)
      const contacts = followedContacts({ store, documents: memoryDocuments(documentState()) })
      const places = [...at.filter((place) => place > begin).toSorted((one, other) => one - other), history.length]
      let from = begin
      for (const place of places) {
        const batch = history.slice(from, place)
        const activities = activitiesIn(batch)
        const shown = await contacts.fold(batch, activities)
        for (const activity of activities) {
          const found = shown.get(activity)
          assert.deepEqual(found && rightOf(found), asOf(history, activity))
          assert.deepEqual(rightOf(await contacts.asOf(activity)), asOf(history, activity))
        }
        from = place
      }
    }),
  )
})

test('a contact that the log showed is not read, and any other once, however many activities follow', async (t) => {
  await holdsAsync(
    t,
    fc.asyncProperty(histories, fc.nat(80), async (history, begin) => {
      const { store, taken } = await storeOf(history)
      const contacts = followedContacts({ store, documents: memoryDocuments(documentState()) })
      for (const event of history.slice(begin)) await contacts.fold([event], activitiesIn([event]))
      const seen = history.slice(begin)
      const created = new Set(seen.flatMap((event) => (event.type === 'ContactCreated' ? [event.data.contact_id] : [])))
      const active = new Set([...activitiesIn(seen)].map(({ data }) => data.activity.contact_id))
      assert.equal(taken().calls, [...active].filter((id) => !created.has(id)).length)
      contacts.forget()
      const [last] = [...activitiesIn(seen)].slice(-1)
      if (last !== undefined) await contacts.fold([last], new Set([last]))
      assert.equal(taken().calls, last === undefined ? 0 : 1)
    }),
  )
})

test('a contact that can not be read is told of in its own activities alone, and is read again for the next ones', async (t) => {
  const history = historyOf([
    { does: 'open an account', whom: 0, how: 0, after: 1 },
    { does: 'create a source', whom: 0, how: 0, after: 1 },
    { does: 'submit a lead', whom: 0, how: 0, after: 1 },
    { does: 'submit a lead', whom: 0, how: 1, after: 1 },
  ])
  const { store } = await storeOf(history)
  const activities = [...activitiesIn(history)]
  t.is(activities.length, 2)
  const [poisoned] = activities
  const stream = `contact-${poisoned?.data.activity.contact_id ?? ''}`
  let isMended = false
  const contacts = followedContacts({
    store: {
      ...store,
      readLast: (one, count) =>
        one === stream && !isMended
          ? Promise.resolve(E.left({ kind: 'corrupt', reason: 'any' }))
          : store.readLast(one, count),
    },
    documents: memoryDocuments(documentState()),
  })
  const told = async () => [...(await contacts.fold(activities, new Set(activities))).values()].map(E.isRight)
  t.deepEqual(await told(), [false, true])
  isMended = true
  t.deepEqual(await told(), [true, true])
})
