import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ContactId, ConversionId, EngagementId, LeadId, PlaybookId, RecordId, SourceId } from './ids.js'
import { Instant, strictlyAfter } from './instant.js'
import { LeadDetails } from './lead.js'
import { E, unreachable, type Either } from './prelude.js'

export const ContactEvent = t.union([
  eventOf(
    'ContactCreated',
    t.type({
      contact_id: ContactId,
      account_id: AccountId,
      details: LeadDetails,
      /** The first touch: later leads leave it as it is. */
      referral: t.type({ marketing_source_id: SourceId, marketing_source_title: t.string, lead_id: LeadId }),
    }),
  ),
  eventOf('ContactDetailsChanged', t.type({ lead_id: LeadId, details: LeadDetails })),
  eventOf(
    'ContactEngaged',
    t.type({
      contact_id: ContactId,
      account_id: AccountId,
      lead_id: LeadId,
      source_id: SourceId,
      playbook_id: PlaybookId,
      engagement_id: EngagementId,
      submitted_at: Instant,
      engaged_at: Instant,
      /** The lead may not be contacted, because its contact opted out before. */
      filtered: t.boolean,
    }),
  ),
  eventOf(
    'ContactConverted',
    t.type({ record_id: RecordId, conversion_id: ConversionId, ended: t.readonlyArray(EngagementId) }),
  ),
  eventOf('ContactOptedOut', t.type({ engagement_id: EngagementId })),
])
export type ContactEvent = t.TypeOf<typeof ContactEvent>

/** The lead that began an engagement. */
type EngagedLead = { readonly leadId: LeadId; readonly sourceId: SourceId; readonly engagementId: EngagementId }

/** A list that grows in front without copying: a number may be submitted thousands of times. */
type Leads = { readonly leadId: LeadId; readonly rest: Leads } | undefined

export type ContactState =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'known'
      readonly accountId: AccountId
      readonly optedOut: boolean
      readonly details: LeadDetails
      /** The lead whose details these are: the newest by its time of submission. */
      readonly detailsOf: { readonly leadId: LeadId; readonly submittedAt: Instant } | undefined
      readonly leads: Leads
      readonly newest: EngagedLead | undefined
      readonly lastEngagedAt: Instant | undefined
      /** Engagements that no conversion has ended yet. */
      readonly unconverted: ReadonlyArray<EngagementId>
      readonly records: ReadonlyArray<RecordId>
    }

export type ContactCommand =
  | {
      readonly type: 'EngageLead'
      readonly contactId: ContactId
      readonly accountId: AccountId
      readonly leadId: LeadId
      readonly sourceId: SourceId
      readonly sourceTitle: string
      readonly playbookId: PlaybookId
      readonly engagementId: EngagementId
      readonly details: LeadDetails
      readonly submittedAt: Instant
      readonly at: Instant
    }
  | {
      readonly type: 'MarkConverted'
      readonly recordId: RecordId
      readonly conversionId: ConversionId
      readonly ended: ReadonlyArray<EngagementId>
    }
  | { readonly type: 'OptOut'; readonly engagementId: EngagementId }

export type ContactRefusal = { readonly kind: 'contact-not-found' }

const evolve = (state: ContactState, event: ContactEvent): ContactState => {
  if (event.type === 'ContactCreated') {
    return {
      kind: 'known',
      accountId: event.data.account_id,
      optedOut: false,
      details: event.data.details,
      detailsOf: undefined,
      leads: undefined,
      newest: undefined,
      lastEngagedAt: undefined,
      unconverted: [],
      records: [],
    }
  }
  if (state.kind === 'unknown') return state
  switch (event.type) {
    case 'ContactDetailsChanged':
      return { ...state, details: event.data.details }
    case 'ContactEngaged': {
      const { lead_id, source_id, engagement_id, submitted_at, engaged_at } = event.data
      return {
        ...state,
        detailsOf: isNewer(submitted_at, lead_id, state.detailsOf)
          ? { leadId: lead_id, submittedAt: submitted_at }
          : state.detailsOf,
        leads: { leadId: lead_id, rest: state.leads },
        newest: { leadId: lead_id, sourceId: source_id, engagementId: engagement_id },
        lastEngagedAt: engaged_at,
        unconverted: [...state.unconverted, engagement_id],
      }
    }
    case 'ContactConverted': {
      const ended = new Set(event.data.ended)
      return {
        ...state,
        unconverted: state.unconverted.filter((engagement) => !ended.has(engagement)),
        records: [...state.records, event.data.record_id],
      }
    }
    case 'ContactOptedOut':
      return { ...state, optedOut: true }
    default:
      return unreachable(event)
  }
}

