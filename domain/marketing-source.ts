import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, PlaybookId, SourceId } from './ids.js'
import { E, unreachable, type Either } from './prelude.js'

export const MarketingSourceEvent = t.union([
  eventOf(
    'MarketingSourceCreated',
    t.type({
      source_id: SourceId,
      account_id: AccountId,
      title: t.string,
      playbook_id: PlaybookId,
      originator_field: t.union([t.string, t.null]),
    }),
  ),
  eventOf('MarketingSourceSuspended', t.type({})),
  eventOf('MarketingSourceResumed', t.type({})),
  eventOf('MarketingSourceLimited', t.type({ limit_per_minute: t.union([t.number, t.null]) })),
])
export type MarketingSourceEvent = t.TypeOf<typeof MarketingSourceEvent>

export type MarketingSourceState =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'created'
      readonly sourceId: SourceId
      readonly accountId: AccountId
      readonly title: string
      readonly playbookId: PlaybookId
      readonly originatorField: string | null
      readonly suspended: boolean
      readonly limitPerMinute: number | null
    }

export type CreatedSource = Extract<MarketingSourceState, { readonly kind: 'created' }>

export type MarketingSourceCommand =
  | {
      readonly type: 'CreateSource'
      readonly sourceId: SourceId
      readonly accountId: AccountId
      readonly title: string
      readonly playbookId: PlaybookId
      readonly originatorField: string | null
    }
  | { readonly type: 'SuspendSource'; readonly accountId: AccountId }
  | { readonly type: 'ResumeSource'; readonly accountId: AccountId }
  | { readonly type: 'LimitSource'; readonly accountId: AccountId; readonly limitPerMinute: number | null }

export type MarketingSourceRefusal = { readonly kind: 'source-not-found' }

const evolve = (state: MarketingSourceState, event: MarketingSourceEvent): MarketingSourceState => {
  if (event.type === 'MarketingSourceCreated') {
    return {
      kind: 'created',
      sourceId: event.data.source_id,
      accountId: event.data.account_id,
      title: event.data.title,
      playbookId: event.data.playbook_id,
      originatorField: event.data.originator_field,
      suspended: false,
      limitPerMinute: null,
    }
  }
  if (state.kind === 'unknown') return state
  switch (event.type) {
    case 'MarketingSourceSuspended':
      return { ...state, suspended: true }
    case 'MarketingSourceResumed':
      return { ...state, suspended: false }
    case 'MarketingSourceLimited':
      return { ...state, limitPerMinute: event.data.limit_per_minute }
    default:
      return unreachable(event)
  }
}

const decide = (
  command: MarketingSourceCommand,
  state: MarketingSourceState,
): Either<MarketingSourceRefusal, ReadonlyArray<MarketingSourceEvent>> => {
  if (command.type === 'CreateSource') {
    if (state.kind === 'created') return E.right([])
    const data = {
      source_id: command.sourceId,
      account_id: command.accountId,
      title: command.title,
      playbook_id: command.playbookId,
      originator_field: command.originatorField,
    }
    return E.right([{ type: 'MarketingSourceCreated', data }])
  }
  if (state.kind === 'unknown' || state.accountId !== command.accountId) return E.left({ kind: 'source-not-found' })
  switch (command.type) {
    case 'SuspendSource':
      return E.right(state.suspended ? [] : [{ type: 'MarketingSourceSuspended', data: {} }])
    case 'ResumeSource':
      return E.right(state.suspended ? [{ type: 'MarketingSourceResumed', data: {} }] : [])
    case 'LimitSource': {
      if (state.limitPerMinute === command.limitPerMinute) return E.right([])
      return E.right([{ type: 'MarketingSourceLimited', data: { limit_per_minute: command.limitPerMinute } }])
    }
    default:
      return unreachable(command)
  }
}

export const marketingSource: Decider<
  MarketingSourceState,
  MarketingSourceCommand,
  MarketingSourceEvent,
  MarketingSourceRefusal
> = {
  category: 'marketing_source',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
