import { contact, type ContactCommand } from './contact.js'
import { conversion, type ConversionCommand } from './conversion.js'
import type { Decider } from './decider.js'
import type { DomainEvent } from './events.js'
import { engagement, type EngagementCommand } from './engagement.js'
import type { Recorded } from './event.js'
import type { Instant } from './instant.js'
import { lead, type LeadCommand } from './lead.js'
import { playbook, standardPlaybook, type PlaybookCommand } from './playbook.js'
import { webhook, type WebhookCommand } from './webhook.js'

/** A command for the stream of one aggregate. */
export type Intent =
  | IntentFor<typeof playbook, PlaybookCommand>
  | IntentFor<typeof conversion, ConversionCommand>
  | IntentFor<typeof contact, ContactCommand>
  | IntentFor<typeof engagement, EngagementCommand>
  | IntentFor<typeof lead, LeadCommand>
  | IntentFor<typeof webhook, WebhookCommand>

type IntentFor<D, C extends { readonly type: string }> =
  D extends Decider<infer _S, C, infer _E, infer _R>
    ? { readonly decider: D; readonly id: string; readonly command: C }
    : never

/**
 * What follows from an event in other streams, in order. Pure, and safe to run again: the events that follow have ids
 * derived from this one, and each command is "already so" the second time (design, section 2).
 */
export const reactions = (event: Recorded<DomainEvent>, now: Instant): ReadonlyArray<Intent> => {
  switch (event.type) {
    case 'AccountOpened': {
      const { account_id: accountId, playbook_id: playbookId, quoted_id, sold_id } = event.data
      const standard = { type: 'DefineConversion', accountId, value: 0 } as const
      return [
        {
          decider: conversion,
          id: quoted_id,
          command: { ...standard, conversionId: quoted_id, title: 'Quoted', label: 'quoted' },
        },
        {
          decider: conversion,
          id: sold_id,
          command: { ...standard, conversionId: sold_id, title: 'Sold', label: 'sold' },
        },
        {
          decider: playbook,
          id: playbookId,
          command: { type: 'CreatePlaybook', playbookId, accountId, settings: standardPlaybook },
        },
      ]
    }
    case 'LeadSubmitted': {
      const { data } = event
      const command: ContactCommand = {
        type: 'EngageLead',
        contactId: data.contact_id,
        accountId: data.account_id,
        leadId: data.lead_id,
        sourceId: data.source_id,
        sourceTitle: data.source_title,
        playbookId: data.playbook_id,
        engagementId: data.engagement_id,
        details: data.details,
        submittedAt: event.time,
        at: now,
      }
      return [{ decider: contact, id: data.contact_id, command }]
    }
    case 'ContactEngaged': {
      const { contact_id, account_id, lead_id, source_id, playbook_id, engagement_id } = event.data
      const attribution = { engagement_id, account_id, contact_id, lead_id, source_id, playbook_id }
      const { engaged_at: engagedAt, filtered } = event.data
      const command: EngagementCommand = { type: 'StartEngagement', attribution, engagedAt, filtered }
      return [{ decider: engagement, id: engagement_id, command }]
    }
    case 'EngagementStarted':
      return [{ decider: lead, id: event.data.lead_id, command: { type: 'MarkEnrolled' } }]
    case 'ActivityRecorded': {
      const { label, contact_id, engagement_id } = event.data.activity
      if (label !== 'opted_out') return []
      return [{ decider: contact, id: contact_id, command: { type: 'OptOut', engagementId: engagement_id } }]
    }
    case 'ConversionRecorded': {
      const { record_id, conversion_id, contact_id, engagement_id, label, title, ends } = event.data
      const activity: EngagementCommand = {
        type: 'RecordConversionActivity',
        recordId: record_id,
        label,
        title,
        ends: ends.includes(engagement_id),
        at: now,
      }
      const others = ends.filter((id) => id !== engagement_id)
      return [
        { decider: engagement, id: engagement_id, command: activity },
        ...others.map((id): Intent => {
          const command: EngagementCommand = { type: 'EndEngagement', reason: 'conversion', at: now }
          return { decider: engagement, id, command }
        }),
        {
          decider: contact,
          id: contact_id,
          command: { type: 'MarkConverted', recordId: record_id, conversionId: conversion_id, ended: ends },
        },
      ]
    }
    case 'DeliveryAbandoned': {
      const { delivery_id, webhook_id, why, outcome, failing_since: failingSince } = event.data
      if (why !== 'retries-exhausted') return []
      const command: WebhookCommand = {
        type: 'TurnOffWebhook',
        deliveryId: delivery_id,
        reason: outcome?.reason ?? 'no response',
        failingSince,
        version: outcome?.webhook_version,
      }
      return [{ decider: webhook, id: webhook_id, command }]
    }
    default:
      return []
  }
}
