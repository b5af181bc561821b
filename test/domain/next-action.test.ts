import test from 'ava'
import { typeOf, type ActivityLabel } from '../../domain/activity.js'
import { contact, type ContactEvent } from '../../domain/contact.js'
import { fold } from '../../domain/decider.js'
import { stepMessageIdOf } from '../../domain/derived-id.js'
import { engagement, type EngagementCommand, type EngagementEvent } from '../../domain/engagement.js'
import { message, type MessageEvent } from '../../domain/message.js'
import { fieldsOf } from '../../domain/message-template.js'
import { nextActionOf } from '../../domain/next-action.js'
import { defaultSettings } from '../../domain/playbook-settings.js'
import { later, millisecondsOf } from '../../domain/instant.js'
import { nextAllowed } from '../../domain/quiet-hours.js'
import { afterStep, followUpOf, hoursFor } from '../../domain/step-times.js'
import { triggers } from '../../domain/trigger.js'
import {
  accountId,
  activity,
  at,
  attribution,
  contactId,
  details,
  engagementId,
  leadId,
  messageId,
  playbookId,
  sourceId,
  contactCreated,
} from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'
import { rightOf } from '../kit/right-of.js'

const minute = 60_000

const settings = {
  ...defaultSettings,
  quiet_hours: null,
  steps: [
    { message: 'Hi {{first_name}}, this is {{account}}.', delay_minutes: 0 },
    { message: '{{nickname}}', delay_minutes: 60 },
  ],
}

const started: EngagementEvent = {
  type: 'EngagementStarted',
  data: { ...attribution(), follow_up: { playbook_version: 1, first_step_at: at() } },
}
const awaitingConsent: EngagementEvent = {
  type: 'EngagementStarted',
  data: { ...attribution(), follow_up: { playbook_version: 1, first_step_at: at(), consent: 'awaited' } },
}
const engagedWith = (n: number): ContactEvent => {
  const ids = { contact_id: contactId(), account_id: accountId(), lead_id: leadId(n), source_id: sourceId() }
  const when = { submitted_at: at(n), engaged_at: at(n), filtered: false }
  return {
    type: 'ContactEngaged',
    data: { ...ids, playbook_id: playbookId(), engagement_id: engagementId(n), ...when },
  }
}

const person: ReadonlyArray<ContactEvent> = [contactCreated, engagedWith(1)]

const first = stepMessageIdOf(engagementId(), 0)
const begun: EngagementEvent = {
  type: 'StepBegun',
  data: { engagement_id: engagementId(), step: 0, attempt: 1, message_id: first },
}
const ids = {
  message_id: first,
  account_id: accountId(),
  contact_id: contactId(),
  engagement_id: engagementId(),
  step: 0,
}
const sending: MessageEvent = { type: 'MessageBegun', data: { ...ids, text: 'Hi', segments: 1, begun_at: at() } }
const after = { next_step_at: at(60 * minute), gives_up_at: at(600 * minute) }
const sent: MessageEvent = { type: 'MessageSent', data: { ...ids, attempt: 1, provider_id: null, ...after } }

type Known = {
  readonly engaged?: ReadonlyArray<EngagementEvent>
  readonly contact?: ReadonlyArray<ContactEvent>
  readonly message?: ReadonlyArray<MessageEvent>
  readonly newer?: 'awaits-beginning' | 'awaits-consent' | 'writes'
  readonly enabled?: boolean
  readonly quiet?: typeof defaultSettings.quiet_hours
  readonly sent?: ReadonlyArray<ReturnType<typeof at>>
  readonly heldUntil?: ReturnType<typeof at>
  readonly segmentsLeft?: number
}

const next = (now: ReturnType<typeof at>, known: Known = {}) =>
  nextActionOf({
    engagement: fold(engagement, engagement.initial, [started, ...(known.engaged ?? [])]),
    lastMessage: known.message && fold(message, message.initial, known.message),
    settings: { ...settings, quiet_hours: known.quiet ?? null },
    contact: fold(contact, contact.initial, [...person, ...(known.contact ?? [])]),
    newer: known.newer,
    account: { title: 'Example Agency', enabled: known.enabled ?? true },
    sentInLastDay: known.sent ?? [],
    heldUntil: known.heldUntil,
    segmentsLeft: known.segmentsLeft,
    links: { site: 'https://leads.example.com', code: '0123456789ABCD' },
    now,
  })

