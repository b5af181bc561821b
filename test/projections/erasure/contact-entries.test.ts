import test from 'ava'
import { beginning } from '../../../domain/event.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { MessageEvent } from '../../../domain/message.js'
import { anyProjection, collectionOf } from '../../../projections/projection.js'
import { applyBatch } from '../../../projections/subscriptions/runner.js'
import { messages } from '../../../projections/read-models/messages.js'
import { messagesOf } from '../../../projections/erasure/contact-entries.js'
import { logOf } from '../../kit/domain/log.js'
import { accountId, at, contactId, engagementId, messageId } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { rightOf } from '../../kit/right-of.js'

test('every message of a contact is given once, in its order, however many were asked for at the same time', async (t) => {
  const count = 80
  const ids = (n: number) => ({
    message_id: messageId(n),
    account_id: accountId(),
    contact_id: contactId(),
    engagement_id: engagementId(),
  })
  const eventOf = (n: number): MessageEvent =>
    n % 2 === 0
      ? {
          type: 'MessageReceived',
          data: { ...ids(n), text: 'When?', meaning: 'reply', paused_until: at(60), gives_up_at: at(90) },
        }
      : { type: 'MessageRequested', data: { ...ids(n), purpose: 'member', text: 'Now', expires_at: at(60) } }
  const events = Array.from({ length: count }, (_, n) => [`message-${messageId(n)}`, eventOf(n)] as const)
  const documents = memoryDocuments(documentState())
  rightOf(await documents.prepare(collectionOf(messages)))
  const log = logOf(...events).map((event) => ({ ...event, time: at() }))
  await applyBatch(anyProjection(messages), documents, { events: log, position: log.at(-1)?.position ?? beginning })
  const given: Array<string> = []
  for await (const page of messagesOf(documents, contactId(), neverAborted)) given.push(...page.map(({ id }) => id))
  const inOrder = (rest: number) => Array.from({ length: count / 2 }, (_, n) => messageId(2 * n + rest))
  t.deepEqual(given, [...inOrder(0), ...inOrder(1)])
})
