import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { fold } from '../../../domain/decider.js'
import {
  engagement,
  type EngagementCommand,
  type EngagementEvent,
  type EngagementState,
} from '../../../domain/engagement.js'
import type { DomainEvent } from '../../../domain/events.js'
import { instantOf, latest, millisecondsOf, type Instant } from '../../../domain/instant.js'
import { E } from '../../../domain/prelude.js'
import { anyProjection } from '../../../projections/projection.js'
import { contactShards } from '../../../projections/read-models/contact-shards.js'
import { followUps, type FollowUpDocument } from '../../../projections/read-models/follow-ups.js'
import { logOf } from '../../kit/domain/log.js'
import { accountId, activity, at, attribution, contactId, engagementId, messageId } from '../../kit/domain/samples.js'
import { holds } from '../../kit/domain/property.js'
import { project } from '../../kit/parts/project.js'

const hour = 3_600_000
const day = 24 * hour
const engagement_id = engagementId()

/** Whatever is recorded, each at its time. */
const documentAfter = (...recorded: ReadonlyArray<readonly [Instant, DomainEvent]>): FollowUpDocument => {
  const streamOf = ({ type }: DomainEvent) =>
    type.startsWith('Message') ? `message-${messageId()}` : `engagement-${engagement_id}`
  const log = logOf(...recorded.map(([, event]) => [streamOf(event), event] as const))
  const timed = log.map((event, index) => ({ ...event, time: recorded[index]?.[0] ?? event.time }))
  return project(anyProjection(followUps), timed)[engagement_id] as FollowUpDocument
}

const started: readonly [Instant, DomainEvent] = [
  at(),
  {
    type: 'EngagementStarted',
    data: { ...attribution(), submitted_at: at(), follow_up: { playbook_version: 1, first_step_at: at() } },
  },
]

/** The first step is over, and the second comes two days later. */
const sent: readonly [Instant, DomainEvent] = [
  at(1_000),
  {
    type: 'StepSkipped',
    data: { engagement_id, step: 0, reason: 'blank', next_step_at: at(2 * day), gives_up_at: at(3 * day) },
  },
]

const replied = (when: Instant, paused_until: Instant, gives_up_at: Instant): readonly [Instant, EngagementEvent] => [
  when,
  { type: 'ContactReplied', data: { engagement_id, message_id: messageId(), paused_until, gives_up_at } },
]

const paused = (when: Instant, until: Instant): readonly [Instant, EngagementEvent] => [
  when,
  { type: 'EngagementPaused', data: { engagement_id, until } },
]

const begun: DomainEvent = {
  type: 'MessageBegun',
  data: {
    ...{ message_id: messageId(2), account_id: accountId(), contact_id: contactId(), engagement_id, step: 1 },
    ...{ text: 'Still there?', segments: 1, begun_at: at(2 * day) },
  },
}

const stateOf = ({ state, paused_until, account_state }: FollowUpDocument) => [state, paused_until, account_state]
const running = ['running', null, `${accountId()}/running`]

test('a pause that has run out is over with whatever is recorded of the steps after it', (t) => {
  const reply = replied(at(hour), at(hour + day), at(4 * day))
  const until = at(hour + day)
  t.deepEqual(stateOf(documentAfter(started, sent, reply)), ['paused', until, `${accountId()}/paused`])
  const later: ReadonlyArray<DomainEvent> = [
    begun,
    { type: 'StepPostponed', data: { engagement_id, step: 1, until: at(3 * day), reason: 'quiet hours' } },
    { type: 'StepsEnded', data: { engagement_id, gives_up_at: at(3 * day) } },
  ]
  for (const pause of [reply, paused(at(hour), until)]) {
    for (const event of later) {
      t.deepEqual(stateOf(documentAfter(started, sent, pause, [at(2 * day), event])), running, event.type)
      t.deepEqual(stateOf(documentAfter(started, sent, pause, [until, event])), running, `${event.type} at its end`)
      t.is(documentAfter(started, sent, pause, [at(2 * hour), event]).state, 'paused', `${event.type} before its end`)
    }
  }
})