test('the first message is sent when it is due, and not before', (t) => {
  t.deepEqual(next(at(-1)), { kind: 'nothing' })
  t.like(next(at()), { kind: 'send', step: 0, attempt: 1, messageId: first, text: 'Hi Ada, this is Example Agency.' })
})

test('a contact that got ten messages within a day gets no step before the first of them is a day old', (t) => {
  const sentAt = (count: number) => Array.from({ length: count }, (_, n) => at((n - 60) * minute))
  t.like(next(at(), { sent: sentAt(9) }), { kind: 'send' })
  const reason = 'the contact got as many messages in a day as steps may send'
  t.like(next(at(), { sent: sentAt(10) }), { kind: 'postpone', step: 0, until: at((1_440 - 60) * minute), reason })
  t.like(next(at(), { sent: sentAt(12) }), { kind: 'postpone', until: at((1_440 - 58) * minute), reason })
})

test('an attempt that nobody recorded is settled before anything else is done', (t) => {
  t.deepEqual(next(at(1), { engaged: [begun], message: [sending] }), { kind: 'settle', step: 0, messageId: first })
})

test('a step that was decided and whose message never began is decided again', (t) => {
  t.like(next(at(1), { engaged: [begun], message: [] }), { kind: 'send', step: 0, attempt: 2 })
})

test('an attempt of a step is begun once, each after the one before it', (t) => {
  const begin = (attempt: number) => ({ type: 'BeginStep', step: 0, attempt, messageId: first, at: at() }) as const
  const again: EngagementEvent = { ...begun, data: { ...begun.data, attempt: 2 } }
  given(t, engagement, started).when(begin(1)).then(begun)
  given(t, engagement, started, begun).when(begin(1)).isAlreadySo()
  given(t, engagement, started, begun).when(begin(2)).then(again)
  given(t, engagement, started, begun).when(begin(3)).refuses('step-not-due')
  given(t, engagement, started, begun, again).when(begin(1)).refuses('step-not-due')
})

test('an attempt that failed is repeated when its time has come', (t) => {
  const failed: MessageEvent = {
    type: 'MessageAttemptFailed',
    data: { ...ids, attempt: 1, reason: 'HTTP 503', next_attempt_at: at(minute) },
  }
  const known = { engaged: [begun], message: [sending, failed] }
  t.deepEqual(next(at(minute - 1), known), { kind: 'nothing' })
  t.like(next(at(minute), known), { kind: 'send', step: 0, attempt: 2, messageId: first })
})

for (const kind of ['opted-out', 'undeliverable'] as const) {
  test(`after a message that the provider calls ${kind} none follows, even before the conversation ends`, (t) => {
    const failed: MessageEvent = {
      type: 'MessageFailed',
      data: { ...ids, attempt: 1, kind, reason: 'a code', ...after },
    }
    t.deepEqual(next(at(600 * minute), { engaged: [begun], message: [sending, failed] }), { kind: 'nothing' })
    const refused: MessageEvent = { ...failed, data: { ...failed.data, kind: 'refused' } }
    t.like(next(at(60 * minute), { engaged: [begun], message: [sending, refused] }), { kind: 'skip', step: 1 })
  })
}

test('the next step counts from when the one before really went out, and a blank message is skipped', (t) => {
  const known = { engaged: [begun], message: [sending, sent] }
  t.deepEqual(next(at(60 * minute - 1), known), { kind: 'nothing' })
  t.like(next(at(60 * minute), known), { kind: 'skip', step: 1, after: { next_step_at: null } })
})

test('after the last step nothing is left but to give a silent contact up', (t) => {
  const skipped: EngagementEvent = {
    type: 'StepSkipped',
    data: {
      engagement_id: engagementId(),
      step: 1,
      reason: 'the message is blank',
      next_step_at: null,
      gives_up_at: at(9),
    },
  }
  t.deepEqual(next(at(600 * minute), { engaged: [begun, skipped] }), { kind: 'end-silence', givesUpAt: undefined })
})

