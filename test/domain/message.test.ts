import test from 'ava'
import { fold } from '../../domain/decider.js'
import { message, type MessageCommand, type MessageReport } from '../../domain/message.js'
import { at, messageIds } from '../kit/domain/samples.js'
import { rightOf } from '../kit/right-of.js'

const facts = {
  ...messageIds,
  step: 0,
}
const after = { next_step_at: null, gives_up_at: at(1_000) }
const begin: MessageCommand = { type: 'BeginMessage', facts, text: 'Hi', segments: 1, at: at(), after }
const sent = (attempt = 1, providerId = 'SM1'): MessageCommand => ({
  type: 'EndMessage',
  attempt,
  ending: { kind: 'sent', providerId },
  after,
})
const unknown: MessageCommand = {
  type: 'EndMessage',
  attempt: 1,
  ending: { kind: 'unknown', reason: 'no answer' },
  after,
}
const failedAttempt: MessageCommand = {
  type: 'RecordFailedAttempt',
  attempt: 1,
  reason: 'absent',
  nextAttemptAt: at(60),
  after,
}
const reported = (report: MessageReport): MessageCommand => ({ type: 'ReportMessage', report, retryAt: at(60) })
const delivered = reported({ kind: 'delivered', providerId: 'SM1' })
const taken = reported({ kind: 'taken', providerId: 'SM1' })
const failing = (kind: 'undeliverable' | 'opted-out' | 'unreached' | 'sender-blocked', providerId = 'SM1') =>
  reported({ kind, providerId, reason: 'a code' })

/** The types of what was recorded, and the state in the end. */
const story = (...commands: ReadonlyArray<MessageCommand>) => {
  let state = message.initial
  const types: Array<string> = []
  for (const command of commands) {
    const events = rightOf(message.decide(command, state))
    types.push(...events.map(({ type }) => type))
    state = fold(message, state, events)
  }
  return { kind: state.kind, types }
}

test('a text that arrives was delivered, however often and late its other reports come', (t) => {
  const { kind, types } = story(begin, sent(), delivered, delivered, taken, failing('undeliverable'))
  t.is(kind, 'delivered')
  t.deepEqual(types, ['MessageBegun', 'MessageSent', 'MessageDelivered'])
})

test('a report that comes before the answer settles the attempt, whatever the answer is', (t) => {
  for (const answer of [sent(), unknown, failedAttempt]) {
    t.deepEqual(story(begin, delivered, answer), {
      kind: 'delivered',
      types: ['MessageBegun', 'MessageDelivered', 'MessageSent'],
    })
    t.is(story(begin, taken, answer).kind, 'sent')
    t.deepEqual(story(begin, failing('undeliverable'), answer), {
      kind: 'failed',
      types: ['MessageBegun', 'MessageUndelivered', 'MessageFailed'],
    })
  }
})

test('what nobody knew is settled by a report', (t) => {
  t.is(story(begin, unknown, taken).kind, 'sent')
  t.is(story(begin, unknown, delivered).kind, 'delivered')
  t.is(story(begin, unknown, failing('opted-out')).kind, 'failed')
})

test('what the provider turns out to have is not sent again', (t) => {
  t.deepEqual(story(begin, failedAttempt, delivered, begin), {
    kind: 'delivered',
    types: ['MessageBegun', 'MessageAttemptFailed', 'MessageDelivered', 'MessageSent'],
  })
})

test('an attempt that is lost stays lost, also where it waits for the next one and is told of in any order', (t) => {
  for (const kind of ['unreached', 'sender-blocked'] as const) {
    const { kind: state, types } = story(begin, failedAttempt, failing(kind), taken, failing(kind), begin)
    t.is(state, 'sending')
    t.deepEqual(types, ['MessageBegun', 'MessageAttemptFailed', 'MessageAttemptFailed', 'MessageTriedAgain'])
    t.is(story(begin, failedAttempt, taken, failing(kind), begin).kind, 'sending')
  }
})

test('what will never arrive has failed, and stays so', (t) => {
  const { kind, types } = story(begin, sent(), failing('undeliverable'), delivered, taken, failing('opted-out'))
  t.is(kind, 'failed')
  t.deepEqual(types, ['MessageBegun', 'MessageSent', 'MessageUndelivered'])
})

test('what is said of an attempt counts no more once the provider has taken another', (t) => {
  const { kind, types } = story(begin, failedAttempt, begin, sent(2, 'SM2'), failing('undeliverable', 'SM1'))
  t.is(kind, 'sent')
  t.deepEqual(types, ['MessageBegun', 'MessageAttemptFailed', 'MessageTriedAgain', 'MessageSent'])
})

