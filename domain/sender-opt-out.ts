import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { SenderOptOutId } from './ids.js'
import { Instant, strictlyAfter } from './instant.js'
import { E, type Either } from './prelude.js'

/**
 * `text_id`: derived from the text that said so. `said_at`: its order at the sender, a time later than that of whatever
 * the number said there before, and the same under each name that the provider has for the sender: so whoever hears of
 * it in another order knows what was said last. Older versions left it out.
 */
const OptFacts = t.intersection(
  [t.type({ opt_out_id: SenderOptOutId, text_id: t.string }), t.partial({ said_at: Instant })],
  'what a text said',
)

/**
 * Whether a number wants messages from a sender, whichever account writes from it: also one that begins to later. All
 * that is kept of the number is the id, which is derived from it.
 */
export const SenderOptOutEvent = t.union([eventOf('OptedOutOfSender', OptFacts), eventOf('OptedInToSender', OptFacts)])
export type SenderOptOutEvent = t.TypeOf<typeof SenderOptOutEvent>

const SenderOptOutState = t.type({
  optedOut: t.boolean,
  /** The text that took an opt-out back, until the next one. */
  optedInBy: t.union([t.string, t.undefined]),
  /** That came last. */
  texts: t.readonlyArray(t.string),
  /** Of what was said last; undefined where nobody recorded it. */
  saidAt: t.union([Instant, t.undefined]),
})
type SenderOptOutState = t.TypeOf<typeof SenderOptOutState>

export type SenderOptOutCommand = {
  readonly type: 'OptOutOfSender' | 'OptInToSender'
  readonly optOutId: SenderOptOutId
  readonly textId: string
  readonly at: Instant
  /** As it was recorded under another name of the sender. */
  readonly saidAt?: Instant | undefined
}

/** A provider repeats a text within minutes. */
const rememberedTexts = 20

const evolve = (
  state: SenderOptOutState,
  { type, data: { text_id, said_at } }: SenderOptOutEvent,
): SenderOptOutState => {
  const optedOut = type === 'OptedOutOfSender'
  const texts = [...state.texts, text_id].slice(-rememberedTexts)
  if (said_at !== undefined && state.saidAt !== undefined && said_at < state.saidAt) return { ...state, texts }
  const takesBack = !optedOut && state.optedOut
  return {
    optedOut,
    optedInBy: optedOut ? undefined : takesBack ? text_id : state.optedInBy,
    texts,
    saidAt: said_at ?? state.saidAt,
  }
}

/**
 * A text that comes again says nothing, whatever was said since. So each is recorded once, also one that says what is
 * so already: else it would say something new after another that said the contrary.
 */
const decide = (
  { type, optOutId: opt_out_id, textId: text_id, at, saidAt }: SenderOptOutCommand,
  { texts, saidAt: before }: SenderOptOutState,
): Either<never, ReadonlyArray<SenderOptOutEvent>> => {
  if (texts.includes(text_id)) return E.right([])
  return E.right([
    {
      type: type === 'OptOutOfSender' ? 'OptedOutOfSender' : 'OptedInToSender',
      data: { opt_out_id, text_id, said_at: saidAt ?? strictlyAfter(before, at) },
    },
  ])
}

export const senderOptOut: Decider<SenderOptOutState, SenderOptOutCommand, SenderOptOutEvent, never> = {
  category: 'sender_opt_out',
  initial: { optedOut: false, optedInBy: undefined, texts: [], saidAt: undefined },
  evolve,
  snapshot: { version: 2, codec: SenderOptOutState },
  decide,
}