test('while a person answers nothing is sent', (t) => {
  const paused: EngagementEvent = {
    type: 'EngagementPaused',
    data: { engagement_id: engagementId(), until: at(10 * minute) },
  }
  t.deepEqual(next(at(minute), { engaged: [paused] }), { kind: 'nothing' })
  t.like(next(at(10 * minute), { engaged: [paused] }), { kind: 'send' })
})

test('of a contact with a newer lead the older one is followed up no more', (t) => {
  const givesUpAt = later(at(minute), settings.give_up_after_minutes * minute)
  t.deepEqual(next(at(minute), { newer: 'writes' }), { kind: 'end-steps', givesUpAt })
})

test('a contact whose steps end for a newer lead is given up after its last step, or its last reply where that is later', (t) => {
  const known = { engaged: [begun], message: [sending, sent], newer: 'writes' } as const
  t.deepEqual(next(at(60 * minute), known), { kind: 'end-steps', givesUpAt: after.gives_up_at })
  const gives_up_at = at(700 * minute)
  const data = { engagement_id: engagementId(), message_id: messageId(9), paused_until: at(50 * minute), gives_up_at }
  const engaged: ReadonlyArray<EngagementEvent> = [begun, { type: 'ContactReplied', data }]
  t.deepEqual(next(at(60 * minute), { ...known, engaged }), { kind: 'end-steps', givesUpAt: gives_up_at })
})

test('a contact whose last message was withdrawn for a newer lead is given up all the same', (t) => {
  const withdrawn: MessageEvent = {
    type: 'MessageFailed',
    data: { ...ids, attempt: 1, kind: 'withdrawn', reason: 'the contact has a newer lead' },
  }
  const data = { ...ids, attempt: 1, reason: 'HTTP 503', next_attempt_at: at(minute) }
  const message: ReadonlyArray<MessageEvent> = [sending, { type: 'MessageAttemptFailed', data }, withdrawn]
  const stepsEnded: EngagementEvent = {
    type: 'StepsEnded',
    data: { engagement_id: engagementId(), gives_up_at: at(600 * minute) },
  }
  t.like(next(at(minute), { engaged: [begun], message, newer: 'writes' }), { kind: 'end-steps' })
  t.like(next(at(600 * minute), { engaged: [begun, stepsEnded], message, newer: 'writes' }), { kind: 'end-silence' })
})

test('of a contact whose newer lead awaits its consent the older one waits, since that may be refused', (t) => {
  t.like(next(at(minute), { newer: 'awaits-consent' }), { kind: 'postpone', step: 0, until: at(61 * minute) })
})

test('of a contact whose newer lead is about to begin the older one waits a minute', (t) => {
  t.like(next(at(minute), { newer: 'awaits-beginning' }), { kind: 'postpone', step: 0, until: at(2 * minute) })
})

test('nothing goes to a contact that opted out, or whose account is disabled', (t) => {
  const optedOut: ContactEvent = { type: 'ContactOptedOut', data: { engagement_id: engagementId(7) } }
  t.like(next(at(), { contact: [engagedWith(1), optedOut] }), { kind: 'filter' })
  t.like(next(at(), { enabled: false }), { kind: 'postpone', step: 0, until: at(360 * minute) })
})

test('an engagement that an opt-out is about to end fires nothing but that, whoever looks at it in between', (t) => {
  const data = { engagement_id: engagementId(1), ended: [engagementId(1)] }
  const optedOut: ContactEvent = { type: 'ContactOptedOut', data }
  t.deepEqual(next(at(), { contact: [engagedWith(1), optedOut] }), { kind: 'nothing' })
})

test('what is due at night waits for the morning', (t) => {
  // Noon in UTC: everybody in the US sleeps, or nearly so, at 4 in the morning of California.
  const postponed = next(at(), { quiet: { from: '21:00', to: '08:00' } })
  t.is(postponed.kind, 'postpone')
  t.true(postponed.kind === 'postpone' && postponed.until > at(3 * 60 * minute))
})

