import { t } from './codec.js'
import { fieldsByAge, merged, sameDetails } from './contact-details.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { FollowUp } from './follow-up.js'
import {
  AccountId,
  ContactId,
  ConversionId,
  EngagementId,
  ErasureId,
  LeadId,
  MessageId,
  PlaybookId,
  RecordId,
  SourceId,
} from './ids.js'
import { Instant, latest, strictlyAfter } from './instant.js'
import { LeadDetails } from './lead.js'
import { MessageIds } from './message.js'
import { E, unreachable, type Either } from './prelude.js'
import { ResidenceState, residenceStateOf } from './residence-state.js'
import { afterOptIn, afterOptOut, Saying, Sayings, wasSaid, wasSaidBeforeOptIn, wasSaidBeforeOptOut } from './saying.js'

/** What a contact, or its number before it was one, said of being contacted, and when that was recorded. */
const OptChange = t.type({
  meaning: t.keyof({ opted_out: null, opted_in: null }, 'opted_out or opted_in'),
  at: Instant,
})
export type OptChange = t.TypeOf<typeof OptChange>

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
    t.intersection([
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
      /**
       * `supersedes`: the oldest engagements, which end since there would be too many. `state`: where the lead lives.
       * `follow_up`: what its playbook does, where it sends something. `awaits_consent`: it sends nothing, and what a
       * member writes waits for the verification.
       */
      t.partial({
        supersedes: t.readonlyArray(EngagementId),
        state: ResidenceState,
        follow_up: FollowUp,
        awaits_consent: t.literal(true),
      }),
    ]),
  ),
  eventOf(
    'ContactConverted',
    t.type({ record_id: RecordId, conversion_id: ConversionId, ended: t.readonlyArray(EngagementId) }),
  ),
  /**
   * `ended`: all engagements that may be open. Older versions ended none but that in which it was said. `confirmation`:
   * the message that confirms it, where one does. `said`: the saying, where a text says so or a report.
   */
  eventOf(
    'ContactOptedOut',
    t.intersection([
      t.type({ engagement_id: EngagementId }),
      t.partial({ ended: t.readonlyArray(EngagementId), confirmation: MessageIds, said: Saying }),
    ]),
  ),
  /**
   * Said by a number without a contact: nobody has submitted it yet, or its contact was erased. Nothing else is kept of
   * it.
   */
  eventOf('NumberOptedOut', t.type({ contact_id: ContactId, account_id: AccountId })),
  /** As above. `said_at`: its order at the sender. Older versions left it out. */
  eventOf(
    'NumberOptedIn',
    t.intersection([t.type({ contact_id: ContactId, account_id: AccountId }), t.partial({ said_at: Instant })]),
  ),
  /** It may be written to again. `said`: as above. */
  eventOf('ContactOptedIn', t.intersection([t.type({ engagement_id: EngagementId }), t.partial({ said: Saying })])),
  /**
   * Closes the stream: all that it held of the person is gone, but that nobody may contact the number. `opt_history`:
   * the first of the opt-outs and opt-ins, as far as they had been written and could be read then. Older versions left
   * it out.
   */
  eventOf(
    'ContactErased',
    t.intersection([
      t.type({ contact_id: ContactId, account_id: AccountId, erasure_id: ErasureId, opted_out: t.boolean }),
      t.partial({ opt_history: t.readonlyArray(OptChange) }),
    ]),
  ),
  /** The lead was accepted while the contact was being erased. */
  eventOf('LateLeadRefused', t.type({ contact_id: ContactId, lead_id: LeadId, erasure_id: ErasureId })),
  /** The text was recorded while the contact was being erased. */
  eventOf('LateMessageRefused', t.intersection([MessageIds, t.type({ erasure_id: ErasureId })])),
])
export type ContactEvent = t.TypeOf<typeof ContactEvent>
type EngagedFacts = Extract<ContactEvent, { readonly type: 'ContactEngaged' }>['data']

/** The opt-out or opt-in that an event tells of; undefined where it tells of none. */
export const optChangeIn = (event: { readonly type: string; readonly time: Instant }): OptChange | undefined => {
  const { time: at } = event
  switch (event.type) {
    case 'ContactOptedOut':
    case 'NumberOptedOut':
      return { meaning: 'opted_out', at }
    case 'ContactOptedIn':
    case 'NumberOptedIn':
      return { meaning: 'opted_in', at }
    default:
      return undefined
  }
}

/** Engagements of one contact that may be open at a time, so that no event has to name more of them. */
export const mostOpenEngagements = 100

