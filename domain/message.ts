import { NaturalNumber, t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AfterStep } from './follow-up.js'
import { AccountId, ActivityReportId, ContactId, EngagementId, MessageId } from './ids.js'
import { Instant } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'
import { ReplyMeaning } from './reply-meaning.js'
import { TrackedLinks } from './tracked-link.js'

export const MessageIds = t.type(
  { message_id: MessageId, account_id: AccountId, contact_id: ContactId, engagement_id: EngagementId },
  'the ids of a message',
)
export type MessageIds = t.TypeOf<typeof MessageIds>

/** Whom it concerns. `step` counts from 0; a requested message has none. */
const Sent = t.intersection([MessageIds, t.partial({ step: NaturalNumber })], 'a message that is sent')
type Sent = t.TypeOf<typeof Sent>

/** Of a step that is over; left out of a requested message. */
const After = t.partial(AfterStep.props)

/** Why a message is requested: an opt-out is confirmed, HELP is answered, or a member writes by hand. */
const Purpose = t.keyof({ confirmation: null, help: null, member: null }, 'a purpose')
export type Purpose = t.TypeOf<typeof Purpose>

/**
 * Why a message was not, or may not have been, sent. `opted-out`: the provider knows that the number wants nothing;
 * `undeliverable`: the number can't be reached; `refused`: the provider won't take this message; `expired`: it is too
 * late for it; `withdrawn`: what it waited for has changed; `unknown`: it may have been sent.
 */
const FailureKind = t.keyof(
  { 'opted-out': null, undeliverable: null, refused: null, expired: null, withdrawn: null, unknown: null },
  'a kind of failure',
)
export type FailureKind = t.TypeOf<typeof FailureKind>

const Request = t.type(
  {
    purpose: Purpose,
    /** Null where it is made when it is sent. */
    text: t.union([t.string, t.null]),
    expires_at: Instant,
  },
  'a requested message',
)
type Request = t.TypeOf<typeof Request>

/** An event that an erasure took away, with what figures rest on. */
const ErasedEvent = t.intersection([
  t.type({ type: t.string, at: Instant }),
  t.partial({
    purpose: Purpose,
    step: NaturalNumber,
    segments: NaturalNumber,
    attempt: NaturalNumber,
    kind: t.string,
    meaning: ReplyMeaning,
  }),
])
export type ErasedMessageEvent = t.TypeOf<typeof ErasedEvent>

/**
 * The story of one message. `MessageRequested` begins a requested message, which is no step. `MessageBegun` and
 * `MessageTriedAgain` are written before an attempt, the others after it. Their reasons are ours and hold no word of a
 * provider. What ends a step says what comes after it. `MessageErased` closes the stream.
 */
