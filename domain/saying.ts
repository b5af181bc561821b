import { t } from './codec.js'
import { optOutIdOf } from './derived-id.js'
import type { ActivityReportId, ContactId } from './ids.js'
import { Instant, latest } from './instant.js'

/**
 * What tells an opt-out, or an opt-in, from another: the event of the text or the report that says so, and when that
 * came. `to_sender`: it was said to the sender, and `at` is its order at the sender.
 */
export const Saying = t.intersection(
  [t.type({ event_id: t.string, at: Instant }), t.partial({ to_sender: t.literal(true) })],
  'where it was said',
)
export type Saying = t.TypeOf<typeof Saying>

/**
 * `said`: the `event_id` of each saying of a contact, the newest last. `optedOutAt`: when it said last that it opts
 * out; `optedInAt`: when it said last to its sender that it opts in.
 */
export const Sayings = t.partial({ said: t.readonlyArray(t.string), optedOutAt: Instant, optedInAt: Instant })
type Sayings = t.TypeOf<typeof Sayings>

/** As many are remembered: what a crash left undone is carried out again within seconds. */
const remembered = 20

export const wasSaid = ({ said: ids = [] }: Sayings, { event_id }: Saying): boolean => ids.includes(event_id)

/** Undefined: it was said to somebody else, or by an older version, which tells nothing of it. */
export const afterOptOut = (sayings: Sayings, saying: Saying | undefined): Sayings =>
  saying === undefined ? {} : { said: idsWith(sayings, saying), optedOutAt: latest(saying.at, sayings.optedOutAt) }

export const afterOptIn = (sayings: Sayings, saying: Saying | undefined): Sayings => {
  if (saying === undefined) return {}
  const said = idsWith(sayings, saying)
  return saying.to_sender === true ? { said, optedInAt: latest(saying.at, sayings.optedInAt) } : { said }
}

const idsWith = ({ said: ids = [] }: Sayings, { event_id }: Saying): ReadonlyArray<string> =>
  [...ids, event_id].slice(-remembered)

/** By time, since two processes may record the texts in either order. */
export const wasSaidBeforeOptOut = ({ optedOutAt }: Sayings, { at }: Saying): boolean =>
  optedOutAt !== undefined && at < optedOutAt

/** By time, too. Only what is said to the sender is in a known order, so only that can be too old. */
export const wasSaidBeforeOptIn = (sayings: Sayings, { at, to_sender }: Saying): boolean =>
  to_sender === true && isBeforeOptIn(sayings, at)

const isBeforeOptIn = ({ optedInAt }: Sayings, at: Instant): boolean => optedInAt !== undefined && at < optedInAt

/** What an opt-out stands for that the contact has yet to hear of. */
export const optOutReportOf = (contact: ContactId, { said: ids = [] }: Sayings): ActivityReportId =>
  optOutIdOf(contact, ids.at(-1))

/** As a provider tells it of a text that was begun at `begunAt`: undefined where the contact has opted in since. */
export const optOutReportOfText = (contact: ContactId, sayings: Sayings, begunAt: Instant) =>
  isBeforeOptIn(sayings, begunAt) ? undefined : optOutReportOf(contact, sayings)