test('a call that is over holds nothing back any more', (t) => {
  const scheduled: DomainEvent = {
    type: 'ActivityRecorded',
    data: {
      activity: activity({ label: 'phone_call_scheduled' }),
      record_id: null,
      call_until: at(hour),
    },
  }
  t.is(documentAfter(started, sent, [at(2_000), scheduled]).call_until, at(hour))
  t.false('call_until' in documentAfter(started, sent, [at(2_000), scheduled], [at(2 * day), begun]))
})

test('a report that leaves the hold of a later call leaves it, and any other one ends it', (t) => {
  const activityAs = (label: 'phone_call_scheduled' | 'phone_call_missed', until?: number): DomainEvent => ({
    type: 'ActivityRecorded',
    data: { activity: activity({ label }), record_id: null, ...(until === undefined ? {} : { call_until: at(until) }) },
  })
  const scheduled = [at(2_000), activityAs('phone_call_scheduled', 2 * day)] as const
  const missed = (until?: number) => [at(3_000), activityAs('phone_call_missed', until)] as const
  t.is(documentAfter(started, sent, scheduled, missed(2 * day)).call_until, at(2 * day))
  t.false('call_until' in documentAfter(started, sent, scheduled, missed()))
})

test('where several calls are scheduled the last one counts', (t) => {
  const scheduled = (when: number, until: number): readonly [Instant, DomainEvent] => [
    at(when),
    {
      type: 'ActivityRecorded',
      data: { activity: activity({ label: 'phone_call_scheduled' }), record_id: null, call_until: at(until) },
    },
  ]
  t.is(documentAfter(started, sent, scheduled(2_000, 2 * hour), scheduled(3_000, hour)).call_until, at(2 * hour))
})

test('once no step follows a reply puts off giving up by what the playbook says, and a pause or a call until it ends', (t) => {
  const last: readonly [Instant, DomainEvent] = [
    at(1_000),
    {
      type: 'StepSkipped',
      data: { engagement_id, step: 0, reason: 'blank', next_step_at: null, gives_up_at: at(hour) },
    },
  ]
  const reply = replied(at(hour), at(hour + day), at(2 * hour))
  t.is(documentAfter(started, last, reply).next_at, at(2 * hour))
  t.is(documentAfter(started, sent, reply).next_at, at(2 * day), 'where a step follows')
  t.is(documentAfter(started, last, reply, paused(at(hour + 1), at(7 * day))).next_at, at(7 * day))
  t.is(documentAfter(started, last, paused(at(hour), at(7 * day)), reply).next_at, at(7 * day))
  const resumed: readonly [Instant, DomainEvent] = [at(day), { type: 'EngagementResumed', data: { engagement_id } }]
  t.is(documentAfter(started, last, paused(at(hour), at(7 * day)), resumed).next_at, at(hour))
})

test('what a member had paused is over with its end, and its last message is closed at once', (t) => {
  const ended: readonly [Instant, DomainEvent] = [
    at(2 * hour),
    { type: 'EngagementEnded', data: { engagement_id, reason: 'conversion', ended_at: at(2 * hour) } },
  ]
  const { state, next_at } = documentAfter(
    started,
    sent,
    paused(at(hour), at(7 * day)),
    [at(2 * hour - 1), begun],
    ended,
  )
  t.deepEqual([state, next_at], ['ended', at(2 * hour - 1)])
})

