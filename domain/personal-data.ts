import type { DomainEvent, EventType } from './events.js'

/**
 * By the type of the event the fields of its data that hold what is known of a person, or what somebody wrote of one, as dotted
 * paths. Every type has an entry, so that none is forgotten.
 */
export const personalFields: { readonly [type in EventType]: ReadonlyArray<string> } = {
  AccountOpened: [],
  AccountEnabled: [],
  AccountDisabled: [],
  ApiKeyIssued: [],
  ApiKeyLimited: [],
  ApiKeyRevoked: [],
  MemberAdded: ['email'],
  MemberRemoved: [],
  PlaybookCreated: [],
  PlaybookChanged: [],
  MarketingSourceCreated: [],
  MarketingSourceSuspended: [],
  MarketingSourceResumed: [],
  MarketingSourceLimited: [],
  ConversionDefined: [],
  LeadSubmitted: ['details', 'consent', 'originators'],
  LeadEnrolled: [],
  SubmissionKeyClaimed: [],
  ContactCreated: ['details'],
  ContactDetailsChanged: ['details'],
  ContactEngaged: [],
  ContactConverted: [],
  ContactOptedOut: [],
  ConversionRecorded: [],
  EngagementStarted: [],
  ActivityRecorded: ['activity.note', 'activity.properties'],
  EngagementEnded: [],
  WebhookAdded: [],
  WebhookChanged: [],
  WebhookSigningSecretIssued: [],
  WebhookTurnedOff: [],
  WebhookTurnedOn: [],
  WebhookRemoved: [],
  DeliveryDue: ['body'],
  // A receiver may answer with what it was sent.
  DeliveryAttemptFailed: ['outcome.excerpt'],
  DeliverySucceeded: ['outcome.excerpt'],
  DeliveryAbandoned: ['outcome.excerpt'],
  DeliveryHeld: [],
  DeliveryResumed: [],
  DeliverySkipped: [],
  DeliveryResendRequested: [],
  DeliveryResent: ['outcome.excerpt'],
  ResendStarted: [],
  ResendCancelled: [],
  ResendCompleted: [],
  NoticeDue: [],
  NoticeAttemptFailed: [],
  NoticeSent: [],
  NoticeAbandoned: [],
  EventParked: [],
  ParkedEventRetryRequested: [],
  ParkedEventRetryFailed: [],
  ParkedEventHandled: [],
}

/** Sealed or hashed, and of use to nobody but the service. */
const secretFields = ['sealed_secret', 'secret_hash', 'settings.sealed_token']

type Data = Readonly<Record<string, unknown>>

/** The data of the event for somebody else's eyes: without secrets, and without personal values unless they are asked for. */
export const shownData = (event: DomainEvent, { isPersonalShown }: { readonly isPersonalShown: boolean }): Data => {
  const hidden = isPersonalShown ? secretFields : [...secretFields, ...personalFields[event.type]]
  return hidden.reduce<Data>((data, path) => without(data, path.split('.')), event.data)
}

const without = (data: Data, [name = '', ...further]: ReadonlyArray<string>): Data => {
  const value = data[name]
  if (value === undefined) return data
  if (further.length > 0) return isData(value) ? { ...data, [name]: without(value, further) } : data
  return Object.fromEntries(Object.entries(data).filter(([other]) => other !== name))
}

const isData = (value: unknown): value is Data => typeof value === 'object' && value !== null && !Array.isArray(value)
