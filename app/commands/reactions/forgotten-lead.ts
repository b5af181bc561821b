import type { ContactCommand } from '../../../domain/contact.js'
import { lead } from '../../../domain/lead.js'
import type { CommandHandler, StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'

type EngageLead = Extract<ContactCommand, { readonly type: 'EngageLead' }>

/**
 * The command for a lead that its contact may have engaged and forgotten; undefined where the lead was enrolled, which is the last
 * thing that follows from its submission. One that was engaged and never enrolled is engaged once more: its engagement, which has
 * a stream of its own, begins once.
 */
export const forgottenLead = async (
  { load }: Pick<CommandHandler, 'load'>,
  command: EngageLead,
): Promise<Either<StoreFailure, EngageLead | undefined>> => {
  const loaded = await load(lead, command.leadId)
  if (E.isLeft(loaded)) return loaded
  const { state } = loaded.right
  return E.right(state.kind === 'submitted' && state.enrolled ? undefined : { ...command, isNotEnrolled: true })
}