export const MessageEvent = t.union([
  eventOf('MessageRequested', t.intersection([MessageIds, Request])),
  eventOf('MessagePostponed', t.intersection([MessageIds, t.type({ until: Instant, reason: t.string })])),
  eventOf(
    'MessageBegun',
    t.intersection([
      Sent,
      t.type({ text: t.string, segments: NaturalNumber, begun_at: Instant }),
      /** `sender`: where it is the account's own. */
      t.partial({ purpose: Purpose, links: TrackedLinks, sender: t.string }),
    ]),
  ),
  eventOf(
    'MessageTriedAgain',
    t.intersection([
      Sent,
      t.type({ attempt: NaturalNumber, begun_at: Instant }),
      /** Where it is the account's own. */
      t.partial({ sender: t.string }),
    ]),
  ),
  eventOf(
    'MessageAttemptFailed',
    t.intersection([
      Sent,
      t.type({ attempt: NaturalNumber, reason: t.string, next_attempt_at: Instant }),
      /**
       * `provider_id`: of an attempt that the provider had taken. `unreached`: the phone was off, or the carrier gave
       * no reason.
       */
      t.partial({ provider_id: t.string, kind: t.keyof({ unreached: null, 'sender-blocked': null }) }),
    ]),
  ),
  eventOf(
    'MessageSent',
    t.intersection([Sent, t.type({ attempt: NaturalNumber, provider_id: t.union([t.string, t.null]) }), After]),
  ),
  /**
   * `report_id`: of an opt-out, what it stands for, as with a text that says so; left out where the contact had opted
   * out before the attempt, or nobody knows.
   */
  eventOf(
    'MessageFailed',
    t.intersection([
      Sent,
      t.type({ attempt: NaturalNumber, kind: FailureKind, reason: t.string }),
      After,
      t.partial({ report_id: ActivityReportId }),
    ]),
  ),
  /** The provider reported on an attempt before it answered, or where nobody knew whether it had taken it. */
  eventOf('MessageTaken', t.intersection([Sent, t.type({ provider_id: t.string })])),
  eventOf('MessageDelivered', t.intersection([Sent, t.type({ provider_id: t.string })])),
  /**
   * The provider had taken it, and it never will arrive. `report_id`: as with `MessageFailed`, and left out where the
   * contact has opted in since the attempt. Older versions left it out.
   */
  eventOf(
    'MessageUndelivered',
    t.intersection([
      Sent,
      t.type({ provider_id: t.string, kind: FailureKind, reason: t.string }),
      t.partial({ report_id: ActivityReportId }),
    ]),
  ),
  /**
   * What the contact wrote. `engagement_id`: whose message it answers; `paused_until` and `gives_up_at` follow from it.
   * `answer`: what is sent at once; left out where nothing is, or the provider does it. `said_at`: of an opt-out or an
   * opt-in that was said to the sender, its order there. `opted_out_before`: of an opt-out, where the contact had opted
   * out already. `report_id`: of an opt-out, the report that it stands for, the same for each text that says so before
   * the contact has heard of one. Older versions left both out.
   */
  eventOf(
    'MessageReceived',
    t.intersection([
      MessageIds,
      t.type({ text: t.string, meaning: ReplyMeaning, paused_until: Instant, gives_up_at: Instant }),
      /** `provider_id`: where a provider brought it. */
      t.partial({
        answer: t.keyof({ confirmation: null, help: null }, 'confirmation or help'),
        provider_id: t.string,
        said_at: Instant,
        opted_out_before: t.literal(true),
        report_id: ActivityReportId,
      }),
    ]),
  ),
  eventOf(
    'MessageErased',
    t.intersection([
      MessageIds,
      t.type({
        direction: t.keyof({ outbound: null, inbound: null }, 'outbound or inbound'),
        /** As it was; `unknown` where it had not begun. */
        state: t.string,
        segments: NaturalNumber,
        began_at: Instant,
      }),
      /**
       * `meaning`: of what the contact wrote. `history`: all its events, as far as they had been written when they were
       * read. Older versions left them out. `copies`: the ids by which a provider still has it; left out where there
       * are none. `sender`: from which the last attempt went out, where it is the account's own; older versions left it
       * out.
       */
      t.partial({
        meaning: ReplyMeaning,
        history: t.readonlyArray(ErasedEvent),
        copies: t.readonlyArray(t.string),
        sender: t.string,
      }),
    ]),
  ),
  /** The provider took an attempt that was in flight when the message was erased. */
  eventOf('MessageCopyFound', t.intersection([MessageIds, t.type({ provider_id: t.string })])),
  /** The provider has it no longer. */
  eventOf('MessageCopiesErased', MessageIds),
  /** The provider still has it: `until` the next attempt, null after the last one. */
  eventOf(
    'MessageCopiesKept',
    t.intersection([
      MessageIds,
      t.type({ attempt: NaturalNumber, until: t.union([Instant, t.null]), reason: t.string }),
    ]),
  ),
])
export type MessageEvent = t.TypeOf<typeof MessageEvent>
type ReceivedFacts = Extract<MessageEvent, { readonly type: 'MessageReceived' }>['data']