/** Opt-outs and opt-ins that an erasure leaves at most. */
export const mostOptChanges = 1_000

/** Leads that a contact remembers. A number may be submitted for years: what is known of it must not grow. */
const rememberedLeads = 100

const SubmittedLead = t.type({ leadId: LeadId, submittedAt: Instant })
type SubmittedLead = t.TypeOf<typeof SubmittedLead>

const ContactState = t.union([
  t.intersection([
    t.type({ kind: t.literal('unknown') }),
    /** `optedInAt`: as of a known contact. */
    t.partial({ optedOut: t.boolean, optedInAt: Instant }),
  ]),
  t.intersection([
    t.type({
      kind: t.literal('known'),
      accountId: AccountId,
      optedOut: t.boolean,
      details: LeadDetails,
      /** The names in `additional_info`, those first that got their values longest ago. */
      byAge: t.readonlyArray(t.string),
      /** By its time of submission: the lead whose details these are, and whose engagement a conversion belongs to. */
      newest: t.union([
        t.type({ leadId: LeadId, submittedAt: Instant, sourceId: SourceId, engagementId: EngagementId }),
        t.undefined,
      ]),
      /** The leads that were engaged last. */
      leads: t.readonlyArray(SubmittedLead),
      /** No lead that it engaged and does not remember was submitted after this. */
      unrememberedUntil: t.union([Instant, t.undefined]),
      lastEngagedAt: t.union([Instant, t.undefined]),
      /** Engagements that neither a conversion nor a later lead has ended, in their order. */
      unconverted: t.readonlyArray(EngagementId),
      records: t.readonlyArray(RecordId),
    }),
    Sayings,
    /** So that an opt-out of a contact that the number had before, and that was erased, counts no more. */
    t.partial({ hasOptedIn: t.literal(true) }),
  ]),
  t.intersection([
    t.type({
      kind: t.literal('erased'),
      accountId: AccountId,
      erasureId: ErasureId,
      optedOut: t.boolean,
      /** Those that were refused last. */
      lateLeads: t.readonlyArray(LeadId),
    }),
    /** As above; left out where there are none. */
    t.partial({ lateMessages: t.readonlyArray(MessageId) }),
  ]),
])
export type ContactState = t.TypeOf<typeof ContactState>
export type KnownContact = Extract<ContactState, { readonly kind: 'known' }>

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
      /** Its engagement has not begun: it was not engaged before. */
      readonly isNotEngaged?: boolean
      /** Its number opted out as a contact that was erased since, or of the sender. */
      readonly optedOutBefore?: boolean
      readonly followUp?: FollowUp
      /** Its playbook sends nothing, and its consent is to be verified before a member writes. */
      readonly awaitsConsent?: boolean
    }
  | {
      readonly type: 'MarkConverted'
      readonly recordId: RecordId
      readonly conversionId: ConversionId
      readonly ended: ReadonlyArray<EngagementId>
    }
  /**
   * `saying`: left out where the contact said it to somebody else. `confirmation`: the message that is to confirm it.
   */
  | {
      readonly type: 'OptOut'
      readonly engagementId: EngagementId
      readonly saying?: Saying
      readonly confirmation?: MessageIds
    }
  | { readonly type: 'OptIn'; readonly engagementId: EngagementId; readonly saying: Saying }
  /** Whether the number has a contact or not. */
  | {
      readonly type: 'OptOutNumber' | 'OptInNumber'
      readonly contactId: ContactId
      readonly accountId: AccountId
      /** As a contact that was erased since, or of the sender. */
      readonly optedOutBefore?: boolean
      /** Its order at the sender. */
      readonly saidAt?: Instant | undefined
    }
  /** A text to the contact, or from it, was recorded. */
  | { readonly type: 'NoteMessage'; readonly ids: MessageIds }
  | {
      readonly type: 'EraseContact'
      readonly contactId: ContactId
      readonly erasureId: ErasureId
      readonly optHistory: ReadonlyArray<OptChange>
    }

export type ContactRefusal = { readonly kind: 'contact-not-found' }

/** The lead was submitted so long ago that the contact may have engaged it and not remember: its engagement tells. */
type UnrememberedLead = { readonly kind: 'lead-not-remembered' }

