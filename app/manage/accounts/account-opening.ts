import { account } from '../../../domain/account.js'
import { newAggregate } from '../../../domain/aggregate.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { AccountId, ConversionId, PlaybookId } from '../../../domain/ids.js'
import { E, type Either } from '../../../domain/prelude.js'
import { newApiKey } from '../../http/api-key.js'
import type { Problem } from '../../http/problem.js'
import type { ManagePorts } from '../ports.js'

type OpenedAccount = {
  readonly accountId: AccountId
  /** Shown once: only its hash is stored. */
  readonly apiKey: string
  readonly playbookId: PlaybookId
  readonly soldId: ConversionId
  /** None where another process opened the account first: then the key here is none of its keys. */
  readonly events: ReadonlyArray<RecordedEvent>
}

/** Opens an account with Quoted, Sold, a standard playbook and one API key. */
export const openAccount = async (
  { clientCommands, vault, ids }: ManagePorts,
  accountId: AccountId,
  title: string,
  actor: string,
): Promise<Either<Problem, OpenedAccount>> => {
  const { apiKeyId, apiKey, hash } = newApiKey(ids, accountId)
  const playbookId: PlaybookId = `ply_${ids.ulid()}`
  const quotedId: ConversionId = `cnv_${ids.ulid()}`
  const soldId: ConversionId = `cnv_${ids.ulid()}`
  const secrets = { sealedSecret: vault.seal(ids.secret()), apiKeyHash: hash }
  const command = { type: 'OpenAccount', accountId, title, playbookId, quotedId, soldId, apiKeyId, ...secrets } as const
  const opened = await clientCommands.execute(account, accountId, command, actor, newAggregate(account))
  if (E.isLeft(opened)) return opened
  return E.right({ accountId, apiKey, playbookId, soldId, events: opened.right.events })
}
