import {
  onActivityRecorded,
  onContactEngaged,
  onContactOptedOut,
  onConversionRecorded,
  onLeadSubmitted,
} from './contact-reactions.js'
import { conversion } from './conversion.js'
import { erasure } from './erasure.js'
import { categoriesOf, type EventType, type RecordedEvent } from './events.js'
import { onMessageFailed, onMessageReceived, onMessageRequested } from './message-reactions.js'
import { playbook } from './playbook.js'
import { standardPlaybook } from './playbook-settings.js'
import type { Intent, Reaction } from './reaction.js'
import { webhook, type WebhookCommand } from './webhook.js'

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
  PlaybookUsed: none,
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
  MessageReceived: onMessageReceived,
  MessageErased: none,
  MessageCopyFound: none,
  MessageCopiesErased: none,
  MessageCopiesKept: none,
  SenderHeld: none,
  SenderReleased: none,
  SegmentLimitReached: none,
  OptedOutOfSender: none,
  OptedInToSender: none,
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
 * What follows from an event in other streams, in order. Pure, and safe to run again, by whomever: the events that
 * follow have ids and times derived from this one, so all write the same, and each command is "already so" the second
 * time.
 */
export const reactions = (event: RecordedEvent): ReadonlyArray<Intent> => {
  // A reaction stands in the table under the type of the events that it takes.
  const reaction = table[event.type] as Reaction<EventType> | undefined
  return reaction === undefined ? [] : reaction(event)
}
