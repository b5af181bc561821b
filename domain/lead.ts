import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ContactId, EngagementId, LeadId, PlaybookId, SourceId } from './ids.js'
import { Phone } from './phone.js'
import { E, unreachable, type Either } from './prelude.js'

/** Where a lead came from in the customer's own records (contract 6.3). */
export const Originator = t.type({ origin: t.string, key: t.string }, 'an originator')
export type Originator = t.TypeOf<typeof Originator>

/** The fields of a lead that its contact takes over. */
export const LeadDetails = t.type(
  {
    first_name: t.string,
    last_name: t.string,
    email: t.string,
    phone: Phone,
    additional_info: t.readonly(t.record(t.string, t.string)),
  },
  'the details of a lead',
)
export type LeadDetails = t.TypeOf<typeof LeadDetails>

const Facts = t.type({
  lead_id: LeadId,
  account_id: AccountId,
  source_id: SourceId,
  source_title: t.string,
  playbook_id: PlaybookId,
  contact_id: ContactId,
  engagement_id: EngagementId,
  details: LeadDetails,
  consent: t.type({ tcpa_opt_in_token: t.string, tcpa_opt_in_url: t.string }),
  originators: t.readonlyArray(Originator),
})
export type LeadFacts = t.TypeOf<typeof Facts>

/**
 * `LeadSubmitted` holds all that was decided and is what the 200 of a submission stands for. `LeadEnrolled` is no longer written:
 * that the engagement began says the same.
 */
export const LeadEvent = t.union([
  eventOf('LeadSubmitted', Facts),
  eventOf(
    'LeadEnrolled',
    t.type({ lead_id: LeadId, account_id: AccountId, contact_id: ContactId, engagement_id: EngagementId }),
  ),
])
export type LeadEvent = t.TypeOf<typeof LeadEvent>

/** Only ids: a personal value has no business in what `decide` needs. */
export type LeadState =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'submitted'
      readonly leadId: LeadId
      readonly accountId: AccountId
      readonly contactId: ContactId
      readonly engagementId: EngagementId
    }

export type LeadCommand = { readonly type: 'SubmitLead'; readonly facts: LeadFacts }

const evolve = (state: LeadState, event: LeadEvent): LeadState => {
  switch (event.type) {
    case 'LeadSubmitted': {
      const { lead_id, account_id, contact_id, engagement_id } = event.data
      return {
        kind: 'submitted',
        leadId: lead_id,
        accountId: account_id,
        contactId: contact_id,
        engagementId: engagement_id,
      }
    }
    case 'LeadEnrolled':
      return state
    default:
      return unreachable(event)
  }
}

const decide = ({ facts }: LeadCommand, state: LeadState): Either<never, ReadonlyArray<LeadEvent>> =>
  E.right(state.kind === 'submitted' ? [] : [{ type: 'LeadSubmitted', data: facts }])

export const lead: Decider<LeadState, LeadCommand, LeadEvent, never> = {
  category: 'lead',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
