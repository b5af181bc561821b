import { contact, type ContactCommand } from './contact.js'
import { engagement, type EngagementCommand } from './engagement.js'
import { answerOf } from './message-reactions.js'
import type { Intent, Reaction } from './reaction.js'

export const onLeadSubmitted: Reaction<'LeadSubmitted'> = ({ data, time }) => {
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
    submittedAt: time,
    ...(data.opted_out_before === true ? { optedOutBefore: true } : {}),
    ...(data.follow_up === undefined ? {} : { followUp: data.follow_up }),
    ...(data.awaits_consent === true ? { awaitsConsent: true } : {}),
  }
  return [{ decider: contact, id: data.contact_id, command }]
}

export const onContactEngaged: Reaction<'ContactEngaged'> = ({ data }) => {
  const { contact_id, account_id, lead_id, source_id, playbook_id, engagement_id } = data
  const attribution = { engagement_id, account_id, contact_id, lead_id, source_id, playbook_id }
  const {
    submitted_at: submittedAt,
    state: livesIn,
    engaged_at: engagedAt,
    filtered,
    supersedes = [],
    follow_up: followUp,
    awaits_consent: awaitsConsent,
  } = data
  const lead = {
    submittedAt,
    ...(livesIn === undefined ? {} : { livesIn }),
    ...(followUp === undefined ? {} : { followUp }),
    ...(awaitsConsent === undefined ? {} : { awaitsConsent }),
  }
  const command: EngagementCommand = { type: 'StartEngagement', attribution, ...lead, engagedAt, filtered }
  return [
    { decider: engagement, id: engagement_id, command },
    ...supersedes.map((id): Intent => {
      const end: EngagementCommand = { type: 'EndEngagement', reason: 'superseded', at: engagedAt }
      return { decider: engagement, id, command: end }
    }),
  ]
}

export const onActivityRecorded: Reaction<'ActivityRecorded'> = ({ data, causationId, time: at }) => {
  const { label, contact_id, engagement_id } = data.activity
  if (label !== 'opted_out') return []
  // Of a text that opts out it is the text that says so: the contact has heard of it before.
  const saying = { event_id: causationId, at }
  return [{ decider: contact, id: contact_id, command: { type: 'OptOut', engagementId: engagement_id, saying } }]
}

/** Nothing more is sent to the contact, whichever of its engagements it answered. */
export const onContactOptedOut: Reaction<'ContactOptedOut'> = ({ data, time }) => {
  const { engagement_id, ended = [], confirmation, said } = data
  const others = ended.filter((id) => id !== engagement_id)
  // A text or report of an opt-out has already ended the engagement. Of one that was said to the sender it learns only
  // here.
  const learns: EngagementCommand = { type: 'GiveUp', trigger: 'opted-out-before', at: time }
  const hasEnded = said !== undefined || !ended.includes(engagement_id)
  return [
    ...(confirmation === undefined ? [] : [answerOf(confirmation, 'confirmation', time)]),
    ...(hasEnded ? [] : [{ decider: engagement, id: engagement_id, command: learns } as const]),
    ...others.map((id): Intent => {
      const command: EngagementCommand = { type: 'EndEngagement', reason: 'opted_out', at: time }
      return { decider: engagement, id, command }
    }),
  ]
}

export const onConversionRecorded: Reaction<'ConversionRecorded'> = ({ data, time }) => {
  const { record_id, conversion_id, contact_id, engagement_id, label, title, ends } = data
  const activity: EngagementCommand = {
    type: 'RecordConversionActivity',
    recordId: record_id,
    label,
    title,
    ends: ends.includes(engagement_id),
    at: time,
  }
  const others = ends.filter((id) => id !== engagement_id)
  return [
    { decider: engagement, id: engagement_id, command: activity },
    ...others.map((id): Intent => {
      const command: EngagementCommand = { type: 'EndEngagement', reason: 'conversion', at: time }
      return { decider: engagement, id, command }
    }),
    {
      decider: contact,
      id: contact_id,
      command: { type: 'MarkConverted', recordId: record_id, conversionId: conversion_id, ended: ends },
    },
  ]
}
