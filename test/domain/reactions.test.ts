import test from 'ava'
import { contact } from '../../domain/contact.js'
import { conversion } from '../../domain/conversion.js'
import type { ConversionRecordFacts } from '../../domain/conversion-record.js'
import type { DomainEvent } from '../../domain/events.js'
import { engagement } from '../../domain/engagement.js'
import { erasure } from '../../domain/erasure.js'
import type { EngagementId } from '../../domain/ids.js'
import { playbook } from '../../domain/playbook.js'
import { standardPlaybook } from '../../domain/playbook-settings.js'
import type { Intent } from '../../domain/reaction.js'
import { reactingCategories, reactingTypes, reactions } from '../../domain/reactions.js'
import { decodeStoredEvent } from '../../domain/stored-event.js'
import { webhook } from '../../domain/webhook.js'
import { goldenEvents } from '../kit/domain/golden.js'
import { logOf } from '../kit/domain/log.js'
import { rightOf } from '../kit/right-of.js'
import {
  accountId,
  activity,
  at,
  attribution,
  contactId,
  conversionId,
  deliveryId,
  details,
  engagementId,
  erasureId,
  leadFacts,
  leadId,
  messageIds,
  reportId,
  playbookId,
  recordId,
  sourceId,
  webhookId,
  uuid,
} from '../kit/domain/samples.js'

const reactionsTo = (event: DomainEvent): ReadonlyArray<Intent> =>
  logOf(['stream-1', event]).flatMap((recorded) => reactions(recorded))

test('a new account gets its two conversions and its playbook', (t) => {
  const opened = {
    account_id: accountId(),
    title: 'Example Insurance',
    sealed_secret: 'sealed',
    playbook_id: playbookId(),
    quoted_id: conversionId(1),
    sold_id: conversionId(2),
  }
  const define = { type: 'DefineConversion', accountId: accountId(), value: 0 } as const
  t.deepEqual(reactionsTo({ type: 'AccountOpened', data: opened }), [
    {
      decider: conversion,
      id: conversionId(1),
      command: { ...define, conversionId: conversionId(1), title: 'Quoted', label: 'quoted' },
    },
    {
      decider: conversion,
      id: conversionId(2),
      command: { ...define, conversionId: conversionId(2), title: 'Sold', label: 'sold' },
    },
    {
      decider: playbook,
      id: playbookId(),
      command: {
        type: 'CreatePlaybook',
        playbookId: playbookId(),
        accountId: accountId(),
        settings: standardPlaybook,
      },
    },
  ])
})

test('a submitted lead engages its contact, submitted when the log says so', (t) => {
  t.deepEqual(reactionsTo({ type: 'LeadSubmitted', data: leadFacts() }), [
    {
      decider: contact,
      id: contactId(),
      command: {
        type: 'EngageLead',
        contactId: contactId(),
        accountId: accountId(),
        leadId: leadId(),
        sourceId: sourceId(),
        sourceTitle: 'Search ads',
        playbookId: playbookId(),
        engagementId: engagementId(),
        details: details(),
        submittedAt: at(1000),
      },
    },
  ])
})

test('an engaged contact starts the conversation, filtered where it opted out before', (t) => {
  for (const [filtered, lives, livesIn] of [
    [true, {}, {}],
    [false, { state: 'CA' }, { livesIn: 'CA' }],
  ] as const) {
    const data = { ...attribution(), submitted_at: at(1000), engaged_at: at(1001), filtered, ...lives }
    const lead = { submittedAt: at(1000), ...livesIn }
    t.deepEqual(reactionsTo({ type: 'ContactEngaged', data }), [
      {
        decider: engagement,
        id: engagementId(),
        command: { type: 'StartEngagement', attribution: attribution(), ...lead, engagedAt: at(1001), filtered },
      },
    ])
  }
})

test('an engaged contact ends the engagements that are too many, once the new one has begun', (t) => {
  const supersedes = [engagementId(7), engagementId(8)]
  const data = { ...attribution(), submitted_at: at(1000), engaged_at: at(1001), filtered: false, supersedes }
  const end = { type: 'EndEngagement', reason: 'superseded', at: at(1001) } as const
  t.deepEqual(
    reactionsTo({ type: 'ContactEngaged', data }).slice(1),
    supersedes.map((id) => ({ decider: engagement, id, command: end })),
  )
})

