import test from 'ava'
import { contact, type ContactEvent } from '../../domain/contact.js'
import { fold } from '../../domain/decider.js'
import { engagement, type EngagementEvent } from '../../domain/engagement.js'
import { message, type MessageEvent, type Purpose } from '../../domain/message.js'
import { defaultSettings } from '../../domain/playbook-settings.js'
import { nextMessageActionOf, type NextMessageAction } from '../../domain/requested-message.js'
import { at, attribution, contactCreated, engagementId, messageIds } from '../kit/domain/samples.js'

const minute = 60_000

const optedOut: ContactEvent = { type: 'ContactOptedOut', data: { engagement_id: engagementId() } }
const started: EngagementEvent = { type: 'EngagementStarted', data: attribution() }
const ended: EngagementEvent = {
  type: 'EngagementEnded',
  data: { engagement_id: engagementId(), reason: 'conversion', ended_at: at() },
}

type Known = {
  readonly story?: ReadonlyArray<MessageEvent>
  readonly person?: ReadonlyArray<ContactEvent>
  readonly conversation?: ReadonlyArray<EngagementEvent>
  readonly enabled?: boolean
  readonly title?: string
  readonly consent?: 'awaited'
  readonly quiet?: typeof defaultSettings.quiet_hours
  readonly sentInLastDay?: ReadonlyArray<ReturnType<typeof at>>
  readonly after?: number
  readonly heldUntil?: ReturnType<typeof at>
}

/** What is to be done with a message of this purpose that expires after an hour. */
const next = (purpose: Purpose, known: Known = {}): NextMessageAction => {
  const text = purpose === 'member' ? 'By hand' : null
  const requested: MessageEvent = {
    type: 'MessageRequested',
    data: { ...messageIds, purpose, text, expires_at: at(60 * minute) },
  }
  const { story = [], person = [], conversation = [], enabled = true, quiet = null, after = 0, consent } = known
  const { title = 'Example Agency' } = known
  const followUp = consent && { follow_up: { playbook_version: 1, first_step_at: at(), consent } }
  return nextMessageActionOf({
    message: fold(message, message.initial, [requested, ...story]),
    contact: fold(contact, contact.initial, [contactCreated, ...person]),
    engagement: fold(engagement, engagement.initial, [
      { ...started, data: { ...started.data, ...followUp } },
      ...conversation,
    ]),
    settings: { ...defaultSettings, quiet_hours: quiet },
    account: { title, enabled, helpText: null },
    sentInLastDay: known.sentInLastDay ?? [],
    heldUntil: known.heldUntil,
    now: at(after),
  })
}

const allDay = { from: '00:00', to: '23:59' }

test('an answer names the account, as steps do: with 60 characters at most, on one line', (t) => {
  const optOut = { person: [optedOut] }
  t.like(next('confirmation', optOut), {
    text: 'You will get no more messages from Example Agency. Reply START to get them again.',
  })
  t.like(next('help'), {
    text: 'Example Agency: we write since you asked us for an offer. Reply STOP to get no more messages.',
  })
  const title = `Great\n${'x'.repeat(53)}😀${'y'.repeat(90_000)}`
  const shown = `Great ${'x'.repeat(53)}`
  t.like(next('confirmation', { ...optOut, title }), {
    text: `You will get no more messages from ${shown}. Reply START to get them again.`,
  })
  t.like(next('help', { title }), {
    text: `${shown}: we write since you asked us for an offer. Reply STOP to get no more messages.`,
  })
})

test('an opt-out is confirmed although the contact opted out, at whatever hour', (t) => {
  t.like(next('confirmation', { person: [optedOut], quiet: allDay }), { kind: 'send', validUntil: at(60 * minute) })
  t.like(next('confirmation', { person: [optedOut], conversation: [ended] }), { kind: 'send' })
})

test('who opted in again gets no confirmation of the opt-out', (t) => {
  t.like(next('confirmation'), { kind: 'withdraw', why: 'withdrawn' })
})

test('an answer that is late is not sent any more', (t) => {
  t.like(next('confirmation', { person: [optedOut], after: 60 * minute }), { kind: 'withdraw', why: 'expired' })
})