test('a step that was put off since its account is disabled waits for that, until it is put off otherwise, begins or ends', (t) => {
  const postponed = (reason: string): readonly [Instant, DomainEvent] => [
    at(1),
    { type: 'StepPostponed', data: { engagement_id, step: 0, until: at(day), reason } },
  ]
  const waits = postponed('the account is disabled')
  const waitsFor = (...others: ReadonlyArray<readonly [Instant, DomainEvent]>) => {
    const { waits_in, waits_for } = documentAfter(started, ...others)
    return [waits_in, waits_for]
  }
  t.deepEqual(waitsFor(waits), [contactShards.of(contactId()), `${accountId()}/${at()}`])
  t.deepEqual(waitsFor(postponed("the account's segments of this month are used up")), waitsFor(waits))
  const checked = { check: 1, reason: 'away', failed_at: at(2), next_check_at: at(hour) }
  const checkFailed: DomainEvent = { type: 'ConsentCheckFailed', data: { engagement_id, ...checked } }
  t.deepEqual(waitsFor(waits, [at(2), checkFailed]), waitsFor(waits))
  const ended: DomainEvent = { type: 'EngagementEnded', data: { engagement_id, reason: 'sold', ended_at: at(2) } }
  for (const other of [postponed('quiet hours'), [at(2), begun] as const, sent, [at(2), ended] as const])
    t.deepEqual(waitsFor(waits, other), [undefined, undefined])
})

const happenings = fc.array(
  fc.record({
    hours: fc.integer({ min: 1, max: 12 }),
    what: fc.constantFrom('postpone', 'skip', 'last', 'reply', 'pause', 'resume', 'schedule', 'missed'),
    wait: fc.integer({ min: 1, max: 72 }),
  }),
  { maxLength: 12 },
)

const afterwards = (instant: Instant, milliseconds: number): Instant =>
  instantOf(millisecondsOf(instant) + milliseconds)

const commandFor = (what: string, wait: number, now: Instant, step: number): EngagementCommand => {
  const then = afterwards(now, wait * hour)
  const account = { accountId: accountId() }
  switch (what) {
    case 'postpone':
      return { type: 'PostponeStep', step, until: then, reason: 'quiet hours' }
    case 'skip':
    case 'last': {
      const after = { next_step_at: what === 'last' ? null : then, gives_up_at: afterwards(then, day) }
      return { type: 'SkipStep', step, reason: 'blank', after }
    }
    case 'reply': {
      const until = { pausedUntil: afterwards(now, day), givesUpAt: then }
      return { type: 'HearReply', messageId: messageId(wait), meaning: 'reply', ...until, at: now }
    }
    case 'pause':
      return { type: 'PauseEngagement', ...account, until: then }
    case 'resume':
      return { type: 'ResumeEngagement', ...account }
    case 'schedule':
      return { type: 'RecordActivity', ...account, label: 'phone_call_scheduled', at: now, callUntil: then }
    default:
      return { type: 'RecordActivity', ...account, label: 'phone_call_missed', at: now }
  }
}

test('a task is shown to be due when its engagement allows it, and no sooner', (t) => {
  holds(
    t,
    fc.property(happenings, (all) => {
      let now = at()
      let state = fold(engagement, engagement.initial, [started[1] as EngagementEvent])
      const recorded: Array<readonly [Instant, DomainEvent]> = [started]
      for (const { hours, what, wait } of all) {
        now = afterwards(now, hours * hour)
        assert(state.kind === 'started' && state.followUp !== undefined)
        const decided = engagement.decide(commandFor(what, wait, now, state.followUp.begun), state)
        const events = E.isRight(decided) ? decided.right : []
        state = fold(engagement, state, events)
        recorded.push(...events.map((event) => [now, event] as const))

        const due = documentAfter(...recorded).next_at
        assert(due !== undefined)
        assert(mayTakeStep(state, latest(due, now)), `not yet at ${due}`)
        if (due > now) assert(!mayTakeStep(state, afterwards(due, -1)), `already before ${due}`)
      }
    }),
    { numRuns: 500 },
  )
})

const mayTakeStep = (state: EngagementState, at: Instant): boolean => {
  assert(state.kind === 'started' && state.followUp !== undefined)
  const { begun: step, nextAt } = state.followUp
  const command: EngagementCommand =
    nextAt === null
      ? { type: 'EndSilence', at, givesUpAt: undefined }
      : { type: 'BeginStep', step, attempt: 1, messageId: messageId(), at }
  return E.isRight(engagement.decide(command, state))
}
