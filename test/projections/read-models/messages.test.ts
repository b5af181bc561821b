import test from 'ava'
import type { MessageEvent } from '../../../domain/message.js'
import { anyProjection } from '../../../projections/projection.js'
import { messages, type MessageDocument } from '../../../projections/read-models/messages.js'
import { logOf } from '../../kit/domain/log.js'
import { accountId, at, contactId, engagementId, messageId } from '../../kit/domain/samples.js'
import { project } from '../../kit/parts/project.js'

const ids = { message_id: messageId(), account_id: accountId(), contact_id: contactId(), engagement_id: engagementId() }
const sender = '+14155550101'
const begun: MessageEvent = {
  type: 'MessageBegun',
  data: { ...ids, step: 0, text: 'Hi', segments: 1, begun_at: at(), sender },
}
const erased: MessageEvent = {
  type: 'MessageErased',
  data: { ...ids, direction: 'outbound', state: 'sent', segments: 1, began_at: at(), sender },
}

const documentAfter = (...events: ReadonlyArray<MessageEvent>): MessageDocument => {
  const log = logOf(...events.map((event) => [`message-${messageId()}`, event] as const))
  return project(anyProjection(messages), log)[messageId()] as MessageDocument
}

test('a message whose text was removed still tells to whom and from where it went out, also where nothing else is left', (t) => {
  const went = { state: 'erased', text: null, sent_to: contactId(), sender } as const
  t.like(documentAfter(begun, erased), went)
  t.like(documentAfter(erased), went)
})

test('a message that failed, or was never tried, went to nobody, also once its text was removed', (t) => {
  for (const state of ['failed', 'waiting', 'requested']) {
    const document = documentAfter({ ...erased, data: { ...erased.data, state } })
    t.is(document.state, 'erased')
    t.false('sent_to' in document, state)
  }
})
