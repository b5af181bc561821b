import { withinAccounts, type Places } from '../../../domain/round-robin.js'
import type { AccountId, ContactId } from '../../../domain/ids.js'
import type { Time } from '../../../domain/ports.js'
import type { FollowUpDocument } from '../../read-models/follow-ups.js'
import type { DueInShard } from './due-in-shard.js'
import { newestLeadFirst } from './late-steps.js'

/**
 * Late steps that are under way in a shard at most, since each takes its share of the processor from first messages,
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
type LateRoom = { readonly isPaced: boolean; readonly steps: number }

export const lateRoomIn = ({ late, latePaceUntil }: DueInShard, { now }: Pick<Time, 'now'>): LateRoom => {
  const isPaced = now() < latePaceUntil
  return { isPaced, steps: isPaced ? 0 : Math.min(latePlaces.most - late.size, latePace.atOnce) }
}

/**
 * `readAgainAt`: by the clock that never goes back, when the shard has to read what is due again though nothing wakes
 * it.
 */
type TakenLate = { readonly begun: ReadonlyArray<FollowUpDocument>; readonly readAgainAt: number | undefined }

/**
 * Steps that are under way or have found a place, by their accounts, how many may be, and the contacts that are written
 * to.
 */
type AllSteps = {
  readonly underWay: ReadonlyArray<AccountId>
  readonly places: Places
  readonly busy: ReadonlySet<ContactId>
}

/**
 * Takes of the late steps those for which there is a place, of the newest leads first. They are to be begun at once.
 */
export const takeLate = (
  shard: DueInShard,
  { now }: Pick<Time, 'now'>,
  { isPaced, steps: mostNow }: LateRoom,
  late: ReadonlyArray<FollowUpDocument>,
  { underWay, places, busy }: AllSteps,
): TakenLate => {
  const steps = late.filter(({ contact_id }) => !busy.has(contact_id))
  const room = Math.max(Math.min(mostNow, places.most - underWay.length), 0)
  const newestFirst = steps.toSorted(newestLeadFirst)
  const withLatePlace = withinAccounts(newestFirst, accountsOfLate(shard), latePlaces.mostOfAccount)
  const begun = withinAccounts(withLatePlace, underWay, places.mostOfAccount).slice(0, room)
  const { steps: known } = shard.lateAhead
  const ahead = known.filter((step) => !begun.includes(step))
  const noneHasRoom = room > 0 && begun.length === 0 && steps.length > 0
  shard.lateAhead =
    noneHasRoom && ahead.length === 0
      ? { steps, until: now() + rememberedFor }
      : { steps: ahead, until: shard.lateAhead.until }
  if (begun.length > 0) shard.latePaceUntil = now() + latePace.interval
  // Also where the pace has come to its end meanwhile: what is late was not taken.
  if (isPaced || begun.length > 0) {
    const areMoreLate = known.length > 0 || late.length > begun.length
    return { begun, readAgainAt: areMoreLate ? shard.latePaceUntil : undefined }
  }
  const isRemembered = room > 0 && shard.lateAhead.steps.length > 0
  return { begun, readAgainAt: isRemembered ? shard.lateAhead.until : undefined }
}

const accountsOfLate = ({ writingTo, late }: DueInShard): ReadonlyArray<AccountId> =>
  [...writingTo].filter(([id]) => late.has(id)).map(([, { account_id }]) => account_id)