const evolve = (state: ContactState, event: ContactEvent): ContactState => {
  if (event.type === 'ContactCreated') {
    const optedInAt = state.kind === 'unknown' ? state.optedInAt : undefined
    const created = {
      kind: 'known' as const,
      accountId: event.data.account_id,
      optedOut: false,
      details: event.data.details,
      byAge: Object.keys(event.data.details.additional_info),
      newest: undefined,
      leads: [],
      unrememberedUntil: undefined,
      lastEngagedAt: undefined,
      unconverted: [],
      records: [],
      ...(optedInAt === undefined ? {} : { optedInAt }),
    } satisfies KnownContact
    return state.optedOut === false ? { ...created, hasOptedIn: true as const } : created
  }
  if (event.type === 'ContactErased') {
    const { account_id: accountId, erasure_id: erasureId, opted_out: optedOut } = event.data
    return { kind: 'erased', accountId, erasureId, optedOut, lateLeads: [] }
  }
  if (event.type === 'NumberOptedOut') return { ...state, optedOut: true }
  if (event.type === 'NumberOptedIn') return afterNumberOptedIn(state, event.data.said_at)
  if (state.kind === 'unknown') return state
  if (state.kind === 'erased') return afterErasure(state, event)
  switch (event.type) {
    case 'ContactDetailsChanged': {
      const { details } = event.data
      const byAge = fieldsByAge(state.byAge, state.details.additional_info, details.additional_info)
      return { ...state, details, byAge }
    }
    case 'ContactEngaged':
      return engagedState(state, event.data)
    case 'ContactConverted': {
      const { ended, record_id } = event.data
      return { ...state, unconverted: withoutAll(state.unconverted, ended), records: [...state.records, record_id] }
    }
    case 'ContactOptedOut':
      return {
        ...state,
        ...afterOptOut(state, event.data.said),
        optedOut: true,
        unconverted: withoutAll(state.unconverted, event.data.ended ?? []),
      }
    case 'ContactOptedIn':
      return { ...state, ...afterOptIn(state, event.data.said), optedOut: false, hasOptedIn: true }
    case 'LateLeadRefused':
    case 'LateMessageRefused':
      return state
    default:
      return unreachable(event)
  }
}

const afterNumberOptedIn = (state: ContactState, saidAt: Instant | undefined): ContactState => {
  if (state.kind === 'erased') return { ...state, optedOut: false }
  const optedInAt = latest(saidAt, state.optedInAt)
  const optedIn = { optedOut: false, ...(optedInAt === undefined ? {} : { optedInAt }) }
  return state.kind === 'known' ? { ...state, ...optedIn, hasOptedIn: true as const } : { ...state, ...optedIn }
}

const afterErasure = (state: Extract<ContactState, { readonly kind: 'erased' }>, event: ContactEvent): ContactState => {
  if (event.type === 'ContactOptedOut') return { ...state, optedOut: true }
  if (event.type === 'ContactOptedIn') return { ...state, optedOut: false }
  if (event.type === 'LateMessageRefused')
    return { ...state, lateMessages: [...(state.lateMessages ?? []), event.data.message_id].slice(-rememberedLeads) }
  if (event.type !== 'LateLeadRefused') return state
  return { ...state, lateLeads: [...state.lateLeads, event.data.lead_id].slice(-rememberedLeads) }
}

const engagedState = (
  state: KnownContact,
  { lead_id, source_id, engagement_id, submitted_at, engaged_at, supersedes = [] }: EngagedFacts,
): ContactState => {
  const newest = { leadId: lead_id, submittedAt: submitted_at, sourceId: source_id, engagementId: engagement_id }
  const lead = { leadId: lead_id, submittedAt: submitted_at }
  const leads = [...state.leads, lead]
  const unremembered = leads.length > rememberedLeads ? leads.shift() : undefined
  return {
    ...state,
    newest: isNewer(lead, state.newest) ? newest : state.newest,
    leads,
    unrememberedUntil: latest(state.unrememberedUntil, unremembered?.submittedAt),
    lastEngagedAt: engaged_at,
    unconverted: [...withoutAll(state.unconverted, supersedes), engagement_id],
  }
}

const withoutAll = <A>(all: ReadonlyArray<A>, some: ReadonlyArray<A>): ReadonlyArray<A> =>
  some.length === 0 ? all : all.filter((one) => !some.includes(one))