/** A requested message, and when it is due. */
type Requested = { readonly ids: MessageIds; readonly request: Request; readonly dueAt: Instant | undefined }

export type MessageState =
  /** `withdrawn`: before its first attempt. */
  | { readonly kind: 'unknown' | 'withdrawn' }
  | {
      readonly kind: 'erased'
      readonly ids: MessageIds
      /** By these ids a provider still has it. */
      readonly copies: ReadonlyArray<string>
      /** By these it had it. */
      readonly erasedCopies: ReadonlyArray<string>
      /** How often somebody tried to erase them. */
      readonly attempts: number
    }
  | ({ readonly kind: 'requested' } & Requested)
  /** `sending`: an attempt has begun, and nobody has recorded how it ended. `waiting`: for the next one. */
  | {
      readonly kind: 'sending' | 'waiting' | 'sent' | 'delivered' | 'failed'
      readonly facts: Sent
      /** Undefined for a step. */
      readonly request: Request | undefined
      /** The same on every attempt. */
      readonly text: string
      readonly segments: number
      readonly attempt: number
      /** When the last attempt was begun. */
      readonly begunAt: Instant
      /** From which sender the last attempt went out; undefined: the one that the accounts share. */
      readonly sender: string | undefined
      /** Of the next attempt, where it waits. */
      readonly dueAt: Instant | undefined
      /** Set where the step is over. */
      readonly after: AfterStep | undefined
      /** The provider's own id of the last attempt; undefined where it has told none. */
      readonly providerId: string | undefined
      readonly arrived: boolean
      /** Why it never will arrive, or nobody knows whether it did. */
      readonly failure: Failure | undefined
      /** The provider's ids of earlier attempts, which never will arrive. */
      readonly lost: ReadonlyArray<string>
      /** How often the phone was not reached. */
      readonly unreached: number
    }
  | { readonly kind: 'received'; readonly facts: Omit<ReceivedFacts, 'text'> }

type Failure = { readonly kind: FailureKind; readonly reason: string }

/**
 * What a provider tells of an attempt after, or before, its answer. Of the failures it tells `unreached` may pass, a
 * few times, and `failed`, such as of a message that was not valid for long enough, however often.
 */
export type MessageReport =
  | { readonly providerId: string; readonly kind: 'taken' }
  | { readonly providerId: string; readonly kind: 'delivered' }
  | {
      readonly providerId: string
      readonly kind: 'opted-out' | 'undeliverable' | 'refused' | 'unreached' | 'sender-blocked' | 'failed'
      readonly reason: string
    }

/** How an attempt ended, and what comes after the step where that ends it. */
type Ending =
  | { readonly kind: 'sent'; readonly providerId: string | null }
  | {
      readonly kind: FailureKind
      readonly reason: string
      /** Of an opt-out. */
      readonly reportId?: ActivityReportId | undefined
    }

export type MessageCommand =
  | { readonly type: 'RequestMessage'; readonly ids: MessageIds; readonly request: Request }
  | {
      readonly type: 'PostponeMessage'
      readonly until: Instant
      readonly reason: string
      /** Where it is not postponed until then any more, nothing is. */
      readonly insteadOf?: Instant | undefined
    }
  /** It is not tried again. */
  | { readonly type: 'WithdrawMessage'; readonly kind: 'withdrawn' | 'expired'; readonly reason: string }
  | {
      readonly type: 'BeginMessage'
      readonly facts: Sent
      readonly text: string
      readonly segments: number
      readonly links?: TrackedLinks
      readonly sender?: string
      readonly at: Instant
      /** Where it turns out that the provider has it. */
      readonly after?: AfterStep
    }
  | {
      readonly type: 'RecordFailedAttempt'
      readonly attempt: number
      readonly reason: string
      readonly nextAttemptAt: Instant
      readonly kind?: 'unreached' | 'sender-blocked'
      /** Where it turns out that the provider has it, or that the phone can't be reached. */
      readonly after?: AfterStep
    }
  /**
   * `retryAt`: when it may be tried again, that time where it waits for it; undefined where it is too late for that.
   */
  | {
      readonly type: 'ReportMessage'
      readonly report: MessageReport
      readonly retryAt: Instant | undefined
      /** Of an opt-out. */
      readonly reportId?: ActivityReportId | undefined
    }
  /** `after`: undefined for a requested message. */
  | { readonly type: 'EndMessage'; readonly attempt: number; readonly ending: Ending; readonly after?: AfterStep }
  | { readonly type: 'ReceiveMessage'; readonly facts: ReceivedFacts }
  /** Closes it even where it has not begun: whoever is about to begin it can't any more. */
  | {
      readonly type: 'EraseMessage'
      readonly of: MessageIds
      readonly beganAt: Instant
      readonly history: ReadonlyArray<ErasedMessageEvent>
    }
  | { readonly type: 'RecordErasedCopies' }
  | {
      readonly type: 'RecordKeptCopies'
      readonly attempt: number
      readonly until: Instant | undefined
      readonly reason: string
    }

