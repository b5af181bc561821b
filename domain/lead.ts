import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { FollowUp } from './follow-up.js'
import { AccountId, ContactId, EngagementId, ErasureId, LeadId, PlaybookId, SourceId } from './ids.js'
import { Instant } from './instant.js'
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

const Ids = t.type({
  lead_id: LeadId,
  account_id: AccountId,
  source_id: SourceId,
  playbook_id: PlaybookId,
  contact_id: ContactId,
  engagement_id: EngagementId,
})
type LeadIds = t.TypeOf<typeof Ids>

const Facts = t.intersection([
  Ids,
  t.type({
    source_title: t.string,
    details: LeadDetails,
    consent: t.type({ tcpa_opt_in_token: t.string, tcpa_opt_in_url: t.string }),
    originators: t.readonlyArray(Originator),
  }),
  /**
   * `opted_out_before`: the number did, as a contact that was erased since, or of the sender. `follow_up` is left out
   * where its playbook sends nothing; `awaits_consent` stands there where a service is to verify the consent before a
   * member writes.
   */
  t.partial({ opted_out_before: t.literal(true), follow_up: FollowUp, awaits_consent: t.literal(true) }),
])
export type LeadFacts = t.TypeOf<typeof Facts>

/**
 * `LeadSubmitted` holds all that was decided and is what the 200 of a submission stands for. `LeadEnrolled` is no
 * longer written: that the engagement began says the same. `LeadErased` closes the stream: all that it held of the
 * person is gone.
 */
export const LeadEvent = t.union([
  eventOf('LeadSubmitted', Facts),
  eventOf(
    'LeadEnrolled',
    t.type({ lead_id: LeadId, account_id: AccountId, contact_id: ContactId, engagement_id: EngagementId }),
  ),
  eventOf('LeadErased', t.intersection([Ids, t.type({ submitted_at: Instant, erasure_id: ErasureId })])),
])
export type LeadEvent = t.TypeOf<typeof LeadEvent>

/** Only ids: a personal value has no business in what `decide` needs. */
export type LeadState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'submitted'; readonly ids: LeadIds }
  | { readonly kind: 'erased'; readonly ids: LeadIds; readonly erasureId: ErasureId }

export type LeadCommand =
  | { readonly type: 'SubmitLead'; readonly facts: LeadFacts }
  | {
      readonly type: 'EraseLead'
      readonly erasureId: ErasureId
      /** The time of its submission, which goes with the event that holds it. */
      readonly submittedAt: Instant
    }

const evolve = (state: LeadState, event: LeadEvent): LeadState => {
  switch (event.type) {
    case 'LeadSubmitted':
      return { kind: 'submitted', ids: idsOf(event.data) }
    case 'LeadEnrolled':
      return state
    case 'LeadErased':
      return { kind: 'erased', ids: idsOf(event.data), erasureId: event.data.erasure_id }
    default:
      return unreachable(event)
  }
}

const idsOf = ({ lead_id, account_id, source_id, playbook_id, contact_id, engagement_id }: LeadIds): LeadIds => ({
  lead_id,
  account_id,
  source_id,
  playbook_id,
  contact_id,
  engagement_id,
})

const decide = (command: LeadCommand, state: LeadState): Either<never, ReadonlyArray<LeadEvent>> => {
  switch (command.type) {
    case 'SubmitLead':
      return E.right(state.kind === 'unknown' ? [{ type: 'LeadSubmitted', data: command.facts }] : [])
    case 'EraseLead': {
      if (state.kind !== 'submitted') return E.right([])
      const { submittedAt: submitted_at, erasureId: erasure_id } = command
      return E.right([{ type: 'LeadErased', data: { ...state.ids, submitted_at, erasure_id } }])
    }
    default:
      return unreachable(command)
  }
}

export const lead: Decider<LeadState, LeadCommand, LeadEvent, never> = {
  category: 'lead',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