test('two steps of a conversation that wait for the same morning go out at different minutes of it', (t) => {
  const nightly = { ...settings, quiet_hours: { from: '21:00', to: '08:00' } }
  const begins = followUpOf({ settings: nightly, version: 1 }, details(), at(), engagementId())
  const hours = hoursFor(nightly, fieldsOf(details()))
  const { next_step_at } = afterStep(nightly, hours, 0, at(), engagementId())
  const opens = millisecondsOf(nextAllowed(hours, at()) ?? at())
  const minutes = [begins?.first_step_at, next_step_at].map((sent) =>
    Math.floor((millisecondsOf(sent ?? at()) - opens) / minute),
  )
  t.true(minutes.every((one) => one >= 0 && one < 30) && minutes[0] !== minutes[1], minutes.join())
})

test('a message is good until the night begins', (t) => {
  // Noon in UTC is 4 in the morning of California.
  t.like(next(at(), { quiet: { from: '04:30', to: '03:30' } }), { kind: 'send', validUntil: at(30 * minute) })
  t.like(next(at()), { kind: 'send', validUntil: undefined })
})

test('a consent is checked when the first message is due, and the message waits for it', (t) => {
  t.deepEqual(next(at(-1), { engaged: [awaitingConsent] }), { kind: 'nothing' })
  t.deepEqual(next(at(), { engaged: [awaitingConsent] }), { kind: 'check-consent', check: 1 })
  const engagement_id = engagementId()
  const checked = { check: 1, reason: 'status 503', failed_at: at(), next_check_at: at(minute) }
  const failed: EngagementEvent = { type: 'ConsentCheckFailed', data: { engagement_id, ...checked } }
  t.deepEqual(next(at(minute - 1), { engaged: [awaitingConsent, failed] }), { kind: 'nothing' })
  t.deepEqual(next(at(minute), { engaged: [awaitingConsent, failed] }), { kind: 'check-consent', check: 2 })
  const dueBefore = { engagement_id, step: 0, until: at(1), reason: 'the account may send again' }
  const resumed: EngagementEvent = { type: 'StepPostponed', data: dueBefore }
  t.like(next(at(1), { engaged: [awaitingConsent, failed, resumed] }), { kind: 'postpone', until: at(minute) })
  const verified: EngagementEvent = { type: 'ConsentVerified', data: { engagement_id } }
  t.like(next(at(minute), { engaged: [awaitingConsent, failed, verified] }), { kind: 'send', step: 0 })
})

test('nobody is asked for the consent of whoever may not be written to anyway', (t) => {
  const optedOut: ContactEvent = { type: 'ContactOptedOut', data: { engagement_id: engagementId(7) } }
  t.like(next(at(), { engaged: [awaitingConsent], contact: [engagedWith(1), optedOut] }), { kind: 'filter' })
  t.like(next(at(), { engaged: [awaitingConsent], enabled: false }), { kind: 'postpone' })
  t.like(next(at(), { engaged: [awaitingConsent], quiet: { from: '21:00', to: '08:00' } }), { kind: 'postpone' })
})

test('an engagement that has ended asks for nothing', (t) => {
  const ended: EngagementEvent = {
    type: 'EngagementEnded',
    data: { engagement_id: engagementId(), reason: 'conversion', ended_at: at() },
  }
  t.deepEqual(next(at(), { engaged: [ended] }), { kind: 'nothing' })
})

test('a scheduled call holds the steps back until its end is reported, a member resumes, or an hour after its time', (t) => {
  const reported = (label: ActivityLabel, more: object = {}): EngagementEvent => ({
    type: 'ActivityRecorded',
    data: {
      activity: { ...attribution(), type: typeOf(label), label, note: null, properties: {}, at: at() },
      record_id: null,
      ...more,
    },
  })
  const call = reported('phone_call_scheduled', { call_until: at(120 * minute) })
  t.deepEqual(next(at(119 * minute), { engaged: [call] }), { kind: 'nothing' })
  t.like(next(at(120 * minute), { engaged: [call] }), { kind: 'send' })
  t.deepEqual(next(at(), { engaged: [call, reported('phone_call_connected')] }), { kind: 'nothing' })
  t.like(next(at(), { engaged: [call, reported('phone_call_completed')] }), { kind: 'send' })
  const resumed: EngagementEvent = { type: 'EngagementResumed', data: { engagement_id: engagementId() } }
  t.like(next(at(), { engaged: [call, resumed] }), { kind: 'send' })
})

