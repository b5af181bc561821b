import { NaturalNumber, t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AfterStep } from './follow-up.js'
import { AccountId, ContactId, EngagementId, MessageId } from './ids.js'
import { Instant } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'
import { ReplyMeaning } from './reply-meaning.js'

export const MessageIds = t.type(
  { message_id: MessageId, account_id: AccountId, contact_id: ContactId, engagement_id: EngagementId },
  'the ids of a message',
)
export type MessageIds = t.TypeOf<typeof MessageIds>

/** Whom it concerns. `step` counts from 0; one that somebody asked for is no step. */
const Sent = t.intersection([MessageIds, t.partial({ step: NaturalNumber })], 'a message that is sent')
type Sent = t.TypeOf<typeof Sent>

/** Of a step that is over; of what is no step it is left out. */
const After = t.partial(AfterStep.props)

/** Why it is sent, where that is not a step: an opt-out is confirmed, HELP is answered, or a member writes by hand. */
const Purpose = t.keyof({ confirmation: null, help: null, member: null }, 'a purpose')
export type Purpose = t.TypeOf<typeof Purpose>

/**
 * Why a message was not, or may not have been, sent. `opted-out`: the provider knows that the number wants nothing; `undeliverable`: the
 * number can't be reached; `refused`: the provider won't take this message; `expired`: it is too late for it; `withdrawn`: what it waited for
 * has changed; `unknown`: it may have been sent.
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
  'a message that was asked for',
)
type Request = t.TypeOf<typeof Request>

/**
 * The story of one message. `MessageRequested` is asked for and is no step. `MessageBegun` and `MessageTriedAgain` are written before a try, the others after it. Their reasons are ours and
 * hold no word of a provider. What ends a step says what comes after it. `MessageErased` closes the stream.
 */
export const MessageEvent = t.union([
  eventOf('MessageRequested', t.intersection([MessageIds, Request])),
  eventOf('MessagePostponed', t.intersection([MessageIds, t.type({ until: Instant, reason: t.string })])),
  eventOf(
    'MessageBegun',
    t.intersection([
      Sent,
      t.type({ text: t.string, segments: NaturalNumber, begun_at: Instant }),
      t.partial({ purpose: Purpose }),
    ]),
  ),
  eventOf('MessageTriedAgain', t.intersection([Sent, t.type({ attempt: NaturalNumber, begun_at: Instant })])),
  eventOf(
    'MessageAttemptFailed',
    t.intersection([Sent, t.type({ attempt: NaturalNumber, reason: t.string, next_attempt_at: Instant })]),
  ),
  eventOf(
    'MessageSent',
    t.intersection([Sent, t.type({ attempt: NaturalNumber, provider_id: t.union([t.string, t.null]) }), After]),
  ),
  eventOf(
    'MessageFailed',
    t.intersection([Sent, t.type({ attempt: NaturalNumber, kind: FailureKind, reason: t.string }), After]),
  ),
  /**
   * What the contact wrote. `engagement_id`: whose message it answers; `paused_until` and `gives_up_at` follow from it. `answer`: what is sent at
   * once; left out where nothing is, or the provider does it.
   */
  eventOf(
    'MessageReceived',
    t.intersection([
      MessageIds,
      t.type({ text: t.string, meaning: ReplyMeaning, paused_until: Instant, gives_up_at: Instant }),
      t.partial({ answer: t.keyof({ confirmation: null, help: null }, 'confirmation or help') }),
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
      /** Of what the contact wrote. Older versions left it out. */
      t.partial({ meaning: ReplyMeaning }),
    ]),
  ),
])
export type MessageEvent = t.TypeOf<typeof MessageEvent>
type ReceivedFacts = Extract<MessageEvent, { readonly type: 'MessageReceived' }>['data']

/** What was asked for, and when it is due. */
type Requested = { readonly ids: MessageIds; readonly request: Request; readonly dueAt: Instant | undefined }