const decide = (
  command: ContactCommand,
  state: ContactState,
): Either<ContactRefusal | UnrememberedLead, ReadonlyArray<ContactEvent>> => {
  if (command.type === 'EngageLead') return engage(command, state)
  if (isOfNumber(command)) return E.right(optNumberOutOrIn(command, state))
  if (command.type === 'NoteMessage') return E.right(noteMessage(command.ids, state))
  if (state.kind === 'unknown') return E.left({ kind: 'contact-not-found' })
  switch (command.type) {
    case 'MarkConverted': {
      if (state.kind === 'erased' || state.records.includes(command.recordId)) return E.right([])
      const { recordId, conversionId, ended } = command
      return E.right([{ type: 'ContactConverted', data: { record_id: recordId, conversion_id: conversionId, ended } }])
    }
    case 'OptOut':
      return E.right(optOut(command, state))
    case 'OptIn':
      return E.right(optIn(command, state))
    case 'EraseContact': {
      if (state.kind === 'erased') return E.right([])
      const { contactId: contact_id, erasureId: erasure_id } = command
      const opt_history = command.optHistory.slice(0, mostOptChanges)
      const data = { contact_id, account_id: state.accountId, erasure_id, opted_out: state.optedOut, opt_history }
      return E.right([{ type: 'ContactErased', data }])
    }
    default:
      return unreachable(command)
  }
}

/** Whether the number has opted in since it had a contact that was erased. */
export const hasOptedIn = (state: ContactState): boolean =>
  state.kind === 'known' ? state.hasOptedIn === true : state.kind === 'unknown' && state.optedOut === false

type CommandOf<Type> = Extract<ContactCommand, { readonly type: Type }>
type Existing = Exclude<ContactState, { readonly kind: 'unknown' }>

/**
 * What was said comes again after a crash, and says nothing then: the contact may have said something else since. So
 * each saying is recorded once, also one that changes nothing.
 */
const optOut = (
  { engagementId, saying, confirmation }: CommandOf<'OptOut'>,
  state: Existing,
): ReadonlyArray<ContactEvent> => {
  const isRepeated = state.kind === 'known' && saying !== undefined ? wasSaid(state, saying) : state.optedOut
  if (isRepeated) return []
  const open = state.kind === 'known' ? state.unconverted : []
  const event = optedOut(engagementId, open, state.optedOut ? { saying } : { saying, confirmation })
  // It ends what was open, and the contact has taken it back since.
  const isTakenBack =
    state.kind === 'known' && !state.optedOut && saying !== undefined && wasSaidBeforeOptIn(state, saying)
  return isTakenBack ? [event, { type: 'ContactOptedIn', data: { engagement_id: engagementId } }] : [event]
}

/** One that was said before the contact opted out does not take that back. */
const optIn = ({ engagementId, saying }: CommandOf<'OptIn'>, state: Existing): ReadonlyArray<ContactEvent> => {
  const event: ContactEvent = { type: 'ContactOptedIn', data: { engagement_id: engagementId, said: saying } }
  if (state.kind === 'erased') return state.optedOut ? [event] : []
  return wasSaid(state, saying) || wasSaidBeforeOptOut(state, saying) ? [] : [event]
}

/** What comes to a contact that was erased is refused, so that the erasure takes it too. */
const noteMessage = (ids: MessageIds, state: ContactState): ReadonlyArray<ContactEvent> =>
  state.kind !== 'erased' || state.lateMessages?.includes(ids.message_id) === true
    ? []
    : [{ type: 'LateMessageRefused', data: { ...ids, erasure_id: state.erasureId } }]

type OfNumber = Extract<ContactCommand, { readonly type: 'OptOutNumber' | 'OptInNumber' }>

const isOfNumber = (command: ContactCommand): command is OfNumber =>
  command.type === 'OptOutNumber' || command.type === 'OptInNumber'

const optNumberOutOrIn = (
  { type, contactId: contact_id, accountId: account_id, optedOutBefore = false, saidAt: said_at }: OfNumber,
  state: ContactState,
): ReadonlyArray<ContactEvent> => {
  const optsOut = type === 'OptOutNumber'
  if ((state.optedOut ?? optedOutBefore) === optsOut) return []
  const engagement_id = state.kind === 'known' ? state.newest?.engagementId : undefined
  if (state.kind !== 'known' || engagement_id === undefined) {
    const data = { contact_id, account_id }
    if (optsOut) return [{ type: 'NumberOptedOut', data }]
    return [{ type: 'NumberOptedIn', data: { ...data, ...(said_at === undefined ? {} : { said_at }) } }]
  }
  return [optsOut ? optedOut(engagement_id, state.unconverted) : { type: 'ContactOptedIn', data: { engagement_id } }]
}

const optedOut = (
  engagement_id: EngagementId,
  open: ReadonlyArray<EngagementId> = [],
  {
    confirmation,
    saying,
  }: { readonly confirmation?: MessageIds | undefined; readonly saying?: Saying | undefined } = {},
): ContactEvent => ({
  type: 'ContactOptedOut',
  data: {
    engagement_id,
    ...(open.length === 0 ? {} : { ended: open.slice(0, mostOpenEngagements) }),
    ...(confirmation === undefined ? {} : { confirmation }),
    ...(saying === undefined ? {} : { said: saying }),
  },
})

