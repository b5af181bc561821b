import { contact, type ContactCommand } from './contact.js'
import { conversion, type ConversionCommand } from './conversion.js'
import { answerIdOf } from './derived-id.js'
import type { Decider } from './decider.js'
import { engagement, type EngagementCommand } from './engagement.js'
import { erasure, type ErasureCommand } from './erasure.js'
import type { Recorded } from './event.js'
import { categoriesOf, type DomainEvent, type EventType } from './events.js'
import { later, type Instant } from './instant.js'
import { message, type FailureKind, type MessageCommand, type MessageIds } from './message.js'
import { playbook, standardPlaybook, type PlaybookCommand } from './playbook.js'
import { webhook, type WebhookCommand } from './webhook.js'
import type { GivingUp } from './trigger.js'

/** A command for the stream of one aggregate. */
export type Intent =
  | IntentFor<typeof playbook, PlaybookCommand>
  | IntentFor<typeof conversion, ConversionCommand>
  | IntentFor<typeof contact, ContactCommand>
  | IntentFor<typeof engagement, EngagementCommand>
  | IntentFor<typeof webhook, WebhookCommand>
  | IntentFor<typeof erasure, ErasureCommand>
  | IntentFor<typeof message, MessageCommand>

type IntentFor<D, C extends { readonly type: string }> =
  D extends Decider<infer _S, C, infer _E, infer _R>
    ? { readonly decider: D; readonly id: string; readonly command: C }
    : never

type EventOf<T extends EventType> = Extract<Recorded<DomainEvent>, { readonly type: T }>

/** What follows from an event in other streams, in order. Its only time is that of the event. */
type Reaction<T extends EventType> = (event: EventOf<T>) => ReadonlyArray<Intent>

const onAccountOpened: Reaction<'AccountOpened'> = ({ data }) => {
  const { account_id: accountId, playbook_id: playbookId, quoted_id, sold_id } = data
  const define = (conversionId: typeof sold_id, title: string, label: 'quoted' | 'sold'): Intent => ({
    decider: conversion,
    id: conversionId,
    command: { type: 'DefineConversion', conversionId, accountId, title, value: 0, label },
  })
  return [
    define(quoted_id, 'Quoted', 'quoted'),
    define(sold_id, 'Sold', 'sold'),
    {
      decider: playbook,
      id: playbookId,
      command: { type: 'CreatePlaybook', playbookId, accountId, settings: standardPlaybook },
    },
  ]
}

const onLeadSubmitted: Reaction<'LeadSubmitted'> = ({ data, time }) => {
  const command: ContactCommand = {
    type: 'EngageLead',
    contactId: data.contact_id,
    accountId: data.account_id,
    leadId: data.lead_id,
    sourceId: data.source_id,
    sourceTitle: data.source_title,
    playbookId: data.playbook_id,
    engagementId: data.engagement_id,
    details: data.details,
    submittedAt: time,
    at: time,
    ...(data.opted_out_before === true ? { optedOutBefore: true } : {}),
    ...(data.follow_up === undefined ? {} : { followUp: data.follow_up }),
  }
  return [{ decider: contact, id: data.contact_id, command }]
}

const onContactEngaged: Reaction<'ContactEngaged'> = ({ data }) => {
  const { contact_id, account_id, lead_id, source_id, playbook_id, engagement_id } = data
  const attribution = { engagement_id, account_id, contact_id, lead_id, source_id, playbook_id }
  const {
    submitted_at: submittedAt,
    state,
    engaged_at: engagedAt,
    filtered,
    supersedes = [],
    follow_up: followUp,
  } = data
  const lead = {
    submittedAt,
    ...(state === undefined ? {} : { state }),
    ...(followUp === undefined ? {} : { followUp }),
  }
  const command: EngagementCommand = { type: 'StartEngagement', attribution, ...lead, engagedAt, filtered }
  return [
    { decider: engagement, id: engagement_id, command },
    ...supersedes.map((id): Intent => {
      const end: EngagementCommand = { type: 'EndEngagement', reason: 'superseded', at: engagedAt }
      return { decider: engagement, id, command: end }
    }),
  ]
}

const onActivityRecorded: Reaction<'ActivityRecorded'> = ({ data }) => {
  const { label, contact_id, engagement_id } = data.activity
  if (label !== 'opted_out') return []
  return [{ decider: contact, id: contact_id, command: { type: 'OptOut', engagementId: engagement_id } }]
}

/** Nothing more is sent to the contact, whichever of its engagements it answered. */
const onContactOptedOut: Reaction<'ContactOptedOut'> = ({ data, time }) => {
  const others = (data.ended ?? []).filter((id) => id !== data.engagement_id)
  return [
    ...(data.confirmation === undefined ? [] : [answerOf(data.confirmation, 'confirmation', time)]),
    ...others.map((id): Intent => {
      const command: EngagementCommand = { type: 'EndEngagement', reason: 'opted_out', at: time }
      return { decider: engagement, id, command }
    }),
  ]
}