export type MessageState =
  /** `withdrawn`: before its first try. */
  | { readonly kind: 'unknown' | 'withdrawn' | 'erased' }
  | ({ readonly kind: 'requested' } & Requested)
  /** `sending`: a try has begun, and nobody has recorded how it ended. `waiting`: for the next one. */
  | {
      readonly kind: 'sending' | 'waiting' | 'sent' | 'failed'
      readonly facts: Sent
      /** Undefined for a step. */
      readonly request: Request | undefined
      /** The same on every try. */
      readonly text: string
      readonly segments: number
      readonly attempt: number
      /** When the last try was begun. */
      readonly begunAt: Instant
      /** Of the next try, where it waits. */
      readonly dueAt: Instant | undefined
      /** Set where the step is over. */
      readonly after: AfterStep | undefined
    }
  | { readonly kind: 'received'; readonly facts: Omit<ReceivedFacts, 'text'> }

/** How a try ended, and what comes after the step where that ends it. */
type Ending =
  | { readonly kind: 'sent'; readonly providerId: string | null }
  | { readonly kind: FailureKind; readonly reason: string }

export type MessageCommand =
  | { readonly type: 'RequestMessage'; readonly ids: MessageIds; readonly request: Request }
  | { readonly type: 'PostponeMessage'; readonly until: Instant; readonly reason: string }
  /** It is not tried again. */
  | { readonly type: 'WithdrawMessage'; readonly kind: 'withdrawn' | 'expired'; readonly reason: string }
  | {
      readonly type: 'BeginMessage'
      readonly facts: Sent
      readonly text: string
      readonly segments: number
      readonly at: Instant
    }
  | {
      readonly type: 'RecordFailedTry'
      readonly attempt: number
      readonly reason: string
      readonly nextAttemptAt: Instant
    }
  /** `after`: undefined where it is no step. */
  | { readonly type: 'EndMessage'; readonly attempt: number; readonly ending: Ending; readonly after?: AfterStep }
  | { readonly type: 'ReceiveMessage'; readonly facts: ReceivedFacts }
  /** Closes it even where it has not begun: whoever is about to begin it can't any more. */
  | { readonly type: 'EraseMessage'; readonly of: MessageIds; readonly beganAt: Instant }

const evolve = (state: MessageState, event: MessageEvent): MessageState => {
  switch (event.type) {
    case 'MessageRequested': {
      const { purpose, text, expires_at, ...ids } = event.data
      return { kind: 'requested', ids, request: { purpose, text, expires_at }, dueAt: undefined }
    }
    case 'MessageBegun': {
      const { text, segments, begun_at: begunAt, purpose: _purpose, ...facts } = event.data
      const request = 'request' in state ? state.request : undefined
      return {
        kind: 'sending',
        facts,
        request,
        text,
        segments,
        attempt: 1,
        begunAt,
        dueAt: undefined,
        after: undefined,
      }
    }
    case 'MessagePostponed':
      return state.kind === 'requested' || state.kind === 'waiting' ? { ...state, dueAt: event.data.until } : state
    case 'MessageReceived': {
      const { text: _text, ...facts } = event.data
      return { kind: 'received', facts }
    }
    case 'MessageErased':
      return { kind: 'erased' }
    default:
      return afterTry(state, event)
  }
}

const afterTry = (
  state: MessageState,
  event: Exclude<
    MessageEvent,
    { readonly type: 'MessageRequested' | 'MessagePostponed' | 'MessageBegun' | 'MessageReceived' | 'MessageErased' }
  >,
): MessageState => {
  if (state.kind === 'requested' && event.type === 'MessageFailed') return { kind: 'withdrawn' }
  if (!isOutbound(state)) return state
  switch (event.type) {
    case 'MessageTriedAgain':
      return { ...state, kind: 'sending', attempt: event.data.attempt, begunAt: event.data.begun_at, dueAt: undefined }
    case 'MessageAttemptFailed':
      return { ...state, kind: 'waiting', dueAt: event.data.next_attempt_at }
    case 'MessageSent':
    case 'MessageFailed': {
      const kind = event.type === 'MessageSent' ? 'sent' : 'failed'
      return { ...state, kind, after: stepOver(event.data)?.after }
    }
    default:
      return unreachable(event)
  }
}

