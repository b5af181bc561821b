import { newAggregate } from '../../../domain/aggregate.js'
import { stateOf } from '../../commands/states/current-states.js'
import { decode, optional, t, Text } from '../../../domain/codec.js'
import { PlaybookId, SourceId, type AccountId } from '../../../domain/ids.js'
import {
  marketingSource,
  type MarketingSourceCommand,
  type MarketingSourceState,
} from '../../../domain/marketing-source.js'
import { playbook } from '../../../domain/playbook.js'
import { E, type Either } from '../../../domain/prelude.js'
import { leadList, type LeadDocument } from '../../../projections/read-models/lead-list.js'
import { sourceList, type SourceDocument } from '../../../projections/read-models/source-list.js'
import type { Endpoint } from '../../http/endpoint.js'
import { invalid, type Problem } from '../../http/problem.js'
import { PatchedLimit } from '../limit.js'
import { accountOf, type Operator } from '../operator.js'
import { pageOf } from '../paging.js'
import type { ManagePorts } from '../ports.js'

const CreateRequest = t.type({ title: Text, playbook_id: PlaybookId, originator_field: optional(Text) })
const ChangeRequest = t.type({
  suspended: optional(t.boolean),
  limit_per_minute: t.union([t.undefined, PatchedLimit], PatchedLimit.name),
})

type NewSource = Pick<CreatedSource, 'accountId' | 'title' | 'playbookId' | 'originatorField'>
type CreatedSource = Extract<MarketingSourceState, { readonly kind: 'created' }>

/** Creates a source on a playbook of the same account. */
export const createSource = async (
  { commandHandler, commands, ids }: ManagePorts,
  source: NewSource,
  actor: string,
): Promise<Either<Problem, MarketingSourceState>> => {
  const owned = await stateOf(commandHandler, playbook, source.playbookId)
  if (E.isLeft(owned)) return owned
  if (owned.right.kind === 'unknown' || owned.right.accountId !== source.accountId) {
    return E.left({ kind: 'playbook-not-found' })
  }
  const sourceId: SourceId = `mks_${ids.ulid()}`
  const command = { type: 'CreateSource', sourceId, ...source } as const
  const created = await commands.execute(marketingSource, sourceId, command, actor, newAggregate(marketingSource))
  return E.isLeft(created) ? created : E.right(created.right.state)
}

/** Marketing sources and their post URLs (contract 2.6). */
export const marketingSourceEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => {
  const { commandHandler, commands, queries, siteUrl } = ports
  return [
    {
      method: 'POST',
      path: '/accounts/:account_id/marketing_sources',
      handle: async (request, { actor }) => {
        const found = await accountOf(commandHandler, request)
        if (E.isLeft(found)) return found
        const body = decode(CreateRequest, request.body)
        if (E.isLeft(body)) return E.left(invalid(body.left))
        const { title, playbook_id: playbookId, originator_field } = body.right
        const what = { accountId: found.right.accountId, title, playbookId, originatorField: originator_field ?? null }
        const created = await createSource(ports, what, actor)
        if (E.isLeft(created)) return created
        return E.right({ status: 201, body: { marketing_source: shownState(siteUrl(), created.right) } })
      },
    },
    {
      method: 'GET',
      path: '/accounts/:account_id/marketing_sources',
      handle: async (request) => {
        const found = await accountOf(commandHandler, request)
        if (E.isLeft(found)) return found
        const list = await queries.list(sourceList, 'by_account', [found.right.accountId])
        if (E.isLeft(list)) return list
        const sources = list.right.map((document) => shown(siteUrl(), document))
        return E.right({ status: 200, body: { marketing_sources: sources } })
      },
    },
    {
      method: 'PATCH',
      path: '/accounts/:account_id/marketing_sources/:source_id',
      handle: async (request, { actor }) => {
        const found = await accountOf(commandHandler, request)
        if (E.isLeft(found)) return found
        const sourceId = request.params['source_id']
        if (!SourceId.is(sourceId)) return E.left(sourceNotFound)
        const body = decode(ChangeRequest, request.body)
        if (E.isLeft(body)) return E.left(invalid(body.left))
        const { accountId } = found.right
        for (const command of changes(accountId, body.right)) {
          const changed = await commands.execute(marketingSource, sourceId, command, actor)
          if (E.isLeft(changed)) return changed
        }
        const now = await stateOf(commandHandler, marketingSource, sourceId)
        if (E.isLeft(now)) return now
        if (now.right.kind === 'unknown' || now.right.accountId !== accountId) return E.left(sourceNotFound)
        return E.right({ status: 200, body: { marketing_source: shownState(siteUrl(), now.right) } })
      },
    },
    {
      method: 'GET',
      path: '/accounts/:account_id/marketing_sources/:source_id/leads',
      handle: async (request) => {
        const found = await accountOf(commandHandler, request)
        if (E.isLeft(found)) return found
        const sourceId = request.params['source_id']
        if (!SourceId.is(sourceId)) return E.left(sourceNotFound)
        const source = await stateOf(commandHandler, marketingSource, sourceId)
        if (E.isLeft(source)) return source
        const isOwn = source.right.kind === 'created' && source.right.accountId === found.right.accountId
        if (!isOwn) return E.left(sourceNotFound)
        const page = await pageOf(
          queries,
          leadList,
          { index: 'by_source', equals: sourceId, descending: true },
          request,
        )
        if (E.isLeft(page)) return page
        const { documents, next_cursor } = page.right
        return E.right({ status: 200, body: { leads: documents.map(shownLead), next_cursor } })
      },
    },
  ]
}

const sourceNotFound: Problem = { kind: 'source-not-found' }

const changes = (
  accountId: AccountId,
  { suspended, limit_per_minute: limitPerMinute }: t.TypeOf<typeof ChangeRequest>,
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
