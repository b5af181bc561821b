import test from 'ava'
import { fold } from '../../domain/decider.js'
import { labelsOf, typeOf, type Activity, type ActivityLabel } from '../../domain/activity.js'
import { engagement, type EngagementCommand, type EngagementEvent } from '../../domain/engagement.js'
import type { Instant } from '../../domain/instant.js'
import type { RecordId } from '../../domain/ids.js'
import {
  accountId,
  activity,
  at,
  attribution,
  engagementId,
  messageId,
  recordId,
  reportId,
} from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const start = (filtered = false): EngagementCommand => ({
  type: 'StartEngagement',
  attribution: attribution(),
  submittedAt: at(-100),
  engagedAt: at(),
  filtered,
})

const report = (label: ActivityLabel, when: Instant = at(1000)) =>
  ({
    type: 'RecordActivity',
    accountId: accountId(),
    label,
    at: when,
  }) as const

const started: EngagementEvent = { type: 'EngagementStarted', data: { ...attribution(), submitted_at: at(-100) } }

const recorded = (changed: Partial<Activity>, record: RecordId | null = null): EngagementEvent => ({
  type: 'ActivityRecorded',
  data: { activity: activity({ note: null, ...changed }), record_id: record },
})

const ended = (reason: string, when: Instant): EngagementEvent => ({
  type: 'EngagementEnded',
  data: { engagement_id: engagementId(), reason, ended_at: when },
})

const playing = [started, recorded({ note: 'The playbook started' })] as const

test('the playbook starts with a started activity at the time of the engagement', (t) => {
  given(t, engagement)
    .when(start())
    .then(started, recorded({ note: 'The playbook started' }))
})

test('a conversation says when its lead was submitted and in which state it lives, and its activities say neither', (t) => {
  const inOhio: EngagementEvent = { ...started, data: { ...started.data, state: 'OH' } }
  given(t, engagement)
    .when({ ...start(), livesIn: 'OH' } as EngagementCommand)
    .then(inOhio, recorded({ note: 'The playbook started' }))
  given(t, engagement, inOhio)
    .when(report('interested'))
    .then(recorded({ label: 'interested', at: at(1000) }))
})

test('a filtered lead begins and ends its conversation at once', (t) => {
  given(t, engagement)
    .when(start(true))
    .then(
      ...playing,
      recorded({ type: 'outcome', label: 'filtered', note: 'The contact opted out before', at: at(1) }),
      ended('filtered', at(1)),
    )
})

test('a conversation is started once', (t) => {
  given(t, engagement, ...playing)
    .when(start())
    .isAlreadySo()
  given(t, engagement, ...playing, ended('sold', at(1)))
    .when(start(true))
    .isAlreadySo()
})

test('an event is recorded without a word of what was said of it, which it refers to, and ends nothing', (t) => {
  const { data } = recorded({ label: 'phone_call_completed', at: at(1000) })
  given(t, engagement, ...playing)
    .when({ ...report('phone_call_completed'), remark: 3 })
    .then({ type: 'ActivityRecorded', data: { ...data, remark: 3 } } as EngagementEvent)
})

test('an activity report that names its id is recorded once, whatever has happened since', (t) => {
  const missed = { ...report('phone_call_missed'), reportId: reportId(1) }
  const before = recorded({ label: 'phone_call_missed', at: at(1000) })
  const noted: EngagementEvent = { ...before, data: { ...before.data, report_id: reportId(1) } } as EngagementEvent
  given(t, engagement, ...playing)
    .when(missed)
    .then(noted)
  for (const since of [[], [ended('dormant', at(2000))]]) {
    given(t, engagement, ...playing, noted, ...since)
      .when({ ...missed, at: at(3000) })
      .isAlreadySo()
    given(t, engagement, ...playing, noted, ...since)
      .when({ ...missed, label: 'dormant' })
      .isAlreadySo()
  }
  given(t, engagement, ...playing, noted)
    .when({ ...missed, reportId: reportId(2), at: at(3000) })
    .then({
      ...noted,
      data: { ...recorded({ label: 'phone_call_missed', at: at(3000) }).data, report_id: reportId(2) },
    } as EngagementEvent)
})