const evolve = (state: MessageState, event: MessageEvent): MessageState => {
  switch (event.type) {
    case 'MessageRequested': {
      const { purpose, text, expires_at, ...ids } = event.data
      return { kind: 'requested', ids, request: { purpose, text, expires_at }, dueAt: undefined }
    }
    case 'MessageBegun': {
      const { text, segments, begun_at: begunAt, purpose: _purpose, links: _links, sender, ...facts } = event.data
      const request = 'request' in state ? state.request : undefined
      return {
        kind: 'sending',
        facts,
        request,
        text,
        segments,
        attempt: 1,
        begunAt,
        sender,
        dueAt: undefined,
        after: undefined,
        providerId: undefined,
        arrived: false,
        failure: undefined,
        lost: [],
        unreached: 0,
      }
    }
    case 'MessagePostponed':
      return state.kind === 'requested' || state.kind === 'waiting' ? { ...state, dueAt: event.data.until } : state
    case 'MessageReceived': {
      const { text: _text, ...facts } = event.data
      return { kind: 'received', facts }
    }
    case 'MessageErased': {
      const { message_id, account_id, contact_id, engagement_id, copies = [] } = event.data
      return {
        kind: 'erased',
        ids: { message_id, account_id, contact_id, engagement_id },
        copies,
        erasedCopies: [],
        attempts: 0,
      }
    }
    case 'MessageCopyFound':
      if (state.kind !== 'erased') return state
      return { ...state, copies: [...state.copies, event.data.provider_id], attempts: 0 }
    case 'MessageCopiesErased':
      return state.kind === 'erased'
        ? { ...state, copies: [], erasedCopies: [...state.erasedCopies, ...state.copies] }
        : state
    case 'MessageCopiesKept':
      return state.kind === 'erased' ? { ...state, attempts: event.data.attempt } : state
    default:
      return afterAttempt(state, event)
  }
}