test('the report of a call ends the hold of one whose time has nearly come, and none of a later day', (t) => {
  const report = (label: ActivityLabel, time: number) =>
    ({ type: 'RecordActivity', accountId: accountId(), label, at: at(time * minute) }) as const
  /** The call is at the minute 2,880, and over at 2,940. */
  const scheduled: EngagementCommand = { ...report('phone_call_scheduled', 0), callUntil: at(2_940 * minute) }
  const afterReport = (label: ActivityLabel, time: number): ReadonlyArray<EngagementEvent> =>
    [scheduled, report(label, time)].reduce<ReadonlyArray<EngagementEvent>>(
      (events, command) => [
        ...events,
        ...rightOf(engagement.decide(command, fold(engagement, engagement.initial, [started, ...events]))),
      ],
      [],
    )
  for (const label of ['phone_call_completed', 'phone_call_missed'] as const) {
    for (const time of [1, 2_819]) {
      t.deepEqual(next(at(2_820 * minute), { engaged: afterReport(label, time) }), { kind: 'nothing' })
      t.like(next(at(2_940 * minute), { engaged: afterReport(label, time) }), { kind: 'send' })
    }
    for (const time of [2_820, 2_880, 2_900])
      t.like(next(at(2_901 * minute), { engaged: afterReport(label, time) }), { kind: 'send' })
  }
})

test('where calls are scheduled for several times the steps wait for the last of them', (t) => {
  const call = (until: ReturnType<typeof at>): EngagementEvent => ({
    type: 'ActivityRecorded',
    data: { activity: activity({ label: 'phone_call_scheduled' }), record_id: null, call_until: until },
  })
  const engaged = [call(at(120 * minute)), call(at(60 * minute))]
  t.deepEqual(next(at(119 * minute), { engaged }), { kind: 'nothing' })
  t.like(next(at(120 * minute), { engaged }), { kind: 'send' })
})

/** The only step is over, and the contact has replied. */
const answered = (gives_up_at: ReturnType<typeof at>): ReadonlyArray<EngagementEvent> => [
  {
    type: 'StepSkipped',
    data: { engagement_id: engagementId(), step: 0, reason: 'blank', next_step_at: null, gives_up_at: at(minute) },
  },
  {
    type: 'ContactReplied',
    data: { engagement_id: engagementId(), message_id: messageId(9), paused_until: at(1_440 * minute), gives_up_at },
  },
]

test('a reply holds steps back for a day, and puts off giving up by what the playbook says and no longer', (t) => {
  const engaged = answered(at(120 * minute))
  t.like(next(at(120 * minute), { engaged }), { kind: 'end-silence' })
  const silentUntil = (minutes: number) => {
    const silence = { type: 'EndSilence', at: at(minutes * minute), givesUpAt: undefined } as const
    return given(t, engagement, started, ...engaged).when(silence)
  }
  silentUntil(119).refuses('step-not-due')
  const { note } = triggers['contact-silent']
  const gaveUp = activity({ type: 'outcome', label: 'dormant', note, at: at(120 * minute) })
  silentUntil(120).then(
    { type: 'ActivityRecorded', data: { activity: gaveUp, record_id: null } },
    {
      type: 'EngagementEnded',
      data: { engagement_id: engagementId(), reason: 'dormant', ended_at: at(120 * minute) },
    },
  )
})

test('a reply that is recorded after a later one holds the steps back no shorter', (t) => {
  const reply = (n: number, pausedUntil: number): EngagementEvent => ({
    type: 'ContactReplied',
    data: {
      engagement_id: engagementId(),
      message_id: messageId(n),
      paused_until: at(pausedUntil),
      gives_up_at: at(600 * minute),
    },
  })
  const engaged = [reply(2, 20 * minute), reply(1, 10 * minute)]
  t.deepEqual(next(at(10 * minute), { engaged }), { kind: 'nothing' })
  t.like(next(at(20 * minute), { engaged }), { kind: 'send' })
})

