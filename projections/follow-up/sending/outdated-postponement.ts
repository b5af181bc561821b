import type { OpenAccount } from '../../../domain/account.js'
import { isOfAccount, type Postponement } from '../../../domain/postponement.js'
import { E } from '../../../domain/prelude.js'
import type { PartiesPorts } from './parties.js'

/**
 * Whether the account changed while the postponement was being recorded. The search for waiting work may have run
 * before that record, so it is decided again; also where the account cannot be read.
 */
export const isOutdated = async (
  { currentAccount }: Pick<PartiesPorts, 'currentAccount'>,
  { reason }: Postponement,
  { accountId, enabled, segmentsPerMonth }: OpenAccount,
): Promise<boolean> => {
  if (!isOfAccount(reason)) return false
  const read = await currentAccount(accountId)
  if (E.isLeft(read) || read.right.kind !== 'open') return true
  return read.right.enabled !== enabled || read.right.segmentsPerMonth !== segmentsPerMonth
}
