import test from 'ava'
import type { ContactId, MessageId } from '../../../domain/ids.js'
import { wakeUp } from '../../../domain/wake-up.js'
import { beginDue } from '../../../projections/follow-up/due.js'
import type { Json } from '../../../projections/ports.js'
import { collectionOf } from '../../../projections/projection.js'
import { followUps } from '../../../projections/read-models/follow-ups.js'
import { answerQueueOf, messages } from '../../../projections/read-models/messages.js'
import { at, contactId, messageId, positionAt } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { testLease } from '../../kit/parts/lease.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { settled, turnTime } from '../../kit/time/turns.js'

const lease = testLease('contacts_0')

const due = (id: MessageId, contact: ContactId) => {
  const document: Json = { id, contact_id: contact, queue: answerQueueOf(lease.name), next_at: at() }
  return { key: id, document, position: positionAt(1) }
}

test('one contact is written to by one turn at a time, so that each knows what the one before has sent', async (t) => {
  const documents = memoryDocuments(documentState())
  rightOf(await documents.prepare(collectionOf(followUps)))
  rightOf(await documents.prepare(collectionOf(messages)))
  const waiting = [due(messageId(1), contactId(1)), due(messageId(2), contactId(1)), due(messageId(3), contactId(2))]
  rightOf(await documents.apply(collectionOf(messages), waiting, positionAt(1)))
  const shard = {
    ...{
      lease,
      wakeUp: wakeUp(),
      underWay: new Map(),
      checking: new Map(),
      erasing: new Set<MessageId>(),
      writingTo: new Map<MessageId, ContactId>(),
    },
    ...{ setAside: new Map(), latePaceUntil: 0 },
  }
  const begun: Array<string> = []
  const look = async (): Promise<void> => {
    const looking = beginDue({ documents, clock: manualClock(), time: turnTime }, shard, (id) => {
      begun.push(id)
      shard.underWay.set(id, Promise.resolve())
    })
    await settled()
    shard.wakeUp.wake()
    await looking
  }
  await look()
  t.deepEqual(begun, [messageId(1), messageId(3)])
  shard.writingTo.delete(messageId(1))
  await look()
  t.deepEqual(begun, [messageId(1), messageId(3), messageId(2)])
})