const afterAttempt = (
  state: MessageState,
  event: Exclude<
    MessageEvent,
    {
      readonly type:
        | 'MessageRequested'
        | 'MessagePostponed'
        | 'MessageBegun'
        | 'MessageReceived'
        | 'MessageErased'
        | 'MessageCopyFound'
        | 'MessageCopiesErased'
        | 'MessageCopiesKept'
    }
  >,
): MessageState => {
  if (state.kind === 'requested' && event.type === 'MessageFailed') return { kind: 'withdrawn' }
  if (!isOutbound(state)) return state
  switch (event.type) {
    case 'MessageTriedAgain': {
      const { attempt, begun_at: begunAt, sender } = event.data
      return { ...state, kind: 'sending', attempt, begunAt, sender, dueAt: undefined }
    }
    case 'MessageAttemptFailed': {
      const { next_attempt_at: dueAt, provider_id, kind } = event.data
      const unreached = state.unreached + (kind === 'unreached' ? 1 : 0)
      const waiting = { ...state, kind: 'waiting', dueAt, after: undefined, failure: undefined, unreached } as const
      return provider_id === undefined
        ? waiting
        : { ...waiting, providerId: undefined, lost: [...state.lost, provider_id] }
    }
    case 'MessageSent': {
      const kind = state.arrived ? 'delivered' : 'sent'
      const providerId = event.data.provider_id ?? undefined
      return { ...state, kind, providerId, after: stepOver(event.data)?.after }
    }
    case 'MessageFailed': {
      const { kind, reason } = event.data
      const after = stepOver(event.data)?.after
      return { ...state, kind: state.arrived ? 'delivered' : 'failed', failure: { kind, reason }, after }
    }
    case 'MessageTaken': {
      const kind = isOver(state) ? 'sent' : state.kind
      return { ...state, kind, failure: undefined, providerId: event.data.provider_id }
    }
    case 'MessageDelivered': {
      const kind = isOver(state) ? 'delivered' : state.kind
      return { ...state, kind, failure: undefined, arrived: true, providerId: event.data.provider_id }
    }
    case 'MessageUndelivered': {
      const { provider_id: providerId, kind, reason } = event.data
      return { ...state, kind: isOver(state) ? 'failed' : state.kind, failure: { kind, reason }, providerId }
    }
    default:
      return unreachable(event)
  }
}

/** The step that a message ended, and what comes after it; undefined for a requested message. */
export const stepOver = ({
  step,
  next_step_at,
  gives_up_at,
}: {
  readonly step?: number | undefined
  readonly next_step_at?: Instant | null | undefined
  readonly gives_up_at?: Instant | undefined
}): { readonly step: number; readonly after: AfterStep } | undefined =>
  step === undefined || next_step_at === undefined || gives_up_at === undefined
    ? undefined
    : { step, after: { next_step_at, gives_up_at } }

export type OutboundMessage = Extract<MessageState, { readonly attempt: number }>

export const isOutbound = (state: MessageState): state is OutboundMessage => 'attempt' in state

/** No attempt is in flight, and none follows unless it is found to be lost. */
const isOver = ({ kind }: OutboundMessage): boolean => kind !== 'sending' && kind !== 'waiting'

const decide = (command: MessageCommand, state: MessageState): Either<never, ReadonlyArray<MessageEvent>> => {
  switch (command.type) {
    case 'BeginMessage':
      return E.right(begin(command, state))
    case 'RequestMessage':
      return E.right(
        state.kind === 'unknown' ? [{ type: 'MessageRequested', data: { ...command.ids, ...command.request } }] : [],
      )
    case 'PostponeMessage':
    case 'WithdrawMessage':
      return E.right(postponeOrWithdraw(command, state))
    case 'ReceiveMessage':
      return E.right(state.kind === 'unknown' ? [{ type: 'MessageReceived', data: command.facts }] : [])
    case 'EraseMessage':
      return E.right(erase(command, state))
    case 'RecordErasedCopies':
      if (state.kind !== 'erased' || state.copies.length === 0) return E.right([])
      return E.right([{ type: 'MessageCopiesErased', data: state.ids }])
    case 'RecordKeptCopies': {
      if (state.kind !== 'erased' || state.copies.length === 0) return E.right([])
      const { attempt, until = null, reason } = command
      if (attempt !== state.attempts + 1) return E.right([])
      return E.right([{ type: 'MessageCopiesKept', data: { ...state.ids, attempt, until, reason } }])
    }
    case 'RecordFailedAttempt': {
      if (!isOutbound(state)) return E.right([])
      const { attempt, reason, nextAttemptAt: next_attempt_at, kind } = command
      if (!isOfAttempt(state, attempt)) return E.right([])
      const reported = endingAsReported(state, command.after)
      if (reported !== undefined) return E.right([reported])
      if (kind === 'unreached' && state.unreached + 1 >= mostUnreached) {
        const failed = { ...state.facts, attempt, kind: 'undeliverable', reason, ...command.after } as const
        return E.right([{ type: 'MessageFailed', data: failed }])
      }
      const why = { reason, ...(kind === undefined ? {} : { kind }) }
      return E.right([{ type: 'MessageAttemptFailed', data: { ...state.facts, attempt, ...why, next_attempt_at } }])
    }
    case 'EndMessage': {
      const { attempt, ending, after } = command
      if (ending.kind === 'sent' && state.kind === 'erased') return E.right(recordFoundCopy(state, ending.providerId))
      if (!isOutbound(state)) return E.right([])
      if (!isOfAttempt(state, attempt)) return E.right([])
      const reported = endingAsReported(state, after)
      if (reported !== undefined) return E.right([reported])
      const ended = { ...state.facts, attempt, ...after }
      if (ending.kind === 'sent')
        return E.right([{ type: 'MessageSent', data: { ...ended, provider_id: ending.providerId } }])
      const { kind, reason, reportId: report_id } = ending
      const report = report_id === undefined ? {} : { report_id }
      return E.right([{ type: 'MessageFailed', data: { ...ended, kind, reason, ...report } }])
    }
    case 'ReportMessage':
      if (state.kind === 'erased') return E.right(recordFoundCopy(state, command.report.providerId))
      return E.right(isOutbound(state) ? recordReport(command, state) : [])
    default:
      return unreachable(command)
  }
}