test('a repeat of any of the newest hundred activity reports changes nothing', (t) => {
  const reported = (n: number): EngagementEvent => {
    const { data } = recorded({ label: 'phone_call_missed', at: at(n) })
    return { type: 'ActivityRecorded', data: { ...data, report_id: reportId(n) } } as EngagementEvent
  }
  const events = [...playing, ...Array.from({ length: 101 }, (_, n) => reported(n + 1))]
  const again = (n: number) => ({ ...report('phone_call_missed', at(5000)), reportId: reportId(n) })
  given(t, engagement, ...events)
    .when(again(2))
    .isAlreadySo()
  const state = fold(engagement, engagement.initial, events)
  t.is(state.kind === 'started' && state.reports.size, 100)
})

test('an outcome ends the conversation', (t) => {
  for (const label of labelsOf.outcome.filter((one) => one !== 'filtered')) {
    given(t, engagement, ...playing)
      .when(report(label))
      .then(recorded({ type: 'outcome', label, at: at(1000) }), ended(label, at(1000)))
  }
})

test('whoever opts out is heard after the end too, which comes no second time', (t) => {
  given(t, engagement, ...playing, ended('sold', at(500)))
    .when(report('opted_out'))
    .then(recorded({ type: 'outcome', label: 'opted_out', at: at(1000) }))
})

test('what a provider knows of an opt-out is heard after the end too, once; that a phone is not reached is not', (t) => {
  const after = [...playing, ended('conversion', at(500))]
  const note = 'the number has opted out'
  const giveUp = { type: 'GiveUp', note, at: at(1000) } as const
  const optedOut = recorded({ type: 'outcome', label: 'opted_out', note, at: at(1000) })
  given(t, engagement, ...after)
    .when({ ...giveUp, trigger: 'number-opted-out' })
    .then(optedOut)
  given(t, engagement, ...after, optedOut)
    .when({ ...giveUp, trigger: 'number-opted-out' })
    .then()
  given(t, engagement, ...after)
    .when({ ...giveUp, trigger: 'number-unreachable' })
    .then()
  given(t, engagement, ...after, { type: 'EngagementErased', data: { engagement_id: engagementId() } })
    .when({ ...giveUp, trigger: 'number-opted-out' })
    .then()
})

test('what a provider knows of an opt-out after an opt-in is told again, and with a text that says the same once', (t) => {
  const note = 'the number has opted out'
  const giveUp = { type: 'GiveUp', trigger: 'number-opted-out', note, at: at(1000) } as const
  const { data } = recorded({ type: 'outcome', label: 'opted_out', note, at: at(1000) }) as RecordedActivity
  const told = (n: number): EngagementEvent => ({ type: 'ActivityRecorded', data: { ...data, report_id: reportId(n) } })
  const over = ended('opted_out', at(1000))
  given(t, engagement, ...playing)
    .when({ ...giveUp, reportId: reportId(1) })
    .then(told(1), over)
  const later = recorded({ type: 'outcome', label: 'opted_out', note, at: at(2000) }) as RecordedActivity
  given(t, engagement, ...playing, told(1), over)
    .when({ ...giveUp, reportId: reportId(2), at: at(2000) })
    .then({ type: 'ActivityRecorded', data: { ...later.data, report_id: reportId(2) } })
  given(t, engagement, ...playing, told(1), over)
    .when({ ...giveUp, reportId: reportId(1), at: at(2000) })
    .then()
  const said = { messageId: messageId(), meaning: 'opted_out', reportId: reportId(1), at: at(2000) } as const
  given(t, engagement, ...playing, told(1), over)
    .when({ type: 'HearReply', ...said, pausedUntil: at(3000), givesUpAt: at(4000) })
    .then()
})

test('an outcome is terminal: no other follows, whatever ended the conversation', (t) => {
  const over = ended('qualified', at(1000))
  given(t, engagement, ...playing, over)
    .when(report('dormant'))
    .refuses('engagement-ended')
  given(t, engagement, ...playing, ended('conversion', at(1000)))
    .when(report('qualified'))
    .refuses('engagement-ended')
})

test('an event may still be reported after the end', (t) => {
  given(t, engagement, ...playing, ended('qualified', at(500)))
    .when(report('phone_call_missed'))
    .then(recorded({ label: 'phone_call_missed', at: at(1000) }))
})

test('what the service fires itself cannot be reported', (t) => {
  const unreportable = [
    report('started'),
    report('filtered'),
    report('quoted'),
    report('sold'),
    report('custom_conversion'),
  ]
  for (const command of unreportable)
    given(t, engagement, ...playing)
      .when(command)
      .refuses('label-not-reportable')
})

