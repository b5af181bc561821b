import { newAggregate } from '../../../domain/aggregate.js'
import type { SourceId } from '../../../domain/ids.js'
import { marketingSource, type MarketingSourceState } from '../../../domain/marketing-source.js'
import type { CommandResult } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Problem } from '../../http/problem.js'
import { ownPlaybook } from '../own-playbook.js'
import type { ManagePorts } from '../ports.js'

export type CreatedSource = Extract<MarketingSourceState, { readonly kind: 'created' }>
type NewSource = Pick<CreatedSource, 'accountId' | 'title' | 'playbookId' | 'originatorField'>

/** Creates a source on a playbook of the same account. */
export const createSource = async (
  { commandHandler, clientCommands, ids }: ManagePorts,
  source: NewSource,
  actor: string,
): Promise<Either<Problem, CommandResult<MarketingSourceState>>> => {
  const used = await ownPlaybook(commandHandler, source.accountId, source.playbookId)()
  if (E.isLeft(used)) return used
  // It stands in the post URL, which is a credential (contract 5).
  const sourceId: SourceId = `mks_${ids.unguessable()}`
  const command = { type: 'CreateSource', sourceId, ...source } as const
  return clientCommands.execute(marketingSource, sourceId, command, actor, newAggregate(marketingSource))
}
