import type { DomainEvent, EventType } from './events.js'

/**
 * By the type of the event the fields of its data that hold what is known of a person, what somebody wrote of one, or
 * what gives access to one's data, as dotted paths. Every type has an entry, so that none is forgotten.
 */
export const personalFields: { readonly [type in EventType]: ReadonlyArray<string> } = {
  AccountOpened: [],
  AccountEnabled: [],
  AccountDisabled: [],
  KeywordAnswersSet: [],
  HelpTextSet: [],
  SenderSet: [],
  SegmentLimitSet: [],
  ErasuresBegan: [],
  ApiKeyIssued: [],
  ApiKeyLimited: [],
  ApiKeyRevoked: [],
  ConsentHostsAccepted: [],
  MemberAdded: ['email'],
  MemberRemoved: [],
  PlaybookCreated: [],
  PlaybookChanged: [],
  PlaybookUsed: [],
  PlaybookDeleted: [],
  MarketingSourceCreated: [],
  MarketingSourceSuspended: [],
  MarketingSourceResumed: [],
  MarketingSourceLimited: [],
  ConversionDefined: [],
  LeadSubmitted: ['details', 'consent', 'originators'],
  LeadEnrolled: [],
  LeadErased: [],
  SubmissionKeyClaimed: [],
  ContactCreated: ['details'],
  ContactDetailsChanged: ['details'],
  ContactEngaged: [],
  ContactConverted: [],
  ContactOptedOut: [],
  ContactOptedIn: [],
  NumberOptedOut: [],
  NumberOptedIn: [],
  ContactErased: [],
  LateLeadRefused: [],
  LateMessageRefused: [],
  ConversionRecorded: [],
  EngagementStarted: [],
  // Of older versions: now they stand in remarks.
  ActivityRecorded: ['activity.note', 'activity.properties'],
  EngagementEnded: [],
  EngagementErased: [],
  StepBegun: [],
  StepPostponed: [],
  StepSkipped: [],
  StepsEnded: [],
  ConsentVerified: [],
  ConsentCheckFailed: [],
  ContactReplied: [],
  EngagementPaused: [],
  EngagementResumed: [],
  RemarkMade: ['note', 'properties'],
  RemarksErased: [],
  MessageRequested: ['text'],
  MessagePostponed: [],
  MessageBegun: ['text'],
  MessageTriedAgain: [],
  MessageAttemptFailed: [],
  MessageSent: [],
  MessageFailed: [],
  MessageTaken: [],
  MessageDelivered: [],
  MessageUndelivered: [],
  MessageReceived: ['text'],
  MessageErased: [],
  MessageCopyFound: [],
  MessageCopiesErased: [],
  MessageCopiesKept: [],
  SenderHeld: [],
  SenderReleased: [],
  OptedOutOfSender: [],
  OptedInToSender: [],
  SegmentLimitReached: [],
  // Receivers often put a token into the path or the query.
  WebhookAdded: ['settings.url'],
  WebhookChanged: ['settings.url'],
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
  DeliveryErased: [],
  ResendStarted: [],
  ResendCancelled: [],
  ResendCompleted: [],
  ResendCounted: [],
  NoticeDue: [],
  NoticeAttemptFailed: [],
  NoticeSent: [],
  NoticeAbandoned: [],
  EventParked: [],
  ParkedEventRetryRequested: [],
  ParkedEventRetryFailed: [],
  ParkedEventHandled: [],
  ErasureRequested: [],
  LateLeadFound: [],
  LateMessageFound: [],
  ErasureCompleted: [],
}

/** Sealed or hashed, and of use to nobody but the service. */
const secretFields = ['sealed_secret', 'secret_hash', 'settings.sealed_token']

/**
 * Of states the same, at whatever depth. `test/domain/personal-states.test.ts` names every field of every state, so
 * that none is forgotten.
 */
export const personalStateFields: ReadonlySet<string> = new Set(['body', 'byAge', 'details', 'email', 'text', 'url'])
export const secretStateFields: ReadonlySet<string> = new Set([
  'sealedSecret',
  'secretHash',
  'signingSecrets',
  'sealed_token',
])

type Data = Readonly<Record<string, unknown>>
type Path = ReadonlyArray<string>

const pathsOf = (fields: ReadonlyArray<string>): ReadonlyArray<Path> => fields.map((field) => field.split('.'))

const secretPaths = pathsOf(secretFields)
/** Split once: a replay asks for every event. */
const hiddenPaths: ReadonlyMap<string, ReadonlyArray<Path>> = new Map(
  Object.entries(personalFields).map(([type, fields]) => [type, [...secretPaths, ...pathsOf(fields)]]),
)

/**
 * The data of the event for somebody else's eyes: without secrets, and without personal values unless they are asked
 * for.
 */
export const shownData = (event: DomainEvent, { isPersonalShown }: { readonly isPersonalShown: boolean }): Data => {
  let data: Data = event.data
  for (const path of (isPersonalShown ? undefined : hiddenPaths.get(event.type)) ?? secretPaths)
    data = without(data, path)
  return data
}

const without = (data: Data, path: Path, depth = 0): Data => {
  const name = path[depth] ?? ''
  const value = data[name]
  if (value === undefined) return data
  if (depth < path.length - 1) return isData(value) ? { ...data, [name]: without(value, path, depth + 1) } : data
  const { [name]: _hidden, ...rest } = data
  return rest
}

const isData = (value: unknown): value is Data => typeof value === 'object' && value !== null && !Array.isArray(value)