test('every other label can be reported', (t) => {
  const own = new Set<string>(['started', 'filtered', 'quoted', 'sold', 'custom_conversion'])
  const labels = [...labelsOf.event, ...labelsOf.conversion].filter((label) => !own.has(label))
  for (const label of labels) {
    given(t, engagement, ...playing)
      .when(report(label))
      .then(recorded({ type: typeOf(label), label, at: at(1000) }))
  }
})

test('two activities of one conversation never share a time', (t) => {
  given(t, engagement, ...playing)
    .when(report('interested', at(0)))
    .then(recorded({ label: 'interested', at: at(1) }))
  given(t, engagement, ...playing, recorded({ label: 'interested', at: at(5000) }))
    .when(report('interested', at(1000)))
    .then(recorded({ label: 'interested', at: at(5001) }))
})

test('the conversation of another account is not found, like one that is missing', (t) => {
  const foreign = { ...report('interested'), accountId: accountId(2) }
  given(t, engagement, ...playing)
    .when(foreign)
    .refuses('engagement-not-found')
  given(t, engagement).when(report('interested')).refuses('engagement-not-found')
  given(t, engagement).when({ type: 'EndEngagement', reason: 'conversion', at: at() }).refuses('engagement-not-found')
})

const convert = (n: number, ends: boolean) =>
  ({
    type: 'RecordConversionActivity',
    recordId: recordId(n),
    label: 'sold',
    title: 'Sold',
    ends,
    at: at(1000),
  }) as const

const sold = recorded({ type: 'conversion', label: 'sold', note: 'Sold was recorded', at: at(1000) }, recordId(1))

test('a conversion is an activity, and ends the conversation where it should', (t) => {
  given(t, engagement, ...playing)
    .when(convert(1, true))
    .then(sold, ended('conversion', at(1000)))
  given(t, engagement, ...playing)
    .when(convert(1, false))
    .then(sold)
})

test('a conversion in a conversation that is over is still an activity and ends nothing again', (t) => {
  given(t, engagement, ...playing, ended('qualified', at(500)))
    .when(convert(1, true))
    .then(sold)
})

test('a record has one activity', (t) => {
  given(t, engagement, ...playing, sold)
    .when(convert(1, true))
    .isAlreadySo()
  const again = recorded({ type: 'conversion', label: 'sold', note: 'Sold was recorded', at: at(1001) }, recordId(2))
  given(t, engagement, ...playing, sold)
    .when(convert(2, false))
    .then(again)
})

test('a conversation that never started takes no conversion', (t) => {
  given(t, engagement).when(convert(1, true)).refuses('engagement-not-found')
})

test('a custom conversion carries its title in the properties, the standard ones nothing', (t) => {
  given(t, engagement, ...playing)
    .when({ ...convert(1, false), label: 'custom_conversion', title: 'Renewed' })
    .then(
      recorded(
        {
          type: 'conversion',
          label: 'custom_conversion',
          note: 'Renewed was recorded',
          properties: { title: 'Renewed' },
          at: at(1000),
        },
        recordId(1),
      ),
    )
})

test('a conversation is ended once', (t) => {
  const end: EngagementCommand = { type: 'EndEngagement', reason: 'conversion', at: at(1000) }
  given(t, engagement, ...playing)
    .when(end)
    .then(ended('conversion', at(1000)))
  given(t, engagement, ...playing, ended('dormant', at(500)))
    .when(end)
    .isAlreadySo()
})

const erase = { type: 'EraseEngagement', at: at(9) } as const
const erasedNow: EngagementEvent = { type: 'EngagementErased', data: { engagement_id: engagementId() } }

test('an engagement whose contact is erased ends, and is not found any more', (t) => {
  const ended: EngagementEvent = {
    type: 'EngagementEnded',
    data: { engagement_id: engagementId(), reason: 'erased', ended_at: at(9) },
  }
  given(t, engagement, started).when(erase).then(ended, erasedNow)
  given(t, engagement, started, ended).when(erase).then(erasedNow)
  given(t, engagement, started, ended, erasedNow).when(erase).isAlreadySo()
  const report = { label: 'opted_out', note: null, properties: {}, at: at(10) } as const
  given(t, engagement, started, ended, erasedNow)
    .when({ type: 'RecordActivity', accountId: accountId(), ...report })
    .refuses('engagement-not-found')
  given(t, engagement, started, ended, erasedNow)
    .when({
      type: 'RecordConversionActivity',
      recordId: recordId(),
      label: 'sold',
      title: 'Sold',
      ends: true,
      at: at(10),
    })
    .isAlreadySo()
})