/** A step is over as the provider has reported, whatever its answer was. Undefined where it has not. */
const endingAsReported = (
  { facts, attempt, failure, providerId: provider_id }: OutboundMessage,
  after: AfterStep | undefined,
): MessageEvent | undefined => {
  if (failure !== undefined) return { type: 'MessageFailed', data: { ...facts, attempt, ...failure, ...after } }
  if (provider_id === undefined) return undefined
  return { type: 'MessageSent', data: { ...facts, attempt, provider_id, ...after } }
}

/** A phone that was not reached so often is not tried any more. */
const mostUnreached = 3

/** Reports come twice and in any order: what has arrived, or is lost, stays so. */
const recordReport = (
  { report, retryAt, reportId: report_id }: Extract<MessageCommand, { readonly type: 'ReportMessage' }>,
  state: OutboundMessage,
): ReadonlyArray<MessageEvent> => {
  const { facts, attempt, failure, lost, providerId, unreached } = state
  const provider_id = report.providerId
  if (state.arrived || lost.includes(provider_id) || (failure !== undefined && failure.kind !== 'unknown')) return []
  if (report.kind === 'delivered') return [{ type: 'MessageDelivered', data: { ...facts, provider_id } }]
  if (report.kind === 'taken')
    return providerId === undefined ? [{ type: 'MessageTaken', data: { ...facts, provider_id } }] : []
  // Another attempt was taken since.
  if (providerId !== undefined && providerId !== provider_id) return []
  const { reason } = report
  const undelivered = (kind: FailureKind): ReadonlyArray<MessageEvent> => [
    {
      type: 'MessageUndelivered',
      data: { ...facts, provider_id, kind, reason, ...(report_id === undefined ? {} : { report_id }) },
    },
  ]
  const { kind } = report
  if (kind !== 'unreached' && kind !== 'sender-blocked' && kind !== 'failed') return undelivered(kind)
  if (kind === 'unreached' && unreached + 1 >= mostUnreached) return undelivered('undeliverable')
  if (retryAt === undefined) return undelivered('expired')
  const why = kind === 'failed' ? {} : { kind }
  const again = { attempt, reason, next_attempt_at: retryAt, provider_id, ...why } as const
  return [{ type: 'MessageAttemptFailed', data: { ...facts, ...again } }]
}

