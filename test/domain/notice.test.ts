import test from 'ava'
import type { MailOutcome } from '../../domain/mail-outcome.js'
import { notice, type NoticeCommand, type NoticeEvent } from '../../domain/notice.js'
import { at, noticeFacts } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'
import { mostMailAttempts } from '../../domain/retry-schedule.js'

const attempt = (n: number, outcome: MailOutcome): NoticeCommand => ({
  type: 'RecordAttempt',
  attempt: n,
  outcome,
  nextAttemptAt: at(n * 1000),
})
const fails: MailOutcome = { kind: 'failed', reason: 'SMTP 451' }
const isRefused: MailOutcome = { kind: 'refused', reason: 'SMTP 550' }

const due: NoticeEvent = { type: 'NoticeDue', data: noticeFacts({ failing_since: at(-1000) }) }
const sent = (n: number): NoticeEvent => ({ type: 'NoticeSent', data: { attempt: n } })
const failed = (n: number): NoticeEvent => ({
  type: 'NoticeAttemptFailed',
  data: { attempt: n, reason: 'SMTP 451', next_attempt_at: at(n * 1000) },
})
const failures = (count: number): ReadonlyArray<NoticeEvent> => Array.from({ length: count }, (_, n) => failed(n + 1))
const refused: NoticeEvent = { type: 'NoticeAbandoned', data: { why: 'refused', reason: 'SMTP 550' } }

test('a notice becomes due once', (t) => {
  const make: NoticeCommand = { type: 'MakeDue', facts: noticeFacts({ failing_since: at(-1000) }) }
  given(t, notice).when(make).then(due)
  given(t, notice, due).when(make).isAlreadySo()
  given(t, notice, due, failed(1)).when(make).isAlreadySo()
  given(t, notice, due, sent(1)).when(make).isAlreadySo()
})

test('a notice is sent once', (t) => {
  given(t, notice, due).when(attempt(1, 'sent')).then(sent(1))
  given(t, notice, due, failed(1)).when(attempt(2, 'sent')).then(sent(2))
  given(t, notice, due, sent(1)).when(attempt(1, 'sent')).isAlreadySo()
  given(t, notice, due, sent(1)).when(attempt(2, fails)).isAlreadySo()
})

test('a notice that fails names the time of its next attempt', (t) => {
  given(t, notice, due).when(attempt(1, fails)).then(failed(1))
  given(t, notice, due, failed(1)).when(attempt(2, fails)).then(failed(2))
})

test('an attempt to mail a notice counts only in its turn', (t) => {
  given(t, notice, due).when(attempt(2, 'sent')).isAlreadySo()
  given(t, notice, due, failed(1)).when(attempt(1, fails)).isAlreadySo()
  given(t, notice, due, failed(1)).when(attempt(1, isRefused)).isAlreadySo()
})

test('a notice that is refused for good is not tried again', (t) => {
  given(t, notice, due).when(attempt(1, isRefused)).then(refused)
  given(t, notice, due, refused).when(attempt(2, 'sent')).isAlreadySo()
})

test('after its last attempt a notice is given up, unless that one succeeds', (t) => {
  const last = given(t, notice, due, ...failures(mostMailAttempts - 1))
  last
    .when(attempt(mostMailAttempts, fails))
    .then({ type: 'NoticeAbandoned', data: { why: 'attempts-exhausted', reason: 'SMTP 451' } })
  last.when(attempt(mostMailAttempts, 'sent')).then(sent(mostMailAttempts))
  given(t, notice, due, ...failures(mostMailAttempts - 2))
    .when(attempt(mostMailAttempts - 1, fails))
    .then(failed(mostMailAttempts - 1))
})

test('a member who was removed is not told', (t) => {
  const removed: NoticeEvent = { type: 'NoticeAbandoned', data: { why: 'member-removed', reason: null } }
  given(t, notice, due).when({ type: 'AbandonNotice' }).then(removed)
  given(t, notice, due, failed(1)).when({ type: 'AbandonNotice' }).then(removed)
  given(t, notice, due, sent(1)).when({ type: 'AbandonNotice' }).isAlreadySo()
})

test('an unknown notice is not found', (t) => {
  for (const command of [attempt(1, 'sent'), { type: 'AbandonNotice' }] as const) {
    given(t, notice).when(command).refuses('notice-not-found')
  }
})
