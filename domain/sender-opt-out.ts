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

type SenderOptOutState = {
  readonly optedOut: boolean
  /** That said something new last. */
  readonly texts: ReadonlyArray<string>
}

export type SenderOptOutCommand = {
  readonly type: 'OptOutOfSender' | 'OptInToSender'
  readonly optOutId: SenderOptOutId
  readonly textId: string
}

/** A provider repeats a text within minutes. */
const rememberedTexts = 20

const evolve = ({ texts }: SenderOptOutState, { type, data }: SenderOptOutEvent): SenderOptOutState => ({
  optedOut: type === 'OptedOutOfSender',
  texts: [...texts, data.text_id].slice(-rememberedTexts),
})

/** A text that comes again says nothing, whatever was said since. */
const decide = (
  { type, optOutId: opt_out_id, textId: text_id }: SenderOptOutCommand,
  { optedOut, texts }: SenderOptOutState,
): Either<never, ReadonlyArray<SenderOptOutEvent>> => {
  const optsOut = type === 'OptOutOfSender'
  if (optedOut === optsOut || texts.includes(text_id)) return E.right([])
  return E.right([{ type: optsOut ? 'OptedOutOfSender' : 'OptedInToSender', data: { opt_out_id, text_id } }])
}

export const senderOptOut: Decider<SenderOptOutState, SenderOptOutCommand, SenderOptOutEvent, never> = {
  category: 'sender_opt_out',
  initial: { optedOut: false, texts: [] },
  evolve,
  decide,
}