test('HELP is answered at whatever hour, ten times a day at most', (t) => {
  const nine = Array.from({ length: 9 }, () => at())
  t.like(next('help', { person: [optedOut], quiet: allDay, sentInLastDay: nine }), { kind: 'send' })
  t.like(next('help', { sentInLastDay: [...nine, at()] }), { kind: 'withdraw' })
})

test('a disabled account answers nothing, and what a member wrote waits', (t) => {
  t.like(next('help', { enabled: false }), { kind: 'withdraw' })
  t.like(next('member', { enabled: false }), { kind: 'postpone', reason: 'the account is disabled' })
})

test('what a member wrote waits for the end of the quiet hours', (t) => {
  t.like(next('member'), { kind: 'send', text: 'By hand', validUntil: at(60 * minute) })
  t.like(next('member', { quiet: allDay }), { kind: 'postpone', reason: 'quiet hours' })
})

test('what a member wrote is good until the night begins, where that comes before it expires', (t) => {
  // Noon in UTC is 4 in the morning of California.
  const quiet = { from: '04:30', to: '03:30' }
  t.like(next('member', { quiet }), { kind: 'send', validUntil: at(30 * minute) })
  t.like(next('member', { quiet: { ...quiet, from: '05:30' } }), { kind: 'send', validUntil: at(60 * minute) })
})

test('what a member wrote has the consent checked, and waits until it is verified', (t) => {
  t.deepEqual(next('member', { consent: 'awaited' }), { kind: 'check-consent', check: 1 })
  const checked = { check: 1, reason: 'status 503', failed_at: at(), next_check_at: at(minute) }
  const failed: EngagementEvent = { type: 'ConsentCheckFailed', data: { engagement_id: engagementId(), ...checked } }
  const known = { consent: 'awaited', conversation: [failed] } as const
  t.like(next('member', known), { kind: 'postpone', until: at(minute) })
  t.deepEqual(next('member', { ...known, after: minute }), { kind: 'check-consent', check: 2 })
  const verified: EngagementEvent = { type: 'ConsentVerified', data: { engagement_id: engagementId() } }
  t.like(next('member', { consent: 'awaited', conversation: [verified] }), { kind: 'send' })
})

test('what a member wrote is withdrawn when the contact opts out, or the conversation ends', (t) => {
  t.like(next('member', { person: [optedOut] }), { kind: 'withdraw', reason: 'the contact opted out' })
  t.like(next('member', { conversation: [ended] }), { kind: 'withdraw', reason: 'the conversation has ended' })
})

const begun: MessageEvent = {
  type: 'MessageBegun',
  data: { ...messageIds, purpose: 'member', text: 'By hand', segments: 1, begun_at: at() },
}

test('an attempt that nobody recorded is settled, one that failed is repeated when it is due', (t) => {
  t.deepEqual(next('member', { story: [begun] }), { kind: 'settle' })
  const failed: MessageEvent = {
    type: 'MessageAttemptFailed',
    data: { ...messageIds, attempt: 1, reason: 'HTTP 503', next_attempt_at: at(minute) },
  }
  t.deepEqual(next('member', { story: [begun, failed] }), { kind: 'nothing' })
  t.like(next('member', { story: [begun, failed], after: minute }), { kind: 'send' })
})

test('what was sent, or is no message that somebody asked for, is left alone', (t) => {
  const sent: MessageEvent = { type: 'MessageSent', data: { ...messageIds, attempt: 1, provider_id: null } }
  t.deepEqual(next('member', { story: [begun, sent] }), { kind: 'nothing' })
  const situation = {
    message: message.initial,
    contact: contact.initial,
    engagement: engagement.initial,
    settings: defaultSettings,
    account: { title: 'Example Agency', enabled: true, helpText: null },
    heldUntil: undefined,
    sentInLastDay: [],
    now: at(),
  }
  t.deepEqual(nextMessageActionOf(situation), { kind: 'nothing' })
})

test('nothing goes out while the provider blocks the sender, and an answer that is too late by then is withdrawn', (t) => {
  const heldUntil = at(15 * minute)
  for (const purpose of ['member', 'help'] as const)
    t.like(next(purpose, { heldUntil }), { kind: 'postpone', until: heldUntil })
  t.like(next('member', { heldUntil, after: 15 * minute }), { kind: 'send' })
  t.like(next('help', { heldUntil: at(90 * minute), after: 60 * minute }), { kind: 'withdraw', why: 'expired' })
})
