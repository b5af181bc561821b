import { roundRobin, type Places } from '../../../domain/round-robin.js'
import type { AccountId } from '../../../domain/ids.js'

/** Whose work it is, and what it concerns: of one subject the later waits until the earlier has ended. */
export type QueuedWork = { readonly account_id: AccountId; readonly subject: string }

type FairQueue<A> = {
  readonly add: (one: A) => void
  /** What has found a place, and keeps it until `end`. */
  readonly begin: () => ReadonlyArray<A>
  readonly end: (one: A) => void
}

/**
 * Work that waits for a place: accounts are served round-robin, and whatever one of them has in flight leaves places to
 * the others.
 */
export const fairQueue = <A extends QueuedWork>(places: Places): FairQueue<A> => {
  /** By subject what has not ended, in the order in which it came. */
  const ofSubject = new Map<string, Array<A>>()
  /** By account what may be begun; the account that has begun nothing for longest comes first. */
  const ready = new Map<AccountId, Array<A>>()
  const inFlight = new Set<A>()

  const makeReady = (one: A): void => {
    const own = ready.get(one.account_id)
    if (own === undefined) ready.set(one.account_id, [one])
    else own.push(one)
  }

  return {
    add: (one) => {
      const earlier = ofSubject.get(one.subject)
      if (earlier !== undefined) return void earlier.push(one)
      ofSubject.set(one.subject, [one])
      makeReady(one)
    },
    begin: () => {
      if (inFlight.size >= places.most) return []
      const first = [...ready.values()].flatMap((own) => own.slice(0, places.mostOfAccount))
      const begun = roundRobin(
        first,
        [...inFlight].map(({ account_id }) => account_id),
        places,
      )
      for (const one of begun) {
        const own = ready.get(one.account_id) ?? []
        // What an account has ready is begun in its order.
        own.shift()
        ready.delete(one.account_id)
        if (own.length > 0) ready.set(one.account_id, own)
        inFlight.add(one)
      }
      return begun
    },
    end: (one) => {
      inFlight.delete(one)
      const own = ofSubject.get(one.subject)
      own?.shift()
      const next = own?.[0]
      if (next === undefined) ofSubject.delete(one.subject)
      else makeReady(next)
    },
  }
}