/** In milliseconds: an opt-out is confirmed within five minutes (47 CFR 64.1200(a)(12)), and an answer that is late helps nobody. */
const longestAnswer = 5 * 60_000

const answerOf = (ids: MessageIds, purpose: 'confirmation' | 'help', at: Instant): Intent => {
  const request = { purpose, text: null, expires_at: later(at, longestAnswer) }
  return { decider: message, id: ids.message_id, command: { type: 'RequestMessage', ids, request } }
}

const onMessageReceived: Reaction<'MessageReceived'> = ({ data, time }) => {
  const { message_id: messageId, account_id, contact_id, engagement_id, meaning, answer } = data
  const ids = { message_id: answerIdOf(messageId), account_id, contact_id, engagement_id }
  if (meaning === 'opted_in')
    return [{ decider: contact, id: contact_id, command: { type: 'OptIn', engagementId: engagement_id } }]
  if (meaning === 'help') return answer === 'help' ? [answerOf(ids, 'help', time)] : []
  const heard = { pausedUntil: data.paused_until, givesUpAt: data.gives_up_at, at: time }
  const outcome = meaning === 'reply' ? 'none' : meaning
  const hear: EngagementCommand = { type: 'HearReply', messageId, outcome, ...heard }
  const heardBy: Intent = { decider: engagement, id: engagement_id, command: hear }
  if (meaning !== 'opted_out') return [heardBy]
  // Said to the contact first: it must be heard also where its engagement has ended by an opt-out before.
  const confirmation = answer === 'confirmation' ? { confirmation: ids } : {}
  const optOut: ContactCommand = { type: 'OptOut', engagementId: engagement_id, ...confirmation }
  return [{ decider: contact, id: contact_id, command: optOut }, heardBy]
}

/** What a provider says of a number holds for whatever else would be sent to it. */
const onMessageFailed = ({
  data,
  time: at,
}: EventOf<'MessageFailed'> | EventOf<'MessageUndelivered'>): ReadonlyArray<Intent> => {
  const trigger = endingFailures[data.kind]
  if (trigger === undefined) return []
  const command: EngagementCommand = { type: 'GiveUp', trigger, note: data.reason, at }
  return [{ decider: engagement, id: data.engagement_id, command }]
}

const endingFailures: { readonly [kind in FailureKind]?: GivingUp } = {
  'opted-out': 'number-opted-out',
  undeliverable: 'number-unreachable',
}

const onConversionRecorded: Reaction<'ConversionRecorded'> = ({ data, time }) => {
  const { record_id, conversion_id, contact_id, engagement_id, label, title, ends } = data
  const activity: EngagementCommand = {
    type: 'RecordConversionActivity',
    recordId: record_id,
    label,
    title,
    ends: ends.includes(engagement_id),
    at: time,
  }
  const others = ends.filter((id) => id !== engagement_id)
  return [
    { decider: engagement, id: engagement_id, command: activity },
    ...others.map((id): Intent => {
      const command: EngagementCommand = { type: 'EndEngagement', reason: 'conversion', at: time }
      return { decider: engagement, id, command }
    }),
    {
      decider: contact,
      id: contact_id,
      command: { type: 'MarkConverted', recordId: record_id, conversionId: conversion_id, ended: ends },
    },
  ]
}

/** What is written while its contact is being erased must not stay. */
const noted = ({ message_id, account_id, contact_id, engagement_id }: MessageIds): Intent => ({
  decider: contact,
  id: contact_id,
  command: { type: 'NoteMessage', ids: { message_id, account_id, contact_id, engagement_id } },
})

const onMessageRequested: Reaction<'MessageRequested'> = ({ data }) => (data.text === null ? [] : [noted(data)])

const onLateMessageRefused: Reaction<'LateMessageRefused'> = ({ data: { erasure_id: erasureId, ...ids } }) => [
  { decider: erasure, id: erasureId, command: { type: 'AddLateMessage', erasureId, ids } },
]

const onLateLeadRefused: Reaction<'LateLeadRefused'> = ({ data: { lead_id: leadId, erasure_id: erasureId } }) => [
  { decider: erasure, id: erasureId, command: { type: 'AddLateLead', erasureId, leadId } },
]

const onDeliveryAbandoned: Reaction<'DeliveryAbandoned'> = ({ data }) => {
  const { delivery_id, webhook_id, why, outcome, failing_since: failingSince } = data
  if (why !== 'retries-exhausted') return []
  const command: WebhookCommand = {
    type: 'TurnOffWebhook',
    deliveryId: delivery_id,
    reason: outcome?.reason ?? 'no response',
    failingSince,
    version: outcome?.webhook_version,
  }
  return [{ decider: webhook, id: webhook_id, command }]
}

