import test from 'ava'
import type { DomainEvent } from '../../../domain/events.js'
import { contactTimeline } from '../../../projections/read-models/contact-timeline.js'
import { anyProjection } from '../../../projections/projection.js'
import { logOf } from '../../kit/domain/log.js'
import { project } from '../../kit/parts/project.js'
import {
  accountId,
  activity,
  at,
  contactId,
  conversionId,
  deliveryFacts,
  deliveryId,
  engagementId,
  leadFacts,
  leadId,
  recordId,
  sourceId,
  uuid,
  webhookId,
} from '../../kit/domain/samples.js'

const timeline = (...appended: ReadonlyArray<readonly [stream: string, event: DomainEvent]>) =>
  project(anyProjection(contactTimeline), logOf(...appended))

const orderOf = (position: number): string => position.toString().padStart(20, '0')

const submitted = [`lead-${leadId()}`, { type: 'LeadSubmitted', data: leadFacts() }] as const
const recorded = [
  `engagement-${engagementId()}`,
  { type: 'ActivityRecorded', data: { activity: activity({ at: at(700) }), record_id: null } },
] as const
const sold = [
  `conversion_contact-${recordId()}`,
  {
    type: 'ConversionRecorded',
    data: {
      record_id: recordId(),
      account_id: accountId(),
      conversion_id: conversionId(),
      title: 'Sold',
      label: 'sold',
      contact_id: contactId(),
      converted_at: at(-86_400_000),
      value: 125_000,
      engagement_id: engagementId(),
      lead_id: leadId(),
      source_id: sourceId(),
      ends: [],
    },
  },
] as const

test('an activity that somebody said something of refers to it, and holds no word of it', (t) => {
  const [stream, { data }] = recorded
  const said = { ...data, activity: activity({ note: null }), remark: 2 }
  const remark = {
    engagement_id: engagementId(),
    account_id: accountId(),
    contact_id: contactId(),
    note: 'A word',
    properties: { word: 1 },
  }
  const shown = timeline(
    [`remark-${engagementId()}`, { type: 'RemarkMade', data: remark }],
    [stream, { type: 'ActivityRecorded', data: said }],
  )
  t.notRegex(JSON.stringify(shown), /word/)
  t.like(shown[uuid(2)], { remark: 2, note: null, properties: {} })
})

test('a lead, an activity and a conversion each stand where they stand in the log', (t) => {
  const contact_id = contactId()
  t.deepEqual(timeline(submitted, recorded, sold), {
    [leadId()]: {
      contact_id,
      order: orderOf(1),
      kind: 'lead',
      at: at(1000),
      lead_id: leadId(),
      source_id: sourceId(),
      next_engagement_id: engagementId(),
    },
    [uuid(2)]: {
      contact_id,
      order: orderOf(2),
      kind: 'activity',
      at: at(700),
      type: 'event',
      label: 'started',
      next_engagement_id: engagementId(),
      note: 'The playbook started',
      properties: {},
    },
    [recordId()]: {
      contact_id,
      order: orderOf(3),
      kind: 'conversion',
      at: at(-86_400_000),
      id: recordId(),
      conversion_id: conversionId(),
      title: 'Sold',
      value: 125_000,
    },
  })
})

test('text order is the order of the log', (t) => {
  const entries = Object.values(timeline(...Array.from({ length: 12 }, () => recorded)))
  t.is(entries.length, 12)
  t.deepEqual(
    entries.map(({ order }) => order),
    entries.map(({ order }) => order).toSorted(),
  )
})

const deliveryAfter = (...events: ReadonlyArray<DomainEvent>) =>
  timeline(...events.map((event) => [`delivery-${deliveryId()}`, event] as const))[deliveryId()]

const outcome = (attempt: number) => ({ attempt, status: 503, reason: 'HTTP 503', duration_ms: 12 })
const due: DomainEvent = { type: 'DeliveryDue', data: deliveryFacts() }
const failed = (n: number): DomainEvent => ({
  type: 'DeliveryAttemptFailed',
  data: { outcome: outcome(n), next_attempt_at: at(n * 60_000) },
})

const entry = {
  contact_id: contactId(),
  order: orderOf(1),
  kind: 'delivery',
  at: at(1000),
  id: deliveryId(),
  webhook_id: webhookId(),
  label: 'started',
  state: 'due',
  attempts: 0,
}

test('a delivery stays where it became due, whatever becomes of it', (t) => {
  t.deepEqual(deliveryAfter(due), entry)
  t.deepEqual(deliveryAfter(due, failed(1), failed(2)), { ...entry, attempts: 2 })
  t.deepEqual(deliveryAfter(due, { type: 'DeliveryHeld', data: {} }), { ...entry, state: 'held' })
  t.deepEqual(deliveryAfter(due, failed(1), { type: 'DeliverySucceeded', data: { outcome: outcome(2) } }), {
    ...entry,
    state: 'succeeded',
    attempts: 2,
  })
})

test('a delivery that is given up counts its last attempt', (t) => {
  const abandoned = (last: ReturnType<typeof outcome> | null): DomainEvent => ({
    type: 'DeliveryAbandoned',
    data: {
      delivery_id: deliveryId(),
      webhook_id: webhookId(),
      why: last === null ? 'webhook-removed' : 'retries-exhausted',
      outcome: last,
    },
  })
  t.deepEqual(deliveryAfter(due, failed(1), abandoned(null)), { ...entry, state: 'abandoned', attempts: 1 })
  t.deepEqual(deliveryAfter(due, failed(18), abandoned(outcome(19))), { ...entry, state: 'failed', attempts: 19 })
})

test('what follows a delivery whose beginning is gone makes no entry', (t) => {
  t.is(deliveryAfter(failed(1)), undefined)
})
