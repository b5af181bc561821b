import { account, type OpenAccount, type OwnSender } from '../../domain/account.js'
import type { AcceptedHosts } from '../../domain/consent.js'
import type { AccountSecret } from '../../domain/derived-id.js'
import { AccountId, SourceId } from '../../domain/ids.js'
import { marketingSource, type CreatedSource, type MarketingSourceState } from '../../domain/marketing-source.js'
import { playbook, type CreatedPlaybook } from '../../domain/playbook.js'
import type { Vault } from '../../domain/ports.js'
import { E, flow, type Either, type TaskEither } from '../../domain/prelude.js'
import type { CurrentStates } from '../commands/states/current-states.js'
import type { Request, Surface } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'
import type { RateLimit } from '../http/rate-limit.js'
import { bind, chain, check } from '../http/steps.js'

/** A marketing source that takes leads now. */
export type AcceptingSource = {
  readonly source: CreatedSource
  /** Of its account. */
  readonly secret: AccountSecret
  readonly hasErasures: boolean
  readonly consentHosts: AcceptedHosts
  /** What its account sends from; null: the sender that the accounts share. */
  readonly sender: OwnSender | null
  readonly playbook: CreatedPlaybook
}

type SourcePorts = { readonly currentStates: CurrentStates; readonly vault: Vault; readonly rateLimit: RateLimit }

const noSource: Problem = { kind: 'no-match', message: 'there is no marketing source at this URL' }

/** The post URL itself is the credential (contract 5): it names the account and the source. */
export const acceptingSourceOf = (ports: SourcePorts): Surface<AcceptingSource>['authenticate'] =>
  flow(
    bind('ids', ({ request }) => idsIn(request)),
    bind('source', ({ ids }) => sourceOf(ports, ids)),
    bind('account', ({ ids }) => accountOf(ports, ids)),
    check(({ source, account }) => closedProblem(source, account)),
    check(({ source }) => ports.rateLimit.consume(source.sourceId, source.limitPerMinute)),
    chain(({ source, account }) => acceptingSource(ports, source, account)),
  )

type Ids = { readonly accountId: AccountId; readonly sourceId: SourceId }

const idsIn = ({ params: { account_id: accountId, source_id: sourceId } }: Request): Either<Problem, Ids> =>
  AccountId.is(accountId) && SourceId.is(sourceId) ? E.right({ accountId, sourceId }) : E.left(noSource)

const sourceOf =
  ({ currentStates }: SourcePorts, { accountId, sourceId }: Ids): TaskEither<Problem, CreatedSource> =>
  async () => {
    const isAcceptable = (state: MarketingSourceState): boolean => state.kind === 'created' && !state.suspended
    const found = await currentStates.get(marketingSource, sourceId, isAcceptable)
    if (E.isLeft(found)) return found
    const state = found.right
    return state.kind === 'created' && state.accountId === accountId ? E.right(state) : E.left(noSource)
  }

const accountOf =
  ({ currentStates }: SourcePorts, { accountId }: Ids): TaskEither<Problem, OpenAccount> =>
  async () => {
    const found = await currentStates.get(account, accountId, (state) => state.kind === 'open' && state.enabled)
    if (E.isLeft(found)) return found
    return found.right.kind === 'open' ? E.right(found.right) : E.left(noSource)
  }

const closedProblem = ({ suspended }: CreatedSource, { enabled }: OpenAccount): Problem | undefined => {
  if (!enabled) return { kind: 'forbidden', message: 'the account is disabled' }
  return suspended ? { kind: 'forbidden', message: 'the marketing source is suspended' } : undefined
}

/** With what its playbook asks for, and the secret of its account. */
const acceptingSource =
  (
    { currentStates, vault }: SourcePorts,
    source: CreatedSource,
    { sealedSecret, hasErasures, consentHosts, sender }: OpenAccount,
  ): TaskEither<Problem, AcceptingSource> =>
  async () => {
    const found = await currentStates.get(playbook, source.playbookId, ({ kind }) => kind !== 'unknown')
    if (E.isLeft(found)) return found
    const secret = vault.accountSecret(sealedSecret)
    if (E.isLeft(secret) || found.right.kind === 'unknown') {
      return E.left({ kind: 'corrupt', reason: 'a marketing source lacks its playbook or its account a secret' })
    }
    return E.right({ source, secret: secret.right, hasErasures, consentHosts, sender, playbook: found.right })
  }
