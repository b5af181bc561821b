import type { ContactCommand } from '../../../domain/contact.js'
import { engagement } from '../../../domain/engagement.js'
import type { CommandHandler, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'

type EngageLead = Extract<ContactCommand, { readonly type: 'EngageLead' }>

/**
 * The command for a lead that its contact may have engaged and does not remember; undefined where its engagement has
 * begun, so that nothing is left to do. One that was engaged and has no engagement is engaged once more: the engagement
 * begins once.
 */
export const unrememberedLead = async (
  { load }: Pick<CommandHandler, 'load'>,
  command: EngageLead,
): Promise<Either<StoreFailure, EngageLead | undefined>> => {
  const loaded = await load(engagement, command.engagementId)
  if (E.isLeft(loaded)) return loaded
  return E.right(loaded.right.state.kind === 'unknown' ? { ...command, isNotEngaged: true } : undefined)
}
