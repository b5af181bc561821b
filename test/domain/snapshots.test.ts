import test from 'ava'
import { fold, type Decider } from '../../domain/decider.js'
import { engagement } from '../../domain/engagement.js'
import { playbook } from '../../domain/playbook.js'
import { defaultSettings } from '../../domain/playbook-settings.js'
import { remark } from '../../domain/remark.js'
import { senderOptOut } from '../../domain/sender-opt-out.js'
import {
  accountId,
  activity,
  at,
  attribution,
  contactId,
  engagementId,
  messageId,
  playbookId,
  recordId,
  reportId,
  senderOptOutId,
} from '../kit/domain/samples.js'

const isMadeOf = <State, Command extends { readonly type: string }, Event, Refusal>(
  decider: Decider<State, Command, Event, Refusal>,
  events: ReadonlyArray<NoInfer<Event>>,
  version: number,
  state: unknown,
): void => {
  const what = `${decider.category}: what these events make is version ${version} of its snapshot`
  test(`${what}, and what differs from it needs another version`, (t) => {
    const { snapshot } = decider
    t.is(snapshot?.version, version)
    const encoded = snapshot?.codec.encode(fold(decider, decider.initial, events))
    t.deepEqual(JSON.parse(JSON.stringify(encoded)), state)
  })
}

const sold = activity({ type: 'conversion', label: 'sold', note: 'Sold was recorded', at: at(2) })
const scheduled = activity({ label: 'phone_call_scheduled', note: null, at: at(3) })
const day = 24 * 3_600_000
const of = { engagement_id: engagementId() }
isMadeOf(
  engagement,
  [
    {
      type: 'EngagementStarted',
      data: { ...attribution(), follow_up: { playbook_version: 2, first_step_at: at(1), consent: 'awaited' } },
    },
    { type: 'ActivityRecorded', data: { activity: activity({ at: at(1) }), record_id: null } },
    { type: 'ConsentCheckFailed', data: { ...of, check: 1, reason: 'away', failed_at: at(1), next_check_at: at(2) } },
    // A day later than it was due: that day is no outage.
    {
      type: 'ConsentCheckFailed',
      data: { ...of, check: 2, reason: 'away', failed_at: at(day + 2), next_check_at: at(day + 3) },
    },
    { type: 'ActivityRecorded', data: { activity: sold, record_id: recordId() } },
    {
      type: 'ActivityRecorded',
      data: { activity: scheduled, record_id: null, report_id: reportId(), remark: 0, call_until: at(9) },
    },
    { type: 'ContactReplied', data: { ...of, message_id: messageId(), paused_until: at(5), gives_up_at: at(8) } },
    { type: 'EngagementPaused', data: { ...of, until: at(6) } },
  ],
  3,
  {
    kind: 'started',
    attribution: attribution(),
    ended: false,
    erased: false,
    lastActivityAt: at(3),
    records: [recordId()],
    reports: [[reportId(), { label: 'phone_call_scheduled', at: at(3) }]],
    followUp: {
      playbookVersion: 2,
      begun: 0,
      attempts: 0,
      nextAt: at(day + 3),
    },
    awaitedConsent: { failedChecks: 2, failingSince: at(day + 1), nextCheckAt: at(day + 3) },
    pausedUntil: at(6),
    answerUntil: at(5),
    callUntil: at(9),
    replies: [messageId()],
    givesUpAt: at(8),
    labels: ['started', 'sold', 'phone_call_scheduled'],
  },
)

const made = {
  ...of,
  account_id: accountId(),
  contact_id: contactId(),
  note: 'Ten minutes',
  properties: { seconds: 600 },
}
isMadeOf(
  remark,
  [
    { type: 'RemarkMade', data: made },
    { type: 'RemarkMade', data: { ...made, report_id: reportId() } },
  ],
  1,
  { erased: false, made: 2, reports: [[reportId(), 1]] },
)

isMadeOf(
  playbook,
  [
    {
      type: 'PlaybookCreated',
      data: { playbook_id: playbookId(), account_id: accountId(), settings: defaultSettings },
    },
    { type: 'PlaybookChanged', data: { settings: { ...defaultSettings, title: 'Short', quiet_hours: null } } },
    { type: 'PlaybookUsed', data: {} },
  ],
  2,
  {
    kind: 'created',
    accountId: accountId(),
    settings: { ...defaultSettings, title: 'Short', quiet_hours: null },
    used: true,
    deleted: false,
    version: 2,
  },
)

const said = { opt_out_id: senderOptOutId() }
isMadeOf(
  senderOptOut,
  [
    { type: 'OptedOutOfSender', data: { ...said, text_id: 'one' } },
    { type: 'OptedInToSender', data: { ...said, text_id: 'another', said_at: at(1) } },
  ],
  2,
  { optedOut: false, optedInBy: 'another', texts: ['one', 'another'], saidAt: at(1) },
)