test('a phone that is not reached is tried three times, each report counting once', (t) => {
  const [first, second, third] = ['SM1', 'SM2', 'SM3'].map((id) => failing('unreached', id))
  if (first === undefined || second === undefined || third === undefined) return t.fail()
  const twice = [begin, sent(1, 'SM1'), first, first, begin, sent(2, 'SM2'), first, second]
  t.is(story(...twice).kind, 'waiting')
  t.is(story(...twice).types.filter((type) => type === 'MessageAttemptFailed').length, 2)
  const { kind, types } = story(...twice, begin, sent(3, 'SM3'), third)
  t.is(kind, 'failed')
  t.is(types.at(-1), 'MessageUndelivered')
})

test('a text that a carrier filters is tried again, and is given up where it is too late for that', (t) => {
  t.is(story(begin, sent(), failing('sender-blocked')).kind, 'waiting')
  const report = { kind: 'sender-blocked', providerId: 'SM1', reason: 'a code' } as const
  t.is(story(begin, sent(), { type: 'ReportMessage', report, retryAt: undefined }).kind, 'failed')
})

test('what is said of a message that was received, or never begun, changes nothing', (t) => {
  t.deepEqual(story(delivered), { kind: 'unknown', types: [] })
})

const erase: MessageCommand = { type: 'EraseMessage', of: facts, beganAt: at(), history: [] }
const keptCopies = (attempt: number): MessageCommand => ({
  type: 'RecordKeptCopies',
  attempt,
  until: at(60),
  reason: 'HTTP 409',
})
const erasedCopies: MessageCommand = { type: 'RecordErasedCopies' }

test('what a provider has of an erased text is erased once, however often somebody tried', (t) => {
  const { types } = story(begin, sent(), erase, keptCopies(1), keptCopies(1), erasedCopies, erasedCopies, keptCopies(2))
  t.deepEqual(types.slice(2), ['MessageErased', 'MessageCopiesKept', 'MessageCopiesErased'])
  t.deepEqual(story(begin, sent(1, null as never), erase, erasedCopies).types.slice(2), ['MessageErased'])
})

test('a copy of an attempt that was in flight in the moment of the erasure is known once it is told, by an answer or a report', (t) => {
  const answered = story(begin, erase, sent(1, 'SM1'), sent(1, 'SM1'), erasedCopies, sent(1, 'SM1'), delivered)
  t.deepEqual(answered.types.slice(1), ['MessageErased', 'MessageCopyFound', 'MessageCopiesErased'])
  t.deepEqual(story(begin, erase, delivered, delivered).types.slice(1), ['MessageErased', 'MessageCopyFound'])
  t.deepEqual(story(begin, sent(1, 'SM1'), erase, delivered).types.slice(2), ['MessageErased'])
})

test('for a copy that is found later tries to erase begin anew', (t) => {
  const found = reported({ kind: 'delivered', providerId: 'SM2' })
  const { types } = story(begin, sent(1, 'SM1'), erase, keptCopies(1), found, keptCopies(1))
  t.deepEqual(types.slice(2), ['MessageErased', 'MessageCopiesKept', 'MessageCopyFound', 'MessageCopiesKept'])
})

test('an erased text names each copy that a provider has, also of attempts that never arrived', (t) => {
  const lost = [begin, sent(1, 'SM1'), failing('unreached', 'SM1'), begin, sent(2, 'SM2')]
  const state = lost.reduce(
    (known, command) => fold(message, known, rightOf(message.decide(command, known))),
    message.initial,
  )
  const [closing] = rightOf(message.decide(erase, state))
  t.deepEqual(closing?.type === 'MessageErased' && closing.data.copies, ['SM1', 'SM2'])
})

test('an erased text tells still from which sender of the account it went out', (t) => {
  const sender = '+14155550101'
  const closingAfter = (...commands: ReadonlyArray<MessageCommand>) => {
    const state = commands.reduce(
      (known, command) => fold(message, known, rightOf(message.decide(command, known))),
      message.initial,
    )
    const [closing] = rightOf(message.decide(erase, state))
    return closing?.type === 'MessageErased' ? closing.data.sender : 'none'
  }
  t.is(closingAfter({ ...begin, sender }, sent()), sender)
  t.is(closingAfter(begin, sent()), undefined)
})