test('an opted_out activity opts the contact out, every other one changes no other stream', (t) => {
  const optedOut = activity({ type: 'outcome', label: 'opted_out' })
  t.deepEqual(reactionsTo({ type: 'ActivityRecorded', data: { activity: optedOut, record_id: null } }), [
    {
      decider: contact,
      id: contactId(),
      command: { type: 'OptOut', engagementId: engagementId(), saying: { event_id: uuid(1), at: at(1000) } },
    },
  ])
  const qualified = activity({ type: 'outcome', label: 'qualified' })
  t.deepEqual(reactionsTo({ type: 'ActivityRecorded', data: { activity: qualified, record_id: null } }), [])
})

test('an opt-out that was said to somebody else ends all that is open, and the conversation that it names as filtered', (t) => {
  const said = { event_id: uuid(7), at: at() }
  const data = { engagement_id: engagementId(1), ended: [engagementId(1), engagementId(2)] }
  const other: Intent = {
    decider: engagement,
    id: engagementId(2),
    command: { type: 'EndEngagement', reason: 'opted_out', at: at(1000) },
  }
  const learns: Intent = {
    decider: engagement,
    id: engagementId(1),
    command: { type: 'GiveUp', trigger: 'opted-out-before', at: at(1000) },
  }
  t.deepEqual(reactionsTo({ type: 'ContactOptedOut', data }), [learns, other])
  t.deepEqual(reactionsTo({ type: 'ContactOptedOut', data: { ...data, said } }), [other], 'what says so ends it')
  t.deepEqual(reactionsTo({ type: 'ContactOptedOut', data: { engagement_id: engagementId(1) } }), [], 'it is not open')
})

const sold = (ends: ReadonlyArray<EngagementId>): ConversionRecordFacts => ({
  record_id: recordId(),
  account_id: accountId(),
  conversion_id: conversionId(2),
  title: 'Sold',
  label: 'sold',
  contact_id: contactId(),
  converted_at: at(),
  value: 125_000,
  engagement_id: engagementId(3),
  lead_id: leadId(3),
  source_id: sourceId(),
  ends,
})

const sellingActivity = (ends: boolean): Intent => ({
  decider: engagement,
  id: engagementId(3),
  command: { type: 'RecordConversionActivity', recordId: recordId(), label: 'sold', title: 'Sold', ends, at: at(1000) },
})

const marking = (ended: ReadonlyArray<EngagementId>): Intent => ({
  decider: contact,
  id: contactId(),
  command: { type: 'MarkConverted', recordId: recordId(), conversionId: conversionId(2), ended },
})

test('a conversion has one activity, in the newest conversation, and the others end silently', (t) => {
  const ends = [engagementId(1), engagementId(2), engagementId(3)]
  const end = { type: 'EndEngagement', reason: 'conversion', at: at(1000) } as const
  t.deepEqual(reactionsTo({ type: 'ConversionRecorded', data: sold(ends) }), [
    sellingActivity(true),
    { decider: engagement, id: engagementId(1), command: end },
    { decider: engagement, id: engagementId(2), command: end },
    marking(ends),
  ])
})

test('a conversion that keeps the conversations open ends none', (t) => {
  t.deepEqual(reactionsTo({ type: 'ConversionRecorded', data: sold([]) }), [sellingActivity(false), marking([])])
})

test('a delivery that ran out of retries turns its webhook off, with the reason', (t) => {
  const abandoned = { delivery_id: deliveryId(), webhook_id: webhookId(), why: 'retries-exhausted' } as const
  const outcome = { attempt: 19, status: 503, reason: 'HTTP 503', duration_ms: 12, webhook_version: 4 }
  const data = { ...abandoned, outcome, failing_since: at(7) }
  t.deepEqual(reactionsTo({ type: 'DeliveryAbandoned', data }), [
    {
      decider: webhook,
      id: webhookId(),
      command: {
        type: 'TurnOffWebhook',
        deliveryId: deliveryId(),
        reason: 'HTTP 503',
        failingSince: at(7),
        version: 4,
      },
    },
  ])
})

test('a delivery whose webhook was removed turns nothing off', (t) => {
  const data = { delivery_id: deliveryId(), webhook_id: webhookId(), why: 'webhook-removed', outcome: null } as const
  t.deepEqual(reactionsTo({ type: 'DeliveryAbandoned', data }), [])
})