type RecordedActivity = Extract<EngagementEvent, { readonly type: 'ActivityRecorded' }>

test('an opt-out by a text is heard after the end and once, a later one again, and none once its contact was erased', (t) => {
  const paused = { pausedUntil: at(1000), givesUpAt: at(2000) }
  const said = { messageId: messageId(), meaning: 'opted_out', reportId: reportId(), at: at(1000) } as const
  const stop = { type: 'HearReply', ...said, ...paused } as const
  const note = 'The contact asked for no more messages'
  const heard = (n: number, when: Instant): EngagementEvent => {
    const { data } = recorded({ type: 'outcome', label: 'opted_out', note, at: when }) as RecordedActivity
    return { type: 'ActivityRecorded', data: { ...data, report_id: reportId(n) } }
  }
  given(t, engagement, ...playing, ended('conversion', at(500)))
    .when(stop)
    .then(heard(1, at(1000)))
  const again = { ...stop, messageId: messageId(2), reportId: reportId(2), at: at(5000) }
  given(t, engagement, ...playing, heard(1, at(1000)), ended('opted_out', at(1000)))
    .when(again)
    .then(heard(2, at(5000)))
  given(t, engagement, ...playing, heard(1, at(1000)), ended('opted_out', at(1000)))
    .when({ ...again, reportId: reportId() })
    .then()
  given(t, engagement, ...playing, heard(1, at(1000)), ended('opted_out', at(1000)))
    .when({ ...again, optedOutBefore: true })
    .then()
  given(t, engagement, ...playing, ended('conversion', at(500)))
    .when({ ...stop, optedOutBefore: true })
    .then(heard(1, at(1000)))
  given(t, engagement, ...playing, ended('erased', at(500)), erasedNow)
    .when(stop)
    .then()
})

test('only the first reply fires interested', (t) => {
  const hears = (n: number): EngagementCommand => ({
    type: 'HearReply',
    messageId: messageId(n),
    meaning: 'reply',
    at: at(n),
    ...{ pausedUntil: at(1000), givesUpAt: at(2000) },
  })
  const replied = (n: number): EngagementEvent => ({
    type: 'ContactReplied',
    data: {
      ...{ engagement_id: engagementId(), message_id: messageId(n) },
      ...{ paused_until: at(1000), gives_up_at: at(2000) },
    },
  })
  const interested = recorded({ label: 'interested', note: 'The contact replied', at: at(1) })
  given(t, engagement, ...playing)
    .when(hears(1))
    .then(replied(1), interested)
  given(t, engagement, ...playing, replied(1), interested)
    .when(hears(2))
    .then(replied(2))
})

test('a pause by a member never ends before that of a reply', (t) => {
  const engagement_id = engagementId()
  const replied: EngagementEvent = {
    type: 'ContactReplied',
    data: { engagement_id, message_id: messageId(), paused_until: at(2_000), gives_up_at: at(9_000) },
  }
  const pausedUntil = (until: Instant): EngagementEvent => ({
    type: 'EngagementPaused',
    data: { engagement_id, until },
  })
  const pause = (until: Instant) => ({ type: 'PauseEngagement', accountId: accountId(), until }) as const
  given(t, engagement, ...playing, replied)
    .when(pause(at(1_000)))
    .then(pausedUntil(at(2_000)))
  given(t, engagement, ...playing, replied)
    .when(pause(at(3_000)))
    .then(pausedUntil(at(3_000)))
})

test('a link that is opened after a conversion is told of, once; after an outcome or an erasure it is not', (t) => {
  const url = 'https://www.example.com/quote'
  const open = { type: 'OpenLink', reportId: reportId(), url, at: at(1000) } as const
  const note = 'The contact opened a link of a message'
  const { data } = recorded({
    label: 'link_clicked',
    type: 'conversion',
    note,
    properties: { url },
    at: at(1000),
  }) as RecordedActivity
  const clicked: EngagementEvent = { type: 'ActivityRecorded', data: { ...data, report_id: reportId() } }
  given(t, engagement, ...playing, ended('conversion', at(500)))
    .when(open)
    .then(clicked)
  given(t, engagement, ...playing, ended('conversion', at(500)), clicked)
    .when(open)
    .then()
  const refused = recorded({ type: 'outcome', label: 'not_interested', at: at(500) })
  for (const end of [
    [refused, ended('not_interested', at(500))],
    [ended('erased', at(500)), erasedNow],
  ])
    given(t, engagement, ...playing, ...end)
      .when(open)
      .then()
})
