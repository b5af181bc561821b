import type { AccountId, ContactId, EngagementId, LeadId, SourceId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import type { Originator } from '../../../domain/lead.js'
import type { Projection } from '../../projection.js'

/** The leads of a marketing source, for attribution and volume tracking (contract 2.5): ids, no personal value. */
export type LeadDocument = {
  readonly account_id: AccountId
  readonly source_id: SourceId
  readonly id: LeadId
  readonly contact_id: ContactId
  readonly next_engagement_id: EngagementId
  readonly lead_originators: ReadonlyArray<Originator>
  readonly submitted_at: Instant
}

export const leadList: Projection<LeadDocument> = {
  name: 'lead_list',
  version: 1,
  categories: ['lead'],
  indexes: { by_source: ['source_id', 'submitted_at'] },
  createdBy: new Set(['LeadSubmitted', 'LeadErased']),
  keyOf: (event) => (event.type === 'LeadSubmitted' || event.type === 'LeadErased' ? event.data.lead_id : undefined),
  evolve: (document, event) => {
    if (event.type !== 'LeadSubmitted' && event.type !== 'LeadErased') return document
    const { account_id, source_id, lead_id, contact_id, engagement_id } = event.data
    const isErased = event.type === 'LeadErased'
    return {
      account_id,
      source_id,
      id: lead_id,
      contact_id,
      next_engagement_id: engagement_id,
      lead_originators: isErased ? [] : event.data.originators,
      submitted_at: isErased ? event.data.submitted_at : event.time,
    }
  },
}