test('that a provider knows of an opt-out ends its conversation, which is told what the opt-out stands for', (t) => {
  const failed = { ...messageIds, attempt: 1, kind: 'opted-out', reason: 'code 21610' } as const
  const giveUp = { type: 'GiveUp', trigger: 'number-opted-out', note: 'code 21610', at: at(1000) } as const
  const told = (command: Intent['command']) => [{ decider: engagement, id: engagementId(), command }]
  t.deepEqual(reactionsTo({ type: 'MessageFailed', data: failed }), told(giveUp))
  t.deepEqual(
    reactionsTo({ type: 'MessageFailed', data: { ...failed, report_id: reportId() } }),
    told({ ...giveUp, reportId: reportId() }),
  )
  const undelivered = { ...messageIds, provider_id: 'one', kind: 'opted-out', reason: 'code 21610' } as const
  t.deepEqual(
    reactionsTo({ type: 'MessageUndelivered', data: { ...undelivered, report_id: reportId() } }),
    told({ ...giveUp, reportId: reportId() }),
  )
})

test('nothing follows from any other event', (t) => {
  t.deepEqual(
    [...reactingTypes],
    [
      ...['AccountOpened', 'LeadSubmitted', 'ContactEngaged', 'ContactOptedOut', 'LateLeadRefused'],
      'LateMessageRefused',
      ...['ConversionRecorded', 'ActivityRecorded', 'MessageRequested', 'MessageFailed', 'MessageUndelivered'],
      'MessageReceived',
      'DeliveryAbandoned',
    ],
  )
  const others = goldenEvents().filter(({ type }) => !reactingTypes.has(type))
  t.true(others.length > 20)
  for (const { type, version, data } of others)
    t.deepEqual(reactionsTo(rightOf(decodeStoredEvent(type, version, data))), [], type)
})

test('whoever follows what has reactions follows the categories of those events, and no other', (t) => {
  t.deepEqual(
    [...reactingCategories],
    ['account', 'lead', 'contact', 'conversion_contact', 'engagement', 'message', 'delivery'],
  )
})

test('a text that came while its contact was erased is handed to the erasure', (t) => {
  const command = { type: 'AddLateMessage', erasureId: erasureId(), ids: messageIds }
  t.deepEqual(reactionsTo({ type: 'LateMessageRefused', data: { ...messageIds, erasure_id: erasureId() } }), [
    { decider: erasure, id: erasureId(), command },
  ])
})

test('a lead that came while its contact was erased is handed to the erasure', (t) => {
  const late = { contact_id: contactId(), lead_id: leadId(), erasure_id: erasureId() }
  const command = { type: 'AddLateLead', erasureId: erasureId(), leadId: leadId() }
  t.deepEqual(reactionsTo({ type: 'LateLeadRefused', data: late }), [{ decider: erasure, id: erasureId(), command }])
})

test('an opt-out by a text is heard by the conversation that it answers, which is told whether the contact had opted out before', (t) => {
  const data = {
    ...messageIds,
    text: 'STOP',
    meaning: 'opted_out',
    paused_until: at(1000),
    gives_up_at: at(2000),
  } as const
  const commandsOf = (event: DomainEvent) => reactionsTo(event).map(({ command }) => command)
  const first = commandsOf({ type: 'MessageReceived', data })
  t.deepEqual(
    first.map(({ type }) => type),
    ['NoteMessage', 'OptOut', 'HearReply'],
  )
  const again = { ...data, opted_out_before: true, report_id: reportId() } as const
  t.deepEqual(commandsOf({ type: 'MessageReceived', data: again }), [
    ...first.slice(0, 2),
    { ...first[2], optedOutBefore: true, reportId: reportId() },
  ])
})

test('an opt-out is confirmed, and HELP answered, within five minutes or not at all', (t) => {
  const expires_at = at(1000 + 5 * 60_000)
  const requested = (event: DomainEvent) =>
    reactionsTo(event).flatMap(({ command }) => (command.type === 'RequestMessage' ? [command.request] : []))
  const optedOut = { engagement_id: engagementId(), confirmation: messageIds }
  t.deepEqual(requested({ type: 'ContactOptedOut', data: optedOut }), [
    { purpose: 'confirmation', text: null, expires_at },
  ])
  const help = { text: 'HELP', meaning: 'help', answer: 'help', paused_until: at(), gives_up_at: at() } as const
  t.deepEqual(requested({ type: 'MessageReceived', data: { ...messageIds, ...help } }), [
    { purpose: 'help', text: null, expires_at },
  ])
})
