import { NaturalNumber, t } from './codec.js'
import type { Decider } from './decider.js'
import { day, hour, minute } from './duration.js'
import { eventOf } from './event.js'
import { AccountId } from './ids.js'
import { later, millisecondsOf, Instant } from './instant.js'
import type { MessageReport } from './message.js'
import type { MessengerOutcome } from './messenger.js'
import { E, unreachable, type Either } from './prelude.js'

/** How the provider said it: in its answer to a message, or in a report after it. */
const SaidBy = t.keyof({ answer: null, report: null }, 'answer or report')
type SaidBy = t.TypeOf<typeof SaidBy>

/** What holds up the sending of an account: its sender, or that its month is used up. One stream an account. */
export const SendingHoldEvent = t.union([
  /**
   * The provider lets nothing of the sender through. At `until` one message is tried. Reasons are ours and hold no word
   * of a provider.
   */
  eventOf(
    'SenderHeld',
    t.type({ account_id: AccountId, since: Instant, until: Instant, reason: t.string, said_by: SaidBy }),
  ),
  eventOf('SenderReleased', t.type({ account_id: AccountId, at: Instant })),
  /** `month` in UTC, such as 2026-01. */
  eventOf('SegmentLimitReached', t.type({ account_id: AccountId, month: t.string, segments_per_month: NaturalNumber })),
])
export type SendingHoldEvent = t.TypeOf<typeof SendingHoldEvent>

type Hold = {
  readonly since: Instant
  /** When a message is tried again. */
  readonly until: Instant
  readonly reason: string
  readonly saidBy: SaidBy
}

export type SendingHoldState = {
  readonly held: Hold | undefined
  /** The last trouble that is over. */
  readonly released: { readonly since: Instant; readonly at: Instant } | undefined
  /** The last one that was reached. */
  readonly limit: { readonly month: string; readonly segmentsPerMonth: number } | undefined
}

export type SendingHoldCommand =
  | {
      readonly type: 'HoldSender'
      readonly accountId: AccountId
      readonly reason: string
      readonly saidBy: SaidBy
      readonly at: Instant
    }
  /** One message is tried, where it is time for it; the others wait on. */
  | { readonly type: 'ProbeSender'; readonly accountId: AccountId; readonly at: Instant }
  /** A message got through, or the operator has set another sender. */
  | {
      readonly type: 'ReleaseSender'
      readonly accountId: AccountId
      readonly saidBy: SaidBy | 'operator'
      readonly at: Instant
    }
  | {
      readonly type: 'ReachSegmentLimit'
      readonly accountId: AccountId
      readonly month: string
      readonly segmentsPerMonth: number
    }

type Tried = { readonly accountId: AccountId; readonly saidBy: SaidBy; readonly at: Instant }

/**
 * What the provider said of an attempt may tell of the sender too: that it is blocked, or that a message got through.
 * It counts where the account still sends from there (`sendsFrom` of the account).
 */
export const holdCommandFor = (
  said: MessageReport | MessengerOutcome,
  tried: Tried,
): SendingHoldCommand | undefined => {
  if (said.kind === 'sender-blocked') return { type: 'HoldSender', reason: said.reason, ...tried }
  return said.kind === 'accepted' || said.kind === 'delivered' ? { type: 'ReleaseSender', ...tried } : undefined
}

const evolve = (state: SendingHoldState, event: SendingHoldEvent): SendingHoldState => {
  switch (event.type) {
    case 'SenderHeld': {
      const { since, until, reason, said_by: saidBy } = event.data
      return { ...state, held: { since, until, reason, saidBy } }
    }
    case 'SenderReleased':
      if (state.held === undefined) return state
      return { ...state, held: undefined, released: { since: state.held.since, at: event.data.at } }
    case 'SegmentLimitReached': {
      const { month, segments_per_month: segmentsPerMonth } = event.data
      return { ...state, limit: { month, segmentsPerMonth } }
    }
    default:
      return unreachable(event)
  }
}

/** In milliseconds: trouble that comes again so soon is the same, of which nobody is told twice. */
const sameTrouble = day

/** As long again as the trouble has lasted, a quarter of an hour at least and an hour at most. */
const nextProbeAt = (since: Instant, at: Instant): Instant => {
  const lasted = millisecondsOf(at) - millisecondsOf(since)
  return later(at, Math.min(Math.max(lasted, 15 * minute), hour))
}

const decide = (
  command: SendingHoldCommand,
  state: SendingHoldState,
): Either<never, ReadonlyArray<SendingHoldEvent>> => {
  const { accountId: account_id } = command
  const { held } = state
  switch (command.type) {
    case 'HoldSender': {
      if (held !== undefined) return E.right([])
      const { reason, saidBy: said_by, at } = command
      const isSame = state.released !== undefined && at < later(state.released.at, sameTrouble)
      const since = isSame ? state.released.since : at
      return E.right([
        { type: 'SenderHeld', data: { account_id, since, until: nextProbeAt(since, at), reason, said_by } },
      ])
    }
    case 'ProbeSender': {
      if (held === undefined || held.until > command.at) return E.right([])
      const { since, reason, saidBy: said_by } = held
      const until = nextProbeAt(since, command.at)
      return E.right([{ type: 'SenderHeld', data: { account_id, since, until, reason, said_by } }])
    }
    case 'ReleaseSender': {
      // A provider that takes a message may still report that it was blocked.
      const isAnswered = command.saidBy === 'answer' && held?.saidBy === 'report'
      if (held === undefined || isAnswered) return E.right([])
      return E.right([{ type: 'SenderReleased', data: { account_id, at: command.at } }])
    }
    case 'ReachSegmentLimit': {
      const { month, segmentsPerMonth } = command
      if (state.limit?.month === month && state.limit.segmentsPerMonth === segmentsPerMonth) return E.right([])
      return E.right([
        { type: 'SegmentLimitReached', data: { account_id, month, segments_per_month: segmentsPerMonth } },
      ])
    }
    default:
      return unreachable(command)
  }
}

export const sendingHold: Decider<SendingHoldState, SendingHoldCommand, SendingHoldEvent, never> = {
  // Streams are stored under it, so it stays as it is.
  category: 'sender',
  initial: { held: undefined, released: undefined, limit: undefined },
  evolve,
  decide,
}
