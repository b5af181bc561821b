import { newAggregate } from '../../../domain/aggregate.js'
import type { SourceId } from '../../../domain/ids.js'
import { marketingSource, type CreatedSource, type MarketingSourceState } from '../../../domain/marketing-source.js'
import { playbook } from '../../../domain/playbook.js'
import type { CommandResult } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Problem } from '../../http/problem.js'
import type { ManagePorts } from '../ports.js'

type NewSource = Pick<CreatedSource, 'accountId' | 'title' | 'playbookId' | 'originatorField'>

/** Creates a source on a playbook of the same account, which is not deleted from then on: its stream decides. */
export const createSource = async (
  { commandHandler, clientCommands, ids }: ManagePorts,
  source: NewSource,
  actor: string,
): Promise<Either<Problem, CommandResult<MarketingSourceState>>> => {
  const { accountId, playbookId } = source
  const envelope = { actor, eventId: ids.uuid }
  const used = await commandHandler.execute(playbook, playbookId, { type: 'UsePlaybook', accountId }, envelope)
  if (E.isLeft(used)) return used
  // It stands in the post URL, which is a credential (contract 5).
  const sourceId: SourceId = `mks_${ids.unguessable()}`
  const command = { type: 'CreateSource', sourceId, ...source } as const
  return clientCommands.execute(marketingSource, sourceId, command, actor, newAggregate(marketingSource))
}