test('while a member has paused it, or a call is scheduled, nobody is given up', (t) => {
  const until = at(10_080 * minute)
  const paused: EngagementEvent = { type: 'EngagementPaused', data: { engagement_id: engagementId(), until } }
  const call: EngagementEvent = {
    type: 'ActivityRecorded',
    data: { activity: activity({ label: 'phone_call_scheduled' }), record_id: null, call_until: until },
  }
  for (const held of [paused, call]) {
    const engaged = [...answered(at(120 * minute)), held]
    t.deepEqual(next(at(10_079 * minute), { engaged }), { kind: 'nothing' })
    t.like(next(until, { engaged }), { kind: 'end-silence' })
  }
})

test('nothing goes out while the provider blocks the sender, until it is time to try', (t) => {
  const heldUntil = at(15 * minute)
  t.like(next(at(), { heldUntil }), { kind: 'postpone', step: 0, until: heldUntil })
  t.like(next(heldUntil, { heldUntil }), { kind: 'send', step: 0 })
})

test('what waits for its account is due at once when that may send again, unless it waits no longer', (t) => {
  const postponed = (until: ReturnType<typeof at>, reason: string): EngagementEvent => ({
    type: 'StepPostponed',
    data: { engagement_id: engagementId(), step: 0, until, reason },
  })
  const waits = postponed(at(360 * minute), 'the account is disabled')
  const resume = {
    type: 'PostponeStep',
    step: 0,
    until: at(minute),
    reason: 'the account may send again',
    insteadOf: at(360 * minute),
  } as const
  const resumed = postponed(at(minute), 'the account may send again')
  given(t, engagement, started, waits).when(resume).then(resumed)
  t.like(next(at(minute), { engaged: [waits, resumed] }), { kind: 'send', step: 0 })
  given(t, engagement, started, waits, postponed(at(400 * minute), 'quiet hours'))
    .when(resume)
    .refuses('step-not-due')
  const message_id = stepMessageIdOf(engagementId(), 0)
  const begins: EngagementEvent = {
    type: 'StepBegun',
    data: { engagement_id: engagementId(), step: 0, attempt: 1, message_id },
  }
  given(t, engagement, started, waits, begins).when(resume).refuses('step-not-due')
})

test('a message that is longer than what is left of the month waits: six hours, a day in all, or for the next month', (t) => {
  const limitedSince = at()
  t.like(next(at(), { segmentsLeft: 1 }), { kind: 'send' })
  t.like(next(at(), { segmentsLeft: 0 }), { kind: 'postpone', step: 0, until: at(360 * minute), limitedSince })
  const postponed = (until: ReturnType<typeof at>): EngagementEvent => ({
    type: 'StepPostponed',
    data: { engagement_id: engagementId(), step: 0, until, reason: 'used up', limited_since: limitedSince },
  })
  const later = (minutes: number, segmentsLeft = 0) =>
    next(at(minutes * minute), { segmentsLeft, engaged: [postponed(at(minutes * minute))] })
  t.like(later(1_200), { kind: 'postpone', until: at(1_440 * minute), limitedSince })
  t.like(later(1_440), { kind: 'skip', step: 0 })
  t.like(later(1_440, 1), { kind: 'send' })
  const data = { engagement_id: engagementId(), step: 0, until: at(1_440 * minute), reason: 'quiet hours' }
  const engaged: ReadonlyArray<EngagementEvent> = [postponed(at(360 * minute)), { type: 'StepPostponed', data }]
  t.like(next(at(1_440 * minute), { segmentsLeft: 0, engaged }), { kind: 'skip' }, 'a night in between counts, too')
  const lastHour = at((16 * 24 + 11) * 60 * minute)
  t.like(next(lastHour, { segmentsLeft: 0 }), { kind: 'postpone', until: at((16 * 24 + 12) * 60 * minute) })
})
