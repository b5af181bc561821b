import test from 'ava'
import { instantOf } from '../../../domain/instant.js'
import type { MessageEvent } from '../../../domain/message.js'
import { anyProjection } from '../../../projections/projection.js'
import { contactShards } from '../../../projections/read-models/contact-shards.js'
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

test('a message tells from where its last try went out, which may be another sender than that of the first', (t) => {
  const again = { ...ids, attempt: 2, begun_at: at(9) }
  const other = '+14155550102'
  t.is(documentAfter(begun, { type: 'MessageTriedAgain', data: { ...again, sender: other } }).sender, other)
  t.false('sender' in documentAfter(begun, { type: 'MessageTriedAgain', data: again }), 'the one that accounts share')
})

test('what a member wrote and was put off since the account is disabled waits for that, until it is put off otherwise or is over', (t) => {
  const written = { purpose: 'member', text: 'By hand', expires_at: at(9) } as const
  const requested: MessageEvent = { type: 'MessageRequested', data: { ...ids, ...written } }
  const postponed = (reason: string): MessageEvent => ({
    type: 'MessagePostponed',
    data: { ...ids, until: at(5), reason },
  })
  const waits = [requested, postponed('the account is disabled')]
  const { waits_in, waits_for } = documentAfter(...waits)
  t.deepEqual([waits_in, waits_for?.split('/')[0]], [contactShards.of(contactId()), accountId()])
  const failed = { attempt: 0, kind: 'withdrawn', reason: 'the conversation has ended' } as const
  const others: ReadonlyArray<MessageEvent> = [
    postponed('quiet hours'),
    { type: 'MessageBegun', data: { ...ids, purpose: 'member', text: 'By hand', segments: 1, begun_at: at(5) } },
    { type: 'MessageFailed', data: { ...ids, ...failed } },
  ]
  for (const other of others) t.false('waits_in' in documentAfter(...waits, other), other.type)
})

test('an answer stands behind the text that it answers, which came at the same instant', (t) => {
  const meaning = { meaning: 'help', answer: 'help', paused_until: at(9), gives_up_at: at(9) } as const
  const text = documentAfter({ type: 'MessageReceived', data: { ...ids, text: 'HELP', ...meaning } })
  const request = { purpose: 'help', text: null, expires_at: at(9) } as const
  const answer = documentAfter({ type: 'MessageRequested', data: { ...ids, ...request } })
  t.is(text.created_at, answer.created_at)
  t.true(text.order < answer.order)
})

test('what was asked for keeps its place among the messages of its contact, and counts for the month in which it was begun', (t) => {
  const requested: MessageEvent = {
    type: 'MessageRequested',
    data: { ...ids, purpose: 'member', text: 'By hand', expires_at: at(9) },
  }
  const begun: MessageEvent = {
    type: 'MessageBegun',
    data: { ...ids, purpose: 'member', text: 'By hand', segments: 1, begun_at: at() },
  }
  const sent: MessageEvent = { type: 'MessageSent', data: { ...ids, attempt: 1, provider_id: 'SM1' } }
  const [asked, later] = [Date.UTC(2026, 0, 31, 23), Date.UTC(2026, 1, 1, 9)].map(instantOf)
  const stream = `message-${messageId()}`
  const log = logOf(...[requested, begun, sent].map((event) => [stream, event] as const)).map((event, index) => ({
    ...event,
    time: (index === 0 ? asked : later) ?? event.time,
  }))
  const document = project(anyProjection(messages), log)[messageId()] as MessageDocument
  const counted = { created_at: asked, account_month: `${accountId()}/2026-02` } as const
  t.like(document, { ...counted, state: 'sent' })
  const history = log.map(({ type, time }) => ({ type, at: time }))
  const [closing] = logOf([
    stream,
    {
      type: 'MessageErased',
      data: {
        ...{ ...ids, direction: 'outbound', state: 'sent', segments: 1, history },
        began_at: later ?? at(),
      },
    } satisfies MessageEvent,
  ])
  const left = closing === undefined ? {} : project(anyProjection(messages), [closing])
  t.like(left[messageId()], { ...counted, state: 'erased' })
})