const decide = (command: ContactCommand, state: ContactState): Either<ContactRefusal, ReadonlyArray<ContactEvent>> => {
  if (command.type === 'EngageLead') return E.right(engage(command, state))
  if (state.kind === 'unknown') return E.left({ kind: 'contact-not-found' })
  switch (command.type) {
    case 'MarkConverted': {
      if (state.records.includes(command.recordId)) return E.right([])
      const { recordId, conversionId, ended } = command
      return E.right([{ type: 'ContactConverted', data: { record_id: recordId, conversion_id: conversionId, ended } }])
    }
    case 'OptOut':
      if (state.optedOut) return E.right([])
      return E.right([{ type: 'ContactOptedOut', data: { engagement_id: command.engagementId } }])
    default:
      return unreachable(command)
  }
}

const engage = (
  command: Extract<ContactCommand, { readonly type: 'EngageLead' }>,
  state: ContactState,
): ReadonlyArray<ContactEvent> => {
  const { contactId, accountId, leadId, sourceId, sourceTitle, playbookId, engagementId, submittedAt } = command
  const engaged = {
    contact_id: contactId,
    account_id: accountId,
    lead_id: leadId,
    source_id: sourceId,
    playbook_id: playbookId,
    engagement_id: engagementId,
    submitted_at: submittedAt,
  }
  if (state.kind === 'unknown') {
    const referral = { marketing_source_id: sourceId, marketing_source_title: sourceTitle, lead_id: leadId }
    return [
      {
        type: 'ContactCreated',
        data: { contact_id: contactId, account_id: accountId, details: command.details, referral },
      },
      { type: 'ContactEngaged', data: { ...engaged, engaged_at: command.at, filtered: false } },
    ]
  }
  if (hasLead(state.leads, leadId)) return []
  const engagement: ContactEvent = {
    type: 'ContactEngaged',
    data: { ...engaged, engaged_at: strictlyAfter(state.lastEngagedAt, command.at), filtered: state.optedOut },
  }
  const details = merged(state.details, command.details)
  const changes = isNewer(submittedAt, leadId, state.detailsOf) && !sameDetails(details, state.details)
  return changes ? [{ type: 'ContactDetailsChanged', data: { lead_id: leadId, details } }, engagement] : [engagement]
}

const isNewer = (
  submittedAt: Instant,
  leadId: LeadId,
  than: { readonly leadId: LeadId; readonly submittedAt: Instant } | undefined,
): boolean =>
  than === undefined || submittedAt > than.submittedAt || (submittedAt === than.submittedAt && leadId > than.leadId)

const hasLead = (leads: Leads, leadId: LeadId): boolean => {
  for (let rest = leads; rest !== undefined; rest = rest.rest) if (rest.leadId === leadId) return true
  return false
}

/** The newest lead's values; what it did not send stays as it was, so that nothing is lost. */
const merged = (old: LeadDetails, sent: LeadDetails): LeadDetails => ({
  first_name: sent.first_name === '' ? old.first_name : sent.first_name,
  last_name: sent.last_name === '' ? old.last_name : sent.last_name,
  email: sent.email === '' ? old.email : sent.email,
  phone: old.phone,
  additional_info: { ...old.additional_info, ...sent.additional_info },
})

const sameDetails = (one: LeadDetails, other: LeadDetails): boolean =>
  one.first_name === other.first_name &&
  one.last_name === other.last_name &&
  one.email === other.email &&
  sameEntries(one.additional_info, other.additional_info)

const sameEntries = (one: Readonly<Record<string, string>>, other: Readonly<Record<string, string>>): boolean => {
  const names = Object.keys(one)
  return names.length === Object.keys(other).length && names.every((name) => one[name] === other[name])
}

export const contact: Decider<ContactState, ContactCommand, ContactEvent, ContactRefusal> = {
  category: 'contact',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