const none = undefined

/** Which events have a reaction: a new type of event that is not listed here does not compile. */
const table: { readonly [T in EventType]: Reaction<T> | undefined } = {
  AccountOpened: onAccountOpened,
  AccountEnabled: none,
  AccountDisabled: none,
  KeywordAnswersSet: none,
  HelpTextSet: none,
  SenderSet: none,
  SegmentLimitSet: none,
  ErasuresBegan: none,
  ApiKeyIssued: none,
  ApiKeyLimited: none,
  ApiKeyRevoked: none,
  ConsentHostsAccepted: none,
  MemberAdded: none,
  MemberRemoved: none,
  PlaybookCreated: none,
  PlaybookChanged: none,
  PlaybookDeleted: none,
  MarketingSourceCreated: none,
  MarketingSourceSuspended: none,
  MarketingSourceResumed: none,
  MarketingSourceLimited: none,
  ConversionDefined: none,
  LeadSubmitted: onLeadSubmitted,
  LeadEnrolled: none,
  LeadErased: none,
  SubmissionKeyClaimed: none,
  ContactCreated: none,
  ContactDetailsChanged: none,
  ContactEngaged: onContactEngaged,
  ContactConverted: none,
  ContactOptedOut: onContactOptedOut,
  ContactOptedIn: none,
  NumberOptedOut: none,
  NumberOptedIn: none,
  ContactErased: none,
  LateLeadRefused: onLateLeadRefused,
  LateMessageRefused: onLateMessageRefused,
  ConversionRecorded: onConversionRecorded,
  EngagementStarted: none,
  ActivityRecorded: onActivityRecorded,
  EngagementEnded: none,
  EngagementErased: none,
  StepBegun: none,
  StepPostponed: none,
  StepSkipped: none,
  StepsEnded: none,
  ConsentVerified: none,
  ConsentCheckFailed: none,
  ContactReplied: none,
  EngagementPaused: none,
  EngagementResumed: none,
  MessageRequested: onMessageRequested,
  MessagePostponed: none,
  MessageBegun: none,
  MessageTriedAgain: none,
  MessageAttemptFailed: none,
  MessageSent: none,
  MessageFailed: onMessageFailed,
  MessageTaken: none,
  MessageDelivered: none,
  MessageUndelivered: onMessageFailed,
  MessageReceived: (event) => [...onMessageReceived(event), noted(event.data)],
  MessageErased: none,
  MessageCopyFound: none,
  MessageCopiesErased: none,
  MessageCopiesKept: none,
  SenderHeld: none,
  SenderReleased: none,
  SegmentLimitReached: none,
  RemarkMade: none,
  RemarksErased: none,
  WebhookAdded: none,
  WebhookChanged: none,
  WebhookSigningSecretIssued: none,
  WebhookTurnedOff: none,
  WebhookTurnedOn: none,
  WebhookRemoved: none,
  DeliveryDue: none,
  DeliveryAttemptFailed: none,
  DeliverySucceeded: none,
  DeliveryAbandoned: onDeliveryAbandoned,
  DeliveryHeld: none,
  DeliveryResumed: none,
  DeliverySkipped: none,
  DeliveryResendRequested: none,
  DeliveryResent: none,
  DeliveryErased: none,
  ResendStarted: none,
  ResendCancelled: none,
  ResendCompleted: none,
  ResendCounted: none,
  NoticeDue: none,
  NoticeAttemptFailed: none,
  NoticeSent: none,
  NoticeAbandoned: none,
  EventParked: none,
  ParkedEventRetryRequested: none,
  ParkedEventRetryFailed: none,
  ParkedEventHandled: none,
  ErasureRequested: none,
  LateLeadFound: none,
  LateMessageFound: none,
  ErasureCompleted: none,
}

/** The types of the events that have a reaction. */
export const reactingTypes: ReadonlySet<string> = new Set(
  Object.entries(table).flatMap(([type, reaction]) => (reaction === undefined ? [] : [type])),
)

/** The categories in which they stand. */
export const reactingCategories = categoriesOf(reactingTypes)

/**
 * What follows from an event in other streams, in order. Pure, and safe to run again, by whomever: the events that follow
 * have ids and times derived from this one, so all write the same, and each command is "already so" the second time.
 */
export const reactions = (event: Recorded<DomainEvent>): ReadonlyArray<Intent> => {
  // A reaction stands in the table under the type of the events that it takes.
  const reaction = table[event.type] as Reaction<EventType> | undefined
  return reaction === undefined ? [] : reaction(event)
}
