import { isOfAccount, type Postponement } from '../../../domain/postponement.js'
import { E } from '../../../domain/prelude.js'
import type { OpenAccount, PartiesPorts } from './parties.js'

/**
 * Whether what was put off, as that is recorded now, has to be decided anew, since its account is another by now: whoever looked for what
 * waits when that changed may have come before the record. Where nobody can tell the next turn does.
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