/** Of one that waits, or was never begun: no attempt of it is in flight. */
const postponeOrWithdraw = (
  command: Extract<MessageCommand, { readonly type: 'PostponeMessage' | 'WithdrawMessage' }>,
  state: MessageState,
): ReadonlyArray<MessageEvent> => {
  if (state.kind !== 'requested' && state.kind !== 'waiting') return []
  const reported = state.kind === 'waiting' ? endingAsReported(state, undefined) : undefined
  if (reported !== undefined && command.type === 'WithdrawMessage') return [reported]
  const { reason } = command
  const ids = state.kind === 'requested' ? state.ids : state.facts
  const attempt = state.kind === 'requested' ? 0 : state.attempt
  if (command.type === 'WithdrawMessage')
    return [{ type: 'MessageFailed', data: { ...ids, attempt, kind: command.kind, reason } }]
  // A step is put off by its engagement.
  if (state.request === undefined) return []
  const { until, insteadOf } = command
  if (insteadOf !== undefined && insteadOf !== state.dueAt) return []
  return state.dueAt === until ? [] : [{ type: 'MessagePostponed', data: { ...ids, until, reason } }]
}

/** A second record of one attempt is a repeat. */
const isOfAttempt = (state: OutboundMessage, attempt: number): boolean =>
  state.kind === 'sending' && state.attempt === attempt

const begin = (
  {
    facts,
    text,
    segments,
    links,
    sender,
    at: begun_at,
    after,
  }: Extract<MessageCommand, { readonly type: 'BeginMessage' }>,
  state: MessageState,
): ReadonlyArray<MessageEvent> => {
  const from = sender === undefined ? {} : { sender }
  const begun = { text, segments, begun_at, ...(links === undefined ? {} : { links }), ...from }
  if (state.kind === 'unknown') return [{ type: 'MessageBegun', data: { ...facts, ...begun } }]
  // What was requested is no step.
  if (state.kind === 'requested')
    return [{ type: 'MessageBegun', data: { ...state.ids, ...begun, purpose: state.request.purpose } }]
  // One whose attempt nobody recorded is not at the provider, as whoever begins it anew has made sure.
  if (!isOutbound(state) || state.kind === 'sent' || state.kind === 'delivered' || state.kind === 'failed') return []
  const reported = endingAsReported(state, after)
  if (reported !== undefined) return [reported]
  return [{ type: 'MessageTriedAgain', data: { ...state.facts, attempt: state.attempt + 1, begun_at, ...from } }]
}

const erase = (
  { of, beganAt: began_at, history }: Extract<MessageCommand, { readonly type: 'EraseMessage' }>,
  state: MessageState,
): ReadonlyArray<MessageEvent> => {
  if (state.kind === 'erased') return []
  const copies = copiesOf(state)
  const kept = { ...of, state: state.kind, began_at, history, ...(copies.length === 0 ? {} : { copies }) }
  if (state.kind === 'received') {
    const { meaning } = state.facts
    return [{ type: 'MessageErased', data: { ...kept, direction: 'inbound', segments: 0, meaning } }]
  }
  const { segments, sender } = isOutbound(state) ? state : { segments: 0, sender: undefined }
  const from = sender === undefined ? {} : { sender }
  return [{ type: 'MessageErased', data: { ...kept, direction: 'outbound', segments, ...from } }]
}

/** One that was erased already may be reported once more. */
const recordFoundCopy = (
  { ids, copies, erasedCopies }: Extract<MessageState, { readonly kind: 'erased' }>,
  provider_id: string | null,
): ReadonlyArray<MessageEvent> =>
  provider_id === null || copies.includes(provider_id) || erasedCopies.includes(provider_id)
    ? []
    : [{ type: 'MessageCopyFound', data: { ...ids, provider_id } }]

/** The ids by which a provider has a message. */
const copiesOf = (state: MessageState): ReadonlyArray<string> => {
  const ids = isOutbound(state)
    ? [...state.lost, state.providerId]
    : state.kind === 'received'
      ? [state.facts.provider_id]
      : []
  return ids.filter((id) => id !== undefined)
}

export const message: Decider<MessageState, MessageCommand, MessageEvent, never> = {
  category: 'message',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