/** The step that a message ended, and what comes after it; undefined where it is no step. */
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

type Outbound = Extract<MessageState, { readonly attempt: number }>

const isOutbound = (state: MessageState): state is Outbound => 'attempt' in state

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
      return E.right(putOff(command, state))
    case 'ReceiveMessage':
      return E.right(state.kind === 'unknown' ? [{ type: 'MessageReceived', data: command.facts }] : [])
    case 'EraseMessage':
      return E.right(erase(command, state))
    case 'RecordFailedTry': {
      if (!isOutbound(state)) return E.right([])
      const { attempt, reason, nextAttemptAt: next_attempt_at } = command
      if (!isOfTry(state, attempt)) return E.right([])
      return E.right([{ type: 'MessageAttemptFailed', data: { ...state.facts, attempt, reason, next_attempt_at } }])
    }
    case 'EndMessage': {
      if (!isOutbound(state)) return E.right([])
      const { attempt, ending, after } = command
      if (!isOfTry(state, attempt)) return E.right([])
      const ended = { ...state.facts, attempt, ...after }
      if (ending.kind === 'sent')
        return E.right([{ type: 'MessageSent', data: { ...ended, provider_id: ending.providerId } }])
      return E.right([{ type: 'MessageFailed', data: { ...ended, kind: ending.kind, reason: ending.reason } }])
    }
    default:
      return unreachable(command)
  }
}

/** Of one that waits, or was never begun: no try of it is under way. */
const putOff = (
  command: Extract<MessageCommand, { readonly type: 'PostponeMessage' | 'WithdrawMessage' }>,
  state: MessageState,
): ReadonlyArray<MessageEvent> => {
  if (state.kind !== 'requested' && state.kind !== 'waiting') return []
  const { reason } = command
  const ids = state.kind === 'requested' ? state.ids : state.facts
  const attempt = state.kind === 'requested' ? 0 : state.attempt
  if (command.type === 'WithdrawMessage')
    return [{ type: 'MessageFailed', data: { ...ids, attempt, kind: command.kind, reason } }]
  const { until } = command
  return state.dueAt === until ? [] : [{ type: 'MessagePostponed', data: { ...ids, until, reason } }]
}

/** A second record of one try is a repeat. */
const isOfTry = (state: Outbound, attempt: number): boolean => state.kind === 'sending' && state.attempt === attempt

const begin = (
  { facts, text, segments, at: begun_at }: Extract<MessageCommand, { readonly type: 'BeginMessage' }>,
  state: MessageState,
): ReadonlyArray<MessageEvent> => {
  const begun = { ...facts, text, segments, begun_at }
  if (state.kind === 'unknown') return [{ type: 'MessageBegun', data: begun }]
  if (state.kind === 'requested') return [{ type: 'MessageBegun', data: { ...begun, purpose: state.request.purpose } }]
  // One whose try nobody recorded is not at the provider, as whoever begins it anew has made sure.
  if (!isOutbound(state) || state.kind === 'sent' || state.kind === 'failed') return []
  return [{ type: 'MessageTriedAgain', data: { ...state.facts, attempt: state.attempt + 1, begun_at } }]
}

const erase = (
  { of, beganAt: began_at }: Extract<MessageCommand, { readonly type: 'EraseMessage' }>,
  state: MessageState,
): ReadonlyArray<MessageEvent> => {
  if (state.kind === 'erased') return []
  const kept = { ...of, state: state.kind, began_at }
  if (state.kind === 'received') {
    const { meaning } = state.facts
    return [{ type: 'MessageErased', data: { ...kept, direction: 'inbound', segments: 0, meaning } }]
  }
  const segments = isOutbound(state) ? state.segments : 0
  return [{ type: 'MessageErased', data: { ...kept, direction: 'outbound', segments } }]
}

export const message: Decider<MessageState, MessageCommand, MessageEvent, never> = {
  category: 'message',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
