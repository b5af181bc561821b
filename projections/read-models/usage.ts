import type { AccountId } from '../../domain/ids.js'
import type { StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Documents } from '../ports.js'
import { collectionOf } from '../projection.js'
import { accountMonthOf, messages } from './messages.js'

export type Usage = { readonly messages: number; readonly segments: number }

/**
 * What an account has sent in a month, such as 2026-01, as providers bill it. It costs one count for each segment of the longest message:
 * those that have at least one, those that have at least two, and so on.
 */
export const usageIn = async (
  { count }: Pick<Documents, 'count'>,
  account: AccountId,
  month: string,
): Promise<Either<StoreFailure, Usage>> => {
  const part = { index: 'by_month', equals: [accountMonthOf(account, month)], limit: Number.MAX_SAFE_INTEGER }
  let usage: Usage = { messages: 0, segments: 0 }
  for (let from = 1; ; from += 1) {
    const counted = await count(collectionOf(messages), { ...part, from })
    if (E.isLeft(counted)) return counted
    if (counted.right === 0) return E.right(usage)
    usage = { messages: from === 1 ? counted.right : usage.messages, segments: usage.segments + counted.right }
  }
}
