import test from 'ava'
import type { DomainEvent, RecordedEvent } from '../../../domain/events.js'
import { message } from '../../../domain/message.js'
import { streamOf } from '../../../domain/stream-name.js'
import { sentSince } from '../../../projections/follow-up/sending/parties.js'
import { anyProjection, changesOf, collectionOf } from '../../../projections/projection.js'
import { messages } from '../../../projections/read-models/messages.js'
import { accountId, at, contactId, engagementId, messageId, positionAt } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { rightOf } from '../../kit/right-of.js'

const minute = 60_000

const ids = {
  ...{ message_id: messageId(), account_id: accountId(), contact_id: contactId(), engagement_id: engagementId() },
  step: 0,
}

/** Its first attempt fails, and its second one, ten minutes later, does not. */
const story: ReadonlyArray<readonly [DomainEvent, number]> = [
  [{ type: 'MessageBegun', data: { ...ids, text: 'Hi', segments: 1, begun_at: at() } }, 0],
  [
    {
      type: 'MessageAttemptFailed',
      data: { ...ids, attempt: 1, reason: 'HTTP 503', next_attempt_at: at(10 * minute) },
    },
    0,
  ],
  [{ type: 'MessageTriedAgain', data: { ...ids, attempt: 2, begun_at: at(10 * minute) } }, 10 * minute],
  [{ type: 'MessageSent', data: { ...ids, attempt: 2, provider_id: null } }, 10 * minute],
]

test('a message that was tried again counts against the limit of a state from its last attempt on', async (t) => {
  const projection = anyProjection(messages)
  const stream = streamOf(message, ids.message_id)
  const events = story.map(
    ([event, after], index) =>
      ({ ...event, stream, revision: index, position: positionAt(index + 1), time: at(after) }) as RecordedEvent,
  )
  const documents = memoryDocuments(documentState())
  rightOf(await documents.prepare(collectionOf(projection)))
  rightOf(await documents.apply(collectionOf(projection), changesOf(projection, new Map(), events), positionAt(4)))
  t.deepEqual(await sentSince(documents, contactId(), at(minute)), [at(10 * minute)])
  t.deepEqual(await sentSince(documents, contactId(), at(11 * minute)), [])
})
