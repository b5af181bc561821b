import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { SenderOptOutId } from './ids.js'
import { E, type Either } from './prelude.js'

/** `text_id`: derived from the text that said so. */
const Said = t.type({ opt_out_id: SenderOptOutId, text_id: t.string }, 'what a text said')

/**
 * Whether a number wants messages from a sender, whichever account writes from it: also one that begins to later. All that is kept of the
 * number is the id, which is derived from it.
 */
export const SenderOptOutEvent = t.union([eventOf('OptedOutOfSender', Said), eventOf('OptedInToSender', Said)])
export type SenderOptOutEvent = t.TypeOf<typeof SenderOptOutEvent>

const SenderOptOutState = t.type({
  optedOut: t.boolean,
  /** The text that took an opt-out back, until the next one. */
  optedInBy: t.union([t.string, t.undefined]),
  /** That came last. */
  texts: t.readonlyArray(t.string),
})
type SenderOptOutState = t.TypeOf<typeof SenderOptOutState>

export type SenderOptOutCommand = {
  readonly type: 'OptOutOfSender' | 'OptInToSender'
  readonly optOutId: SenderOptOutId
  readonly textId: string
}

/** A provider repeats a text within minutes. */
const rememberedTexts = 20

const evolve = (state: SenderOptOutState, { type, data: { text_id } }: SenderOptOutEvent): SenderOptOutState => {
  const optedOut = type === 'OptedOutOfSender'
  const takesBack = !optedOut && state.optedOut
  return {
    optedOut,
    optedInBy: optedOut ? undefined : takesBack ? text_id : state.optedInBy,
    texts: [...state.texts, text_id].slice(-rememberedTexts),
  }
}

/**
 * A text that comes again says nothing, whatever was said since. So each is recorded once, also one that says what is so already: else it
 * would say something new after another that said the contrary.
 */
const decide = (
  { type, optOutId: opt_out_id, textId: text_id }: SenderOptOutCommand,
  { texts }: SenderOptOutState,
): Either<never, ReadonlyArray<SenderOptOutEvent>> => {
  if (texts.includes(text_id)) return E.right([])
  return E.right([
    { type: type === 'OptOutOfSender' ? 'OptedOutOfSender' : 'OptedInToSender', data: { opt_out_id, text_id } },
  ])
}

export const senderOptOut: Decider<SenderOptOutState, SenderOptOutCommand, SenderOptOutEvent, never> = {
  category: 'sender_opt_out',
  initial: { optedOut: false, optedInBy: undefined, texts: [] },
  evolve,
  snapshot: { version: 1, codec: SenderOptOutState },
  decide,
}
