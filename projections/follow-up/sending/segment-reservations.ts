import type { AccountId, EngagementId } from '../../../domain/ids.js'
import type { MonotonicClock } from '../../../domain/ports.js'

/**
 * Segments of steps that are in flight and that the read model does not count yet: without them as many messages as are
 * in flight at a time would all be the last one that a month has room for. In the memory of this process: what others
 * have in flight counts once it is shown.
 */
export type SegmentReservations = {
  /**
   * Decides on a step, by a pure function, knowing the segments that its account may still send, and reserves those
   * that it takes. `count` reads how many the month has; since that takes longer the more it has sent, it is asked once
   * a second at most, until few are left.
   */
  readonly decide: <A>(
    step: LimitedStep,
    count: () => Promise<number>,
    decide: (left: number) => Decided<A>,
  ) => Promise<A>
  /** Whether the month has any room, were nothing sent of what is in flight. `count` is asked as by `decide`. */
  readonly hasRoom: (month: LimitedMonth, count: () => Promise<number>) => Promise<boolean>
  /** The read model counts it, or it was not sent. */
  readonly release: (step: EngagementId) => void
}

type LimitedMonth = { readonly accountId: AccountId; readonly month: string; readonly segmentsPerMonth: number }
type LimitedStep = LimitedMonth & { readonly id: EngagementId }
type Decided<A> = { readonly result: A; readonly segments: number }
/** `isReleased`: a count that began after that has it, or it was not sent. */
type Reservation = { readonly account: AccountId; readonly segments: number; isReleased: boolean }
type Count = { readonly month: string; readonly begunAt: number; readonly serial: number; readonly used: number }

/** In milliseconds. */
const countedFor = 1_000

/** Segments: more than a message has. */
const plenty = 100

export const segmentReservations = ({ now }: Pick<MonotonicClock, 'now'>): SegmentReservations => {
  const reserved = new Set<Reservation>()
  const ofSteps = new Map<EngagementId, Reservation>()
  const counts = new Map<AccountId, Count>()
  const counting = new Map<AccountId, Promise<void>>()
  let serial = 0

  const of = (id: AccountId): ReadonlyArray<Reservation> => [...reserved].filter(({ account }) => account === id)

  const countAnew = async ({ accountId, month }: LimitedMonth, count: () => Promise<number>): Promise<void> => {
    const begun = { month, begunAt: now(), serial: (serial += 1) }
    const counted = of(accountId).filter(({ isReleased }) => isReleased)
    const used = await count()
    // One that began later, and ended before, knows more.
    if ((counts.get(accountId)?.serial ?? 0) > begun.serial) return
    for (const one of counted) reserved.delete(one)
    counts.set(accountId, { ...begun, used })
  }

  const countUnlessKnown = (limited: LimitedMonth, count: () => Promise<number>): Promise<void> | undefined => {
    const { accountId, month } = limited
    const known = counts.get(accountId)
    if (known?.month === month && now() - known.begunAt < countedFor) return undefined
    const inFlight = counting.get(accountId)
    if (inFlight !== undefined) return inFlight
    const begun = countAnew(limited, count).finally(() => counting.delete(accountId))
    counting.set(accountId, begun)
    return begun
  }

  const release: SegmentReservations['release'] = (step) => {
    const reservation = ofSteps.get(step)
    if (reservation !== undefined) reservation.isReleased = true
    ofSteps.delete(step)
  }

  return {
    decide: async (step, count, decide) => {
      const { id, accountId: account, segmentsPerMonth } = step
      for (let isCountedAnew = false; ; isCountedAnew = true) {
        await (isCountedAnew ? countAnew(step, count) : countUnlessKnown(step, count))
        const all = of(account)
        const most = segmentsPerMonth - (counts.get(account)?.used ?? 0)
        const atBest = decide(most)
        // What is used only grows: without room for it now there is none however it is counted. Another month may have
        // been.
        if (atBest.segments === 0 && counts.get(account)?.month === step.month) return atBest.result
        const left = most - all.reduce((sum, one) => sum + one.segments, 0)
        // A reservation released during the count may be counted twice. That is harmless while plenty is left.
        const isSure = left > plenty || (isCountedAnew && all.every(({ isReleased }) => !isReleased))
        if (!isSure) continue
        // Nothing may be awaited between the two: another step would be decided on the same segments.
        const { result, segments } = decide(left)
        if (segments > 0) {
          release(id)
          const reservation = { account, segments, isReleased: false }
          reserved.add(reservation)
          ofSteps.set(id, reservation)
        }
        return result
      }
    },
    hasRoom: async (limited, count) => {
      await countUnlessKnown(limited, count)
      // Another month may have been counted.
      while (counts.get(limited.accountId)?.month !== limited.month) await countAnew(limited, count)
      return (counts.get(limited.accountId)?.used ?? 0) < limited.segmentsPerMonth
    },
    release,
  }
}
