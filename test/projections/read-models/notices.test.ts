import test from 'ava'
import type { DomainEvent } from '../../../domain/events.js'
import { notices } from '../../../projections/read-models/notices.js'
import { anyProjection } from '../../../projections/projection.js'
import { logOf } from '../../kit/domain/log.js'
import { project } from '../../kit/parts/project.js'
import { accountId, at, memberId, noticeFacts, noticeId, webhookId } from '../../kit/domain/samples.js'

const noticeAfter = (...events: ReadonlyArray<DomainEvent>) =>
  project(anyProjection(notices), logOf(...events.map((event) => [`notice-${noticeId()}`, event] as const)))[noticeId()]

const due: DomainEvent = { type: 'NoticeDue', data: noticeFacts({ due_at: at(5) }) }
const failed: DomainEvent = {
  type: 'NoticeAttemptFailed',
  data: { attempt: 1, reason: 'SMTP 451', next_attempt_at: at(60_000) },
}
const settled = {
  account_id: accountId(),
  id: noticeId(),
  webhook_id: webhookId(),
  member_id: memberId(),
  created_at: at(1000),
  attempts: 0,
  last_reason: null,
}

test('a notice is due until it is sent or given up', (t) => {
  t.deepEqual(noticeAfter(due), { ...settled, state: 'due', next_attempt_at: at(5) })
  const tried = { ...settled, attempts: 1, last_reason: 'SMTP 451' }
  t.deepEqual(noticeAfter(due, failed), { ...tried, state: 'due', next_attempt_at: at(60_000) })
  t.deepEqual(noticeAfter(due, failed, { type: 'NoticeSent', data: { attempt: 2 } }), {
    ...tried,
    state: 'sent',
    attempts: 2,
  })
  t.deepEqual(noticeAfter(due, { type: 'NoticeAbandoned', data: { why: 'refused', reason: 'SMTP 550' } }), {
    ...settled,
    state: 'abandoned',
    last_reason: 'SMTP 550',
  })
})
