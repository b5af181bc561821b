import type { AccountId } from './ids.js'

type OfAccount = { readonly account_id: AccountId }

/** `rank`: how many of its account are before it. */
type Ranked<A> = { readonly one: A; readonly rank: number }

/** In the order given, after those of the accounts that are under way. */
export const rankedInAccount = <A extends OfAccount>(
  waiting: ReadonlyArray<A>,
  underWay: Iterable<AccountId>,
): ReadonlyArray<Ranked<A>> => {
  const counts = new Map<AccountId, number>()
  const next = (account: AccountId): number => {
    const rank = counts.get(account) ?? 0
    counts.set(account, rank + 1)
    return rank
  }
  for (const account of underWay) next(account)
  return waiting.map((one) => ({ one, rank: next(one.account_id) }))
}

/** One of each account after the other, those of accounts that have the fewest under way first. */
export const byAccount = <A extends OfAccount>(
  waiting: ReadonlyArray<A>,
  underWay: Iterable<AccountId>,
): ReadonlyArray<Ranked<A>> => rankedInAccount(waiting, underWay).toSorted((one, other) => one.rank - other.rank)
