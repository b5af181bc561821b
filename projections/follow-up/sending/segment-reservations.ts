import type { AccountId, EngagementId } from '../../../domain/ids.js'

/**
 * Segments of steps that are under way and that the read model does not count yet: without them as many messages as are under way at a time
 * would all be the last one that a month has room for. In the memory of this process: what others have under way counts once it is shown.
 */
export type SegmentReservations = {
  /**
   * Decides on a step, knowing the segments that its account may still send, and reserves those that it takes. `used` reads how many the
   * month counts.
   */
  readonly decide: <A>(
    step: LimitedStep,
    used: () => Promise<number>,
    decide: (left: number) => Decided<A>,
  ) => Promise<A>
  /** The read model counts it, or it was not sent. */
  readonly release: (step: EngagementId) => void
}

type LimitedStep = { readonly id: EngagementId; readonly accountId: AccountId; readonly segmentsPerMonth: number }
type Decided<A> = { readonly result: A; readonly segments: number }
type Reservation = { readonly account: AccountId; readonly segments: number }

export const segmentReservations = (): SegmentReservations => {
  const reserved = new Map<EngagementId, Reservation>()
  let releases = 0
  const underWay = (id: AccountId): number =>
    [...reserved.values()].reduce((sum, { account, segments }) => (account === id ? sum + segments : sum), 0)
  return {
    decide: async ({ id, accountId, segmentsPerMonth }, used, decide) => {
      for (;;) {
        const [before, releasesBefore] = [underWay(accountId), releases]
        const left = segmentsPerMonth - (await used()) - underWay(accountId)
        // Whether what was released meanwhile is counted nobody can tell. Where there is room for it twice it does not matter.
        if (releases !== releasesBefore && left <= before + plenty) continue
        // Nothing may be awaited between the two: another step would be decided on the same segments.
        const { result, segments } = decide(left)
        if (segments > 0) reserved.set(id, { account: accountId, segments })
        return result
      }
    },
    release: (step) => {
      if (reserved.delete(step)) releases += 1
    },
  }
}

/** Segments: more than a message has. */
const plenty = 100