const engage = (
  command: Extract<ContactCommand, { readonly type: 'EngageLead' }>,
  state: ContactState,
): Either<UnrememberedLead, ReadonlyArray<ContactEvent>> => {
  const { contactId, accountId, leadId, sourceId, sourceTitle, playbookId, engagementId, submittedAt } = command
  const livesIn = residenceStateOf(command.details)
  const engaged = (
    engagedAt: Instant,
    filtered: boolean,
    supersedes: ReadonlyArray<EngagementId> = [],
  ): Extract<ContactEvent, { readonly type: 'ContactEngaged' }> => ({
    type: 'ContactEngaged',
    data: {
      contact_id: contactId,
      account_id: accountId,
      lead_id: leadId,
      source_id: sourceId,
      playbook_id: playbookId,
      engagement_id: engagementId,
      submitted_at: submittedAt,
      ...(livesIn === undefined ? {} : { state: livesIn }),
      ...(command.followUp === undefined ? {} : { follow_up: command.followUp }),
      ...(command.awaitsConsent === true ? { awaits_consent: true as const } : {}),
      engaged_at: engagedAt,
      filtered,
      ...(supersedes.length === 0 ? {} : { supersedes }),
    },
  })
  if (state.kind === 'unknown') {
    const isOptedOut = stillOptsOut(command, state) || state.optedOut === true
    const referral = { marketing_source_id: sourceId, marketing_source_title: sourceTitle, lead_id: leadId }
    return E.right([
      {
        type: 'ContactCreated',
        data: { contact_id: contactId, account_id: accountId, details: command.details, referral },
      },
      ...(isOptedOut ? [optedOut(engagementId)] : []),
      engaged(submittedAt, isOptedOut),
    ])
  }
  if (state.kind === 'erased') {
    if (state.lateLeads.includes(leadId)) return E.right([])
    const data = { contact_id: contactId, lead_id: leadId, erasure_id: state.erasureId }
    return E.right([{ type: 'LateLeadRefused', data }])
  }
  if (state.leads.some((lead) => lead.leadId === leadId)) return E.right([])
  const mayBeEngaged = state.unrememberedUntil !== undefined && submittedAt <= state.unrememberedUntil
  if (mayBeEngaged && command.isNotEngaged !== true) return E.left({ kind: 'lead-not-remembered' })
  const supersedes = superseded(state.unconverted)
  // The opt-out may have reached the contact that was erased only after this one began, or the sender before the
  // account used it.
  const optsOut = stillOptsOut(command, state) && !state.optedOut
  const engagement = engaged(strictlyAfter(state.lastEngagedAt, submittedAt), state.optedOut || optsOut, supersedes)
  const details = merged(state.details, state.byAge, command.details)
  const changes = isNewer({ leadId, submittedAt }, state.newest) && !sameDetails(details, state.details)
  const changed: ContactEvent = { type: 'ContactDetailsChanged', data: { lead_id: leadId, details } }
  return E.right([
    ...(changes ? [changed] : []),
    ...(optsOut ? [optedOut(engagementId, state.unconverted)] : []),
    engagement,
  ])
}

/** What the number said before the lead came counts no more where it has opted in after that. */
const stillOptsOut = (
  { optedOutBefore, submittedAt }: CommandOf<'EngageLead'>,
  { optedInAt }: { readonly optedInAt?: Instant },
): boolean => optedOutBefore === true && (optedInAt === undefined || optedInAt < submittedAt)

/**
 * The oldest open engagements that one more would make too many: one, and more of a log in which there was no limit
 * yet.
 */
const superseded = (open: ReadonlyArray<EngagementId>): ReadonlyArray<EngagementId> =>
  open.slice(0, Math.min(Math.max(open.length + 1 - mostOpenEngagements, 0), mostOpenEngagements))

const isNewer = ({ leadId, submittedAt }: SubmittedLead, than: SubmittedLead | undefined): boolean =>
  than === undefined || submittedAt > than.submittedAt || (submittedAt === than.submittedAt && leadId > than.leadId)

export const contact: Decider<ContactState, ContactCommand, ContactEvent, ContactRefusal | UnrememberedLead> = {
  category: 'contact',
  initial: { kind: 'unknown' },
  evolve,
  snapshot: { version: 4, codec: ContactState },
  decide,
}
