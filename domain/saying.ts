import { t } from './codec.js'
import { Instant, latest } from './instant.js'

/** What tells an opt-out, or an opt-in, from another: the event of the text or the report that says so, and when that came. */
export const Saying = t.type({ event_id: t.string, at: Instant }, 'where it was said')
export type Saying = t.TypeOf<typeof Saying>

/** `said`: the events in which a contact opted out, or in, the newest last. `optedOutAt`: when it said so last that it opts out. */
export const Sayings = t.partial({ said: t.readonlyArray(t.string), optedOutAt: Instant })
type Sayings = t.TypeOf<typeof Sayings>

/** As many are remembered: what a crash left undone is carried out again within seconds. */
const remembered = 20

export const wasSaid = ({ said = [] }: Sayings, { event_id }: Saying): boolean => said.includes(event_id)

/** Undefined: it was said to somebody else, or by an older version, which tells nothing of it. */
export const afterOptOut = (sayings: Sayings, saying: Saying | undefined): Sayings =>
  saying === undefined ? {} : { ...afterOptIn(sayings, saying), optedOutAt: latest(saying.at, sayings.optedOutAt) }

export const afterOptIn = ({ said = [] }: Sayings, saying: Saying | undefined): Sayings =>
  saying === undefined ? {} : { said: [...said, saying.event_id].slice(-remembered) }

/** Whichever process hears it last. */
export const wasSaidBeforeOptOut = ({ optedOutAt }: Sayings, { at }: Saying): boolean =>
  optedOutAt !== undefined && at < optedOutAt
