import { account, type AccountState, type OpenAccount } from '../../domain/account.js'
import { AccountId } from '../../domain/ids.js'
import type { StoreFailure } from '../../domain/ports.js'
import { flow, type Either } from '../../domain/prelude.js'
import type { Json } from '../../projections/ports.js'
import type { Projection } from '../../projections/projection.js'
import { ownState } from '../commands/states/own-state.js'
import type { HasRequest } from '../http/endpoint.js'
import type { Problem } from '../http/problem.js'
import { bind, pathId } from '../http/steps.js'
import type { ManagePorts } from './ports.js'

const notFound: Problem = { kind: 'account-not-found' }

/** Adds the open `account` that the path names. */
export const withAccount = <Context extends HasRequest>({ commandHandler }: Pick<ManagePorts, 'commandHandler'>) =>
  flow(
    pathId<Context, 'account_id', AccountId>('account_id', AccountId, notFound),
    bind('account', ({ account_id }) => ownState(commandHandler, account, account_id, open, notFound)),
  )

/** All documents of the account in one of the read models that are listed by account. */
export const documentsOfAccount = <Document extends Json>(
  { queries }: Pick<ManagePorts, 'queries'>,
  projection: Projection<Document>,
  { accountId }: OpenAccount,
): Promise<Either<StoreFailure, ReadonlyArray<Document>>> => queries.list(projection, 'by_account', [accountId])

const open = (state: AccountState): OpenAccount | undefined => (state.kind === 'open' ? state : undefined)
