import { account } from '../../domain/account.js'
import type { AccountSecret } from '../../domain/derived-id.js'
import { AccountId, SourceId } from '../../domain/ids.js'
import { marketingSource, type MarketingSourceState } from '../../domain/marketing-source.js'
import { playbook } from '../../domain/playbook.js'
import type { Vault } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import type { Request } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'
import type { RateLimit } from '../http/rate-limit.js'

/** A marketing source that takes leads now. */
export type AcceptingSource = {
  readonly source: Extract<MarketingSourceState, { readonly kind: 'created' }>
  /** Of its account. */
  readonly secret: AccountSecret
  readonly hasErasures: boolean
  readonly requiredFields: ReadonlyArray<string>
}

type SourcePorts = { readonly currentStates: CurrentStates; readonly vault: Vault; readonly rateLimit: RateLimit }

const noSource: Problem = { kind: 'no-match', message: 'there is no marketing source at this URL' }

/** The post URL itself is the credential (contract 5): it names the account and the source. */
export const acceptingSourceOf =
  ({ currentStates, vault, rateLimit }: SourcePorts) =>
  async (request: Request): Promise<Either<Problem, AcceptingSource>> => {
    const { account_id: accountId, source_id: sourceId } = request.params
    if (!AccountId.is(accountId) || !SourceId.is(sourceId)) return E.left(noSource)
    const found = await currentStates.get(
      marketingSource,
      sourceId,
      (state) => state.kind === 'created' && !state.suspended,
    )
    if (E.isLeft(found)) return found
    const source = found.right
    if (source.kind !== 'created' || source.accountId !== accountId) return E.left(noSource)
    const owner = await currentStates.get(account, accountId, (state) => state.kind === 'open' && state.enabled)
    if (E.isLeft(owner)) return owner
    if (owner.right.kind !== 'open') return E.left(noSource)
    if (!owner.right.enabled) return E.left({ kind: 'forbidden', message: 'the account is disabled' })
    if (source.suspended) return E.left({ kind: 'forbidden', message: 'the marketing source is suspended' })
    const tooMany = rateLimit.consume(sourceId, source.limitPerMinute)
    if (tooMany !== undefined) return E.left(tooMany)
    const settings = await currentStates.get(playbook, source.playbookId, ({ kind }) => kind !== 'unknown')
    if (E.isLeft(settings)) return settings
    const secret = vault.accountSecret(owner.right.sealedSecret)
    if (E.isLeft(secret) || settings.right.kind === 'unknown') {
      return E.left({ kind: 'corrupt', reason: 'a marketing source lacks its playbook or its account a secret' })
    }
    const { hasErasures } = owner.right
    const { required_fields: requiredFields } = settings.right.settings
    return E.right({ source, secret: secret.right, hasErasures, requiredFields })
  }
