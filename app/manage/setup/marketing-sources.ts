import type { OpenAccount } from '../../../domain/account.js'
import { FieldName, objectWith, optional, t, Title } from '../../../domain/codec.js'
import { PlaybookId, SourceId, type AccountId } from '../../../domain/ids.js'
import {
  marketingSource,
  type CreatedSource,
  type MarketingSourceCommand,
  type MarketingSourceState,
} from '../../../domain/marketing-source.js'
import type { CommandResult } from '../../../domain/ports.js'
import { E, flow, type Either, type TaskEither } from '../../../domain/prelude.js'
import { leadList, type LeadDocument } from '../../../projections/read-models/lists/lead-list.js'
import { sourceList, type SourceDocument } from '../../../projections/read-models/lists/source-list.js'
import { ownState } from '../../commands/states/own-state.js'
import type { Endpoint } from '../../http/endpoint.js'
import type { Problem } from '../../http/problem.js'
import { answer, bind, execute, pathId, withBody } from '../../http/steps.js'
import { documentsOfAccount, withAccount } from '../account-in-path.js'
import { ChangedLimit } from '../limit-per-minute.js'
import type { Operator } from '../operator.js'
import { withPage } from '../page.js'
import type { ManagePorts } from '../ports.js'
import { createSource } from './source-creation.js'

const CreateRequest = objectWith({ title: Title, playbook_id: PlaybookId, originator_field: optional(FieldName) })
const ChangeRequest = objectWith({
  suspended: optional(t.boolean),
  limit_per_minute: t.union([t.undefined, ChangedLimit], ChangedLimit.name),
})
type ChangeRequest = t.TypeOf<typeof ChangeRequest>

const path = '/accounts/:account_id/marketing_sources'

const notFound: Problem = { kind: 'source-not-found' }

/** Marketing sources and their post URLs (contract 2.6). */
export const marketingSourceEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path,
    handle: flow(
      withAccount(ports),
      withBody(CreateRequest),
      execute(({ account: { accountId }, body: { title, playbook_id: playbookId, originator_field }, caller }) =>
        createSource(ports, { accountId, title, playbookId, originatorField: originator_field ?? null }, caller.actor),
      ),
      answer(201, ({ result: { state } }) => ({ marketing_source: shownState(ports.siteUrl(), state) })),
    ),
  },
  {
    method: 'GET',
    path,
    handle: flow(
      withAccount(ports),
      bind('sources', ({ account }) => documentsOfAccount(ports, sourceList, account)),
      answer(200, ({ sources }) => ({ marketing_sources: sources.map((one) => shown(ports.siteUrl(), one)) })),
    ),
  },
  {
    method: 'PATCH',
    path: `${path}/:source_id`,
    handle: flow(
      withAccount(ports),
      pathId('source_id', SourceId, notFound),
      withBody(ChangeRequest),
      execute(({ account, source_id, body, caller }) => changeSource(ports, account, source_id, body, caller.actor)),
      answer(200, ({ result: { state } }) => ({ marketing_source: shownState(ports.siteUrl(), state) })),
    ),
  },
  {
    method: 'GET',
    path: `${path}/:source_id/leads`,
    handle: flow(
      withAccount(ports),
      pathId('source_id', SourceId, notFound),
      bind('source', ({ account, source_id }) => sourceOf(ports, account, source_id)),
      withPage(ports.queries, leadList, ({ source }) => ({
        index: 'by_source',
        equals: [source.sourceId],
        descending: true,
      })),
      answer(200, ({ page }) => ({ leads: page.documents.map(shownLead), next_cursor: page.next_cursor })),
    ),
  },
]

/** The source, if it is one of this account. */
const sourceOf = (
  { commandHandler }: ManagePorts,
  { accountId }: OpenAccount,
  sourceId: SourceId,
): TaskEither<Problem, CreatedSource> => {
  const own = (state: MarketingSourceState) =>
    state.kind === 'created' && state.accountId === accountId ? state : undefined
  return ownState(commandHandler, marketingSource, sourceId, own, notFound)
}

/** One command for each field that is sent; gives the source as it is then. */
const changeSource = async (
  ports: ManagePorts,
  account: OpenAccount,
  sourceId: SourceId,
  request: ChangeRequest,
  actor: string,
): Promise<Either<Problem, CommandResult<MarketingSourceState>>> => {
  const events = []
  for (const command of changes(account.accountId, request)) {
    const changed = await ports.clientCommands.execute(marketingSource, sourceId, command, actor)
    if (E.isLeft(changed)) return changed
    events.push(...changed.right.events)
  }
  const now = await sourceOf(ports, account, sourceId)()
  return E.isLeft(now) ? now : E.right({ state: now.right, events })
}

const changes = (
  accountId: AccountId,
  { suspended, limit_per_minute: limitPerMinute }: ChangeRequest,
): ReadonlyArray<MarketingSourceCommand> => [
  ...(suspended === undefined ? [] : [{ type: suspended ? 'SuspendSource' : 'ResumeSource', accountId } as const]),
  ...(limitPerMinute === undefined ? [] : [{ type: 'LimitSource', accountId, limitPerMinute } as const]),
]

export const postUrl = (site: string, accountId: AccountId, sourceId: SourceId): string =>
  `${site}/marketing_sources/${accountId}/${sourceId}`

const shown = (site: string, { account_id, ...document }: SourceDocument) => ({
  ...document,
  post_url: postUrl(site, account_id, document.id),
})

const shownState = (site: string, state: MarketingSourceState) =>
  state.kind === 'unknown'
    ? {}
    : {
        id: state.sourceId,
        title: state.title,
        playbook_id: state.playbookId,
        originator_field: state.originatorField,
        suspended: state.suspended,
        limit_per_minute: state.limitPerMinute,
        post_url: postUrl(site, state.accountId, state.sourceId),
      }

const shownLead = ({ account_id: _account, source_id: _source, ...document }: LeadDocument) => document
