import test from 'ava'
import type { DomainEvent } from '../../../domain/events.js'
import { millisecondsOf } from '../../../domain/instant.js'
import { maximalMailings } from '../../../domain/notice.js'
import { notices } from '../../../projections/read-models/notices.js'
import { letterOf, type Surroundings } from '../../../projections/notices/letter.js'
import { nextMailingAt } from '../../../projections/notices/retry-schedule.js'
import { anyProjection } from '../../../projections/projection.js'
import { logOf } from '../../kit/log.js'
import { project } from '../../kit/project.js'
import { accountId, at, memberId, noticeFacts, noticeId, webhookId } from '../../kit/samples.js'

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

test('mailing is tried for about four days: after a minute, then twice as late each time, four hours at most', (t) => {
  const retries = Array.from({ length: maximalMailings - 1 }, (_, n) => n + 1)
  const minutes = retries.map((attempt) => millisecondsOf(nextMailingAt(attempt, at())) - millisecondsOf(at()))
  t.deepEqual(
    minutes.slice(0, 10).map((wait) => wait / 60_000),
    [1, 2, 4, 8, 16, 32, 64, 128, 240, 240],
  )
  const days = minutes.reduce((sum, wait) => sum + wait, 0) / (24 * 60 * 60_000)
  t.true(days > 4 && days < 4.1, `${days} days`)
})

const around: Surroundings = {
  siteUrl: 'https://leads.example.com/base',
  url: 'https://user:word@receiver.example:8443/hook-path?key=secret',
  state: 'off',
  waiting: 12,
}
const facts = noticeFacts({ failing_since: at(-327_000_000), turned_off_at: at(1234), reason: 'status 503' })

test('the letter says since when and why, what is held, and how to turn it on again (contract 6.6.4)', (t) => {
  const { subject, text } = letterOf(facts, around)
  t.is(subject, 'The webhook to https://receiver.example:8443 was turned off')
  t.is(
    text,
    `The webhook ${webhookId()} to https://receiver.example:8443 was turned off:
one delivery failed 19 times, and nothing is posted to it any more.

Failing since: 2026-01-11 17:10:00 UTC
Turned off at: 2026-01-15 12:00:01 UTC
Why the last attempt failed: status 503

Held for it now: 12 deliveries.
New activity is held too: nothing is lost.

Once the receiver answers again, turn it on. The call takes the operator key:

POST https://leads.example.com/base/manage/v1/accounts/${accountId()}/webhooks/${webhookId()}/turn_on
{"catch_up": true}

true delivers what is held, then goes on with new activity.
false skips what is held: only new activity is delivered.

This goes to the admins and managers of the account ${accountId()}.
`,
  )
})

test('of the URL it tells the origin alone', (t) => {
  const { subject, text } = letterOf(facts, around)
  t.notRegex(subject + text, /hook-path|key=|secret|user|word/)
})

test('where it is not known since when, it says only when it was turned off', (t) => {
  const { text } = letterOf(noticeFacts(), { ...around, waiting: 1 })
  t.notRegex(text, /Failing since/)
  t.regex(text, /^Turned off at: 2026-01-15 12:00:00 UTC$/m)
  t.regex(text, /^Held for it now: 1 delivery\.$/m)
})

test('of one that is on again, or gone, it says so and asks for nothing', (t) => {
  for (const [state, sentence] of [
    ['on', /^It was turned on again since/m],
    ['removed', /^It was removed since/m],
  ] as const) {
    const { text } = letterOf(facts, { ...around, state })
    t.regex(text, sentence)
    t.notRegex(text, /POST|held|Held/)
  }
})
