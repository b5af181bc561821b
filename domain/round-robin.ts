import type { AccountId } from './ids.js'

type OfAccount = { readonly account_id: AccountId }

/** How many may be in flight, in all and of one account: what hangs with one account leaves places to others. */
export type Places = { readonly most: number; readonly mostOfAccount: number }

/**
 * Those that find a place beside what is in flight: one of each account after the other, those of accounts that have
 * the fewest first.
 */
export const roundRobin = <A extends OfAccount>(
  waiting: ReadonlyArray<A>,
  inFlight: ReadonlyArray<AccountId>,
  { most, mostOfAccount }: Places,
): ReadonlyArray<A> =>
  rankedInAccount(waiting, inFlight, mostOfAccount)
    .toSorted((one, other) => one.rank - other.rank)
    .slice(0, Math.max(most - inFlight.length, 0))
    .map(({ one }) => one)

/** Those for which their account has a place beside what is in flight, in the order given. */
export const withinAccounts = <A extends OfAccount>(
  waiting: ReadonlyArray<A>,
  inFlight: ReadonlyArray<AccountId>,
  mostOfAccount: number,
): ReadonlyArray<A> => rankedInAccount(waiting, inFlight, mostOfAccount).map(({ one }) => one)

/** `rank`: how many of its account are before it. */
const rankedInAccount = <A extends OfAccount>(
  waiting: ReadonlyArray<A>,
  inFlight: ReadonlyArray<AccountId>,
  mostOfAccount: number,
): ReadonlyArray<{ readonly one: A; readonly rank: number }> => {
  const counts = new Map<AccountId, number>()
  const next = (account: AccountId): number => {
    const rank = counts.get(account) ?? 0
    counts.set(account, rank + 1)
    return rank
  }
  for (const account of inFlight) next(account)
  return waiting.map((one) => ({ one, rank: next(one.account_id) })).filter(({ rank }) => rank < mostOfAccount)
}
