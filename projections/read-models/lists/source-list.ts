import type { AccountId, PlaybookId, SourceId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import { marketingSource } from '../../../domain/marketing-source.js'
import { idIn } from '../../../domain/stream-name.js'
import type { Projection } from '../../projection.js'

/** The marketing sources of an account, oldest first. */
export type SourceDocument = {
  readonly account_id: AccountId
  readonly id: SourceId
  readonly title: string
  readonly playbook_id: PlaybookId
  readonly originator_field: string | null
  readonly suspended: boolean
  readonly limit_per_minute: number | null
  readonly created_at: Instant
}

export const sourceList: Projection<SourceDocument> = {
  name: 'source_list',
  version: 1,
  categories: ['marketing_source'],
  indexes: { by_account: ['account_id', 'created_at'] },
  createdBy: new Set(['MarketingSourceCreated']),
  keyOf: (event) => idIn(marketingSource, event.stream),
  evolve: (document, event) => {
    if (event.type === 'MarketingSourceCreated') {
      const { account_id, source_id, title, playbook_id, originator_field } = event.data
      return {
        account_id,
        id: source_id,
        title,
        playbook_id,
        originator_field,
        suspended: false,
        limit_per_minute: null,
        created_at: event.time,
      }
    }
    if (document === undefined) return undefined
    switch (event.type) {
      case 'MarketingSourceSuspended':
        return { ...document, suspended: true }
      case 'MarketingSourceResumed':
        return { ...document, suspended: false }
      case 'MarketingSourceLimited':
        return { ...document, limit_per_minute: event.data.limit_per_minute }
      default:
        return document
    }
  },
}
