import { attemptsIn, delivery, kindAfter, type DeliveryKind } from '../../domain/delivery.js'
import type { ContactId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { idIn } from '../../domain/stream-name.js'
import type { Projection } from '../projection.js'

/**
 * One thing that happened with a contact: a lead, an activity, a conversion or a delivery. Ids, and of an activity what
 * the service says of it. What somebody else said stands in the `remark` of its engagement at that revision: see
 * `remarksAt`.
 */
export type TimelineEntry = {
  readonly contact_id: ContactId
  /** Twenty digits: where the entry stands in the log, and so in the order of the timeline. */
  readonly order: string
  readonly kind: 'lead' | 'activity' | 'conversion' | 'delivery'
  readonly at: Instant
  readonly [detail: string]: unknown
}

export const contactTimeline: Projection<TimelineEntry> = {
  name: 'contact_timeline',
  version: 3,
  categories: ['lead', 'engagement', 'conversion_contact', 'delivery'],
  indexes: { by_contact: ['contact_id', 'order'] },
  namedByOthers: ['properties'],
  createdBy: new Set([
    'LeadSubmitted',
    'LeadErased',
    'ActivityRecorded',
    'ConversionRecorded',
    'DeliveryDue',
    'DeliveryErased',
  ]),
  keyOf: (event) => {
    switch (event.type) {
      case 'LeadSubmitted':
      case 'LeadErased':
        return event.data.lead_id
      case 'ActivityRecorded':
        return event.id
      case 'ConversionRecorded':
        return event.data.record_id
      case 'DeliveryDue':
      case 'DeliveryErased':
      case 'DeliveryHeld':
      case 'DeliverySucceeded':
      case 'DeliveryAbandoned':
      case 'DeliveryAttemptFailed':
      case 'DeliveryResumed':
      case 'DeliverySkipped':
      case 'DeliveryResent':
        return idIn(delivery, event.stream)
      default:
        return undefined
    }
  },
  evolve: (entry, event) => {
    const order = event.position.toString().padStart(20, '0')
    switch (event.type) {
      case 'LeadSubmitted':
      case 'LeadErased': {
        const { contact_id, lead_id, source_id, engagement_id } = event.data
        const ids = { lead_id, source_id, next_engagement_id: engagement_id }
        const at = event.type === 'LeadErased' ? event.data.submitted_at : event.time
        return { contact_id, order, kind: 'lead', at, ...ids }
      }
      case 'ActivityRecorded': {
        const { activity, remark } = event.data
        const { contact_id, at, type, label, engagement_id, note, properties } = activity
        const said = remark === undefined ? {} : { remark }
        const what = { type, label, next_engagement_id: engagement_id, note, properties, ...said }
        return { contact_id, order, kind: 'activity', at, ...what }
      }
      case 'ConversionRecorded': {
        const { contact_id, converted_at, record_id, conversion_id, title, value } = event.data
        const what = { id: record_id, conversion_id, title, value }
        return { contact_id, order, kind: 'conversion', at: converted_at, ...what }
      }
      case 'DeliveryDue': {
        const { contact_id, delivery_id, webhook_id, label } = event.data
        const what = { id: delivery_id, webhook_id, label, state: 'due', attempts: 0 }
        return { contact_id, order, kind: 'delivery', at: event.time, ...what }
      }
      case 'DeliveryErased': {
        const { contact_id, delivery_id, webhook_id, label, state, history, created_at } = event.data
        const what = { id: delivery_id, webhook_id, label, state, attempts: attemptsIn(history) }
        return { contact_id, order, kind: 'delivery', at: created_at, ...what }
      }
      case 'DeliveryHeld':
      case 'DeliveryResumed':
      case 'DeliverySkipped':
      case 'DeliverySucceeded':
      case 'DeliveryAbandoned':
      case 'DeliveryAttemptFailed':
      case 'DeliveryResent': {
        if (entry === undefined) return undefined
        const outcome = 'outcome' in event.data ? event.data.outcome : null
        const state = kindAfter(entry['state'] as DeliveryKind, event)
        return { ...entry, state, attempts: outcome?.attempt ?? entry['attempts'] }
      }
      default:
        return entry
    }
  },
}
