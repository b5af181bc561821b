import { NaturalNumber, t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AfterStep } from './follow-up.js'
import { AccountId, ContactId, EngagementId, MessageId } from './ids.js'
import { Instant } from './instant.js'
import { E, unreachable, type Either } from './prelude.js'
import { ReplyMeaning } from './reply-meaning.js'

const Ids = t.type(
  { message_id: MessageId, account_id: AccountId, contact_id: ContactId, engagement_id: EngagementId },
  'the ids of a message',
)
export type MessageIds = t.TypeOf<typeof Ids>

/** Whom it concerns. `step` counts from 0. */
const Sent = t.intersection([Ids, t.type({ step: NaturalNumber })], 'a message that is sent')
type Sent = t.TypeOf<typeof Sent>

/**
 * Why a message was not, or may not have been, sent. `opted-out`: the provider knows that the number wants nothing; `undeliverable`: the
 * number can't be reached; `refused`: the provider won't take this message; `expired`: it was tried for a day; `unknown`: it may have been sent.
 */
const FailureKind = t.keyof(
  { 'opted-out': null, undeliverable: null, refused: null, expired: null, unknown: null },
  'a kind of failure',
)
export type FailureKind = t.TypeOf<typeof FailureKind>

/**
 * The story of one message. `MessageBegun` and `MessageTriedAgain` are written before a try, the others after it. Their reasons are ours and
 * hold no word of a provider. What ends a step says what comes after it. `MessageErased` closes the stream.
 */
export const MessageEvent = t.union([
  eventOf(
    'MessageBegun',
    t.intersection([Sent, t.type({ text: t.string, segments: NaturalNumber, begun_at: Instant })]),
  ),
  eventOf('MessageTriedAgain', t.intersection([Sent, t.type({ attempt: NaturalNumber, begun_at: Instant })])),
  eventOf(
    'MessageAttemptFailed',
    t.intersection([Sent, t.type({ attempt: NaturalNumber, reason: t.string, next_attempt_at: Instant })]),
  ),
  eventOf(
    'MessageSent',
    t.intersection([Sent, t.type({ attempt: NaturalNumber, provider_id: t.union([t.string, t.null]) }), AfterStep]),
  ),
  eventOf(
    'MessageFailed',
    t.intersection([Sent, t.type({ attempt: NaturalNumber, kind: FailureKind, reason: t.string }), AfterStep]),
  ),
  /** What the contact wrote. `engagement_id`: whose message it answers; `paused_until` and `gives_up_at` follow from it. */
  eventOf(
    'MessageReceived',
    t.intersection([
      Ids,
      t.type({ text: t.string, meaning: ReplyMeaning, paused_until: Instant, gives_up_at: Instant }),
    ]),
  ),
  eventOf(
    'MessageErased',
    t.intersection([
      Ids,
      t.type({
        direction: t.keyof({ outbound: null, inbound: null }, 'outbound or inbound'),
        /** As it was; `unknown` where it had not begun. */
        state: t.string,
        segments: NaturalNumber,
        began_at: Instant,
      }),
    ]),
  ),
])
export type MessageEvent = t.TypeOf<typeof MessageEvent>
type ReceivedFacts = Extract<MessageEvent, { readonly type: 'MessageReceived' }>['data']

export type MessageState =
  | { readonly kind: 'unknown' | 'erased' }
  /** `sending`: a try has begun, and nobody has recorded how it ended. `waiting`: for the next one. */
  | {
      readonly kind: 'sending' | 'waiting' | 'sent' | 'failed'
      readonly facts: Sent
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
  | { readonly type: 'EndMessage'; readonly attempt: number; readonly ending: Ending; readonly after: AfterStep }
  | { readonly type: 'ReceiveMessage'; readonly facts: ReceivedFacts }
  /** Closes it even where it has not begun: whoever is about to begin it can't any more. */
  | { readonly type: 'EraseMessage'; readonly of: MessageIds; readonly beganAt: Instant }

const evolve = (state: MessageState, event: MessageEvent): MessageState => {
  switch (event.type) {
    case 'MessageBegun': {
      const { text, segments, begun_at: begunAt, ...facts } = event.data
      return { kind: 'sending', facts, text, segments, attempt: 1, begunAt, dueAt: undefined, after: undefined }
    }
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
  event: Exclude<MessageEvent, { readonly type: 'MessageBegun' | 'MessageReceived' | 'MessageErased' }>,
): MessageState => {
  if (!isOutbound(state)) return state
  switch (event.type) {
    case 'MessageTriedAgain':
      return { ...state, kind: 'sending', attempt: event.data.attempt, begunAt: event.data.begun_at, dueAt: undefined }
    case 'MessageAttemptFailed':
      return { ...state, kind: 'waiting', dueAt: event.data.next_attempt_at }
    case 'MessageSent':
    case 'MessageFailed': {
      const { next_step_at, gives_up_at } = event.data
      return { ...state, kind: event.type === 'MessageSent' ? 'sent' : 'failed', after: { next_step_at, gives_up_at } }
    }
    default:
      return unreachable(event)
  }
}

type Outbound = Extract<MessageState, { readonly attempt: number }>

const isOutbound = (state: MessageState): state is Outbound => 'attempt' in state

const decide = (command: MessageCommand, state: MessageState): Either<never, ReadonlyArray<MessageEvent>> => {
  switch (command.type) {
    case 'BeginMessage':
      return E.right(begin(command, state))
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

/** A second record of one try is a repeat. */
const isOfTry = (state: Outbound, attempt: number): boolean => state.kind === 'sending' && state.attempt === attempt

const begin = (
  { facts, text, segments, at: begun_at }: Extract<MessageCommand, { readonly type: 'BeginMessage' }>,
  state: MessageState,
): ReadonlyArray<MessageEvent> => {
  if (state.kind === 'unknown') return [{ type: 'MessageBegun', data: { ...facts, text, segments, begun_at } }]
  // One whose try nobody recorded is not at the provider, as whoever begins it anew has made sure.
  if (!isOutbound(state) || state.kind === 'sent' || state.kind === 'failed') return []
  return [{ type: 'MessageTriedAgain', data: { ...state.facts, attempt: state.attempt + 1, begun_at } }]
}

const erase = (
  { of, beganAt: began_at }: Extract<MessageCommand, { readonly type: 'EraseMessage' }>,
  state: MessageState,
): ReadonlyArray<MessageEvent> => {
  if (state.kind === 'erased') return []
  const kept = isOutbound(state)
    ? ({ direction: 'outbound', segments: state.segments } as const)
    : ({ direction: state.kind === 'received' ? 'inbound' : 'outbound', segments: 0 } as const)
  return [{ type: 'MessageErased', data: { ...of, ...kept, state: state.kind, began_at } }]
}

export const message: Decider<MessageState, MessageCommand, MessageEvent, never> = {
  category: 'message',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
