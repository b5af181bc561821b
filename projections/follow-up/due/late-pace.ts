import { withinAccounts, type Places } from '../../../domain/round-robin.js'
import type { AccountId, ContactId } from '../../../domain/ids.js'
import type { FollowUpDocument } from '../../read-models/follow-ups.js'
import type { DueInShard } from './due-in-shard.js'
import { newestLeadFirst } from './late-steps.js'

/**
 * Late steps that are in flight in a shard at most, since each takes its share of the processor from first messages,
 * and of one account: those that hang leave a place for others.
 */
const latePlaces = { most: 5, mostOfAccount: 4 }

/**
 * What is late goes out at a pace that providers and carriers bear: so many at once, and the next so many milliseconds
 * later.
 */
const latePace = { atOnce: 4, interval: 125 }

/**
 * In milliseconds: late steps of which none finds a place are not read again for so long. Then those of other accounts
 * are looked for.
 */
const rememberedFor = 1_000

/** How many late steps may be begun now: none before the pace allows it. */
export type LateRoom = { readonly isPaced: boolean; readonly steps: number }

/** `now`: by the monotonic clock, here and below. */
export const lateRoomIn = ({ late, latePaceUntil }: DueInShard, now: number): LateRoom => {
  const isPaced = now < latePaceUntil
  return { isPaced, steps: isPaced ? 0 : Math.min(latePlaces.most - late.size, latePace.atOnce) }
}

/**
 * `steps`: to be begun at once. `ahead` and `paceUntil`: what the shard is to remember then as `lateAhead` and
 * `latePaceUntil`. `readAgainAt`: when it has to read what is due again though nothing wakes it.
 */
export type ChosenLate = {
  readonly steps: ReadonlyArray<FollowUpDocument>
  readonly ahead: DueInShard['lateAhead']
  readonly paceUntil: number
  readonly readAgainAt: number | undefined
}

/**
 * Steps that are in flight or have found a place, by their accounts, how many may be, and the contacts that are written
 * to.
 */
type AllSteps = {
  readonly inFlight: ReadonlyArray<AccountId>
  readonly places: Places
  readonly busy: ReadonlySet<ContactId>
}

/** Of the late steps those for which there is a place, of the newest leads first. */
export const chooseLate = (
  shard: DueInShard,
  now: number,
  { isPaced, steps: mostNow }: LateRoom,
  late: ReadonlyArray<FollowUpDocument>,
  { inFlight, places, busy }: AllSteps,
): ChosenLate => {
  const free = late.filter(({ contact_id }) => !busy.has(contact_id))
  const room = Math.max(Math.min(mostNow, places.most - inFlight.length), 0)
  const newestFirst = free.toSorted(newestLeadFirst)
  const withLatePlace = withinAccounts(newestFirst, accountsOfLate(shard), latePlaces.mostOfAccount)
  const steps = withinAccounts(withLatePlace, inFlight, places.mostOfAccount).slice(0, room)
  const { steps: known, until } = shard.lateAhead
  const others = known.filter((step) => !steps.includes(step))
  const noneHasRoom = room > 0 && steps.length === 0 && free.length > 0
  const ahead =
    noneHasRoom && others.length === 0 ? { steps: free, until: now + rememberedFor } : { steps: others, until }
  const paceUntil = steps.length > 0 ? now + latePace.interval : shard.latePaceUntil
  // Also where the pace has come to its end meanwhile: what is late was not taken.
  if (isPaced || steps.length > 0) {
    const areMoreLate = known.length > 0 || late.length > steps.length
    return { steps, ahead, paceUntil, readAgainAt: areMoreLate ? paceUntil : undefined }
  }
  const isRemembered = room > 0 && ahead.steps.length > 0
  return { steps, ahead, paceUntil, readAgainAt: isRemembered ? ahead.until : undefined }
}

const accountsOfLate = ({ writingTo, late }: DueInShard): ReadonlyArray<AccountId> =>
  [...writingTo].filter(([id]) => late.has(id)).map(([, { account_id }]) => account_id)
