import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import type { ContactEvent } from '../../../../domain/contact.js'
import { E } from '../../../../domain/prelude.js'
import { contactFrom } from '../../../../projections/from-streams/contact.js'
import { contactAsOf } from '../../../../projections/delivery/fan-out/contact-as-of.js'
import { anyProjection, changesOf, collectionOf } from '../../../../projections/projection.js'
import { contacts } from '../../../../projections/read-models/contacts.js'
import { logOf } from '../../../kit/domain/log.js'
import { holdsAsync } from '../../../kit/domain/property.js'
import {
  accountId,
  at,
  contactId,
  details,
  engagementId,
  erasureId,
  leadId,
  playbookId,
  positionAt,
  recordId,
  sourceId,
  conversionId,
  contactCreated,
} from '../../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { rightOf } from '../../../kit/right-of.js'

const stream = `contact-${contactId()}`

const changed = (n: number): ContactEvent => ({
  type: 'ContactDetailsChanged',
  data: { lead_id: leadId(n), details: details({ additional_info: { order: String(n) } }) },
})

const engaged = (n: number): ContactEvent => ({
  type: 'ContactEngaged',
  data: {
    contact_id: contactId(),
    account_id: accountId(),
    lead_id: leadId(n),
    source_id: sourceId(),
    playbook_id: playbookId(),
    engagement_id: engagementId(n),
    submitted_at: at(),
    engaged_at: at(),
    filtered: false,
  },
})

const other: ContactEvent = {
  type: 'ContactConverted',
  data: { record_id: recordId(), conversion_id: conversionId(), ended: [] },
}

const optedOut: ContactEvent = { type: 'ContactOptedOut', data: { engagement_id: engagementId() } }
const optedIn: ContactEvent = { type: 'ContactOptedIn', data: { engagement_id: engagementId() } }

/**
 * Streams of up to four hundred events, in which changes of the details are frequent or rare; the contact opts out, and
 * in again, or says once more what is so already.
 */
const streams = fc
  .record({
    length: fc.integer({ min: 1, max: 400 }),
    every: fc.integer({ min: 1, max: 150 }),
    said: fc
      .array(fc.tuple(fc.nat(400), fc.constantFrom(optedOut, optedIn)), { maxLength: 5 })
      .map((all) => new Map(all)),
  })
  .map(({ length, every, said }) =>
    Array.from({ length }, (_, n): ContactEvent => {
      if (n === 0) return contactCreated
      const saying = said.get(n)
      if (saying !== undefined) return saying
      if (n % every === 0) return changed(n)
      return n % 7 === 0 ? other : engaged(n)
    }),
  )

test('whatever the read model shows, a contact is as its stream had it before the position', async (t) => {
  const place = fc.nat(400)
  await holdsAsync(
    t,
    fc.asyncProperty(streams, place, place, place, async (events, wanted, handled, ahead) => {
      const log = logOf(...events.map((event) => [stream, event] as const))
      const store = memoryEventStore(memoryLog())
      for (const { revision, position: _position, ...event } of log)
        rightOf(await store.append(stream, revision === 0 ? 'no-stream' : revision - 1, [event]))
      const documents = memoryDocuments(documentState())
      const collection = collectionOf(contacts)
      rightOf(await documents.prepare(collection))
      const shown = log.filter(({ position }) => position <= handled + ahead)
      const changes = changesOf(
        anyProjection(contacts),
        new Map(),
        shown.filter((event) => contacts.keyOf(event) !== undefined),
      )
      rightOf(await documents.apply(collection, changes, positionAt(Math.min(handled, log.length))))
      const expected = contactFrom(log.filter(({ position }) => position < wanted))
      assert.deepEqual(rightOf(await contactAsOf({ store, documents }, contactId(), positionAt(wanted))), expected)
    }),
    { numRuns: 80 },
  )
})

test('an opt-out that comes while a contact is loaded is not shown before it happened', async (t) => {
  const store = memoryEventStore(memoryLog())
  const documents = memoryDocuments(documentState())
  rightOf(await documents.prepare(collectionOf(contacts)))
  const events = [contactCreated, ...Array.from({ length: 149 }, (_, n): ContactEvent => changed(n + 1))]
  const log = logOf(...[...events, optedOut].map((event) => [stream, event] as const))
  const append = async ({ revision, position: _position, ...event }: (typeof log)[number]): Promise<void> => {
    rightOf(await store.append(stream, revision === 0 ? 'no-stream' : revision - 1, [event]))
  }
  for (const event of log.slice(0, -1)) await append(event)
  let isOut = false
  const optingOut: typeof documents.checkpoint = async (collection) => {
    if (!isOut) {
      isOut = true
      await append(log[150] ?? fail())
      const changes = changesOf(anyProjection(contacts), new Map(), log)
      rightOf(await documents.apply(collection, changes, positionAt(log.length)))
    }
    return documents.checkpoint(collection)
  }
  const ports = { store, documents: { ...documents, checkpoint: optingOut } }
  t.like(rightOf(await contactAsOf(ports, contactId(), positionAt(150))), { opted_out: false })
})

test('a contact whose first events are gone is corrupt, and is not read again and again', async (t) => {
  const events = Array.from({ length: 150 }, (_, n) => [stream, changed(n)] as const)
  const left = logOf(...events).map((event) => ({ ...event, revision: event.revision + 10 }))
  const store = {
    read: () => Promise.resolve(E.right({ events: left, revision: 159 })),
    readLast: (_stream: string, count: number) => Promise.resolve(E.right(left.slice(-count))),
  }
  const documents = memoryDocuments(documentState())
  t.like(await contactAsOf({ store, documents }, contactId(), positionAt(200)), { left: { kind: 'corrupt' } })
})

const fail = (): never => {
  throw new Error('the log is shorter')
}

for (const [what, isTruncated, followed] of [
  ['and truncated nothing is shown, however much followed', true, 150],
  ['nothing is shown, whatever the read model still shows', false, 20],
] as const)
  test(`of a contact that was erased ${what}`, async (t) => {
    const store = memoryEventStore(memoryLog())
    const documents = memoryDocuments(documentState())
    rightOf(await documents.prepare(collectionOf(contacts)))
    const erased: ContactEvent = {
      type: 'ContactErased',
      data: { contact_id: contactId(), account_id: accountId(), erasure_id: erasureId(), opted_out: false },
    }
    const late = (n: number): ContactEvent => ({
      type: 'LateLeadRefused',
      data: { erasure_id: erasureId(), lead_id: leadId(n), contact_id: contactId() },
    })
    const before = [contactCreated, ...Array.from({ length: 99 }, (_, n) => changed(n + 1))]
    const events = [...before, erased, ...Array.from({ length: followed }, (_, n) => late(n + 100))]
    const log = logOf(...events.map((event) => [stream, event] as const))
    for (const { revision, position: _position, ...event } of log)
      rightOf(await store.append(stream, revision === 0 ? 'no-stream' : revision - 1, [event]))
    const changes = changesOf(anyProjection(contacts), new Map(), log.slice(0, 100))
    if (isTruncated) rightOf(await store.truncate(stream, 100))
    else rightOf(await documents.apply(collectionOf(contacts), changes, positionAt(100)))
    t.deepEqual(await contactAsOf({ store, documents }, contactId(), positionAt(500)), E.right(undefined))
  })
