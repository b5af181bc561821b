import { contact, type ContactCommand } from './contact.js'
import { answerIdOf, textOptOutIdOf } from './derived-id.js'
import { minute } from './duration.js'
import { engagement, type EngagementCommand } from './engagement.js'
import type { EventOf } from './events.js'
import { later, type Instant } from './instant.js'
import { message, type FailureKind, type MessageIds } from './message.js'
import type { Intent, Reaction } from './reaction.js'
import type { Saying } from './saying.js'
import type { GivingUp } from './trigger.js'

/**
 * In milliseconds: an opt-out is confirmed within five minutes (47 CFR 64.1200(a)(12)), and an answer that is late
 * helps nobody.
 */
const longestAnswer = 5 * minute

export const answerOf = (ids: MessageIds, purpose: 'confirmation' | 'help', at: Instant): Intent => {
  const request = { purpose, text: null, expires_at: later(at, longestAnswer) }
  return { decider: message, id: ids.message_id, command: { type: 'RequestMessage', ids, request } }
}

/** Noted first: what can't be carried out of the others keeps those after it from being done. */
export const onMessageReceived: Reaction<'MessageReceived'> = (event) => [noted(event.data), ...onReply(event)]

const onReply: Reaction<'MessageReceived'> = ({ id, data, time }) => {
  const { message_id: messageId, account_id, contact_id, engagement_id, meaning, answer } = data
  const ids = { message_id: answerIdOf(messageId), account_id, contact_id, engagement_id }
  const saying: Saying =
    data.said_at === undefined ? { event_id: id, at: time } : { event_id: id, at: data.said_at, to_sender: true }
  if (meaning === 'opted_in')
    return [{ decider: contact, id: contact_id, command: { type: 'OptIn', engagementId: engagement_id, saying } }]
  if (meaning === 'help') return answer === 'help' ? [answerOf(ids, 'help', time)] : []
  const hear: EngagementCommand = {
    type: 'HearReply',
    messageId,
    meaning,
    ...(meaning === 'opted_out' ? { reportId: data.report_id ?? textOptOutIdOf(messageId) } : {}),
    ...(data.opted_out_before === true ? { optedOutBefore: true } : {}),
    pausedUntil: data.paused_until,
    givesUpAt: data.gives_up_at,
    at: time,
  }
  const heardBy: Intent = { decider: engagement, id: engagement_id, command: hear }
  if (meaning !== 'opted_out') return [heardBy]
  // Said to the contact first: it must be heard also where its engagement has ended by an opt-out before.
  const confirmation = answer === 'confirmation' ? { confirmation: ids } : {}
  const optOut: ContactCommand = { type: 'OptOut', engagementId: engagement_id, saying, ...confirmation }
  return [{ decider: contact, id: contact_id, command: optOut }, heardBy]
}

/** What a provider says of a number holds for whatever else would be sent to it. */
export const onMessageFailed = ({
  data,
  time: at,
}: EventOf<'MessageFailed'> | EventOf<'MessageUndelivered'>): ReadonlyArray<Intent> => {
  const trigger = endingFailures[data.kind]
  if (trigger === undefined) return []
  const report = data.report_id === undefined ? {} : { reportId: data.report_id }
  const command: EngagementCommand = { type: 'GiveUp', trigger, note: data.reason, ...report, at }
  return [{ decider: engagement, id: data.engagement_id, command }]
}

const endingFailures: { readonly [kind in FailureKind]?: GivingUp } = {
  'opted-out': 'number-opted-out',
  undeliverable: 'number-unreachable',
}

/** What is written while its contact is being erased must not stay. */
const noted = ({ message_id, account_id, contact_id, engagement_id }: MessageIds): Intent => ({
  decider: contact,
  id: contact_id,
  command: { type: 'NoteMessage', ids: { message_id, account_id, contact_id, engagement_id } },
})

export const onMessageRequested: Reaction<'MessageRequested'> = ({ data }) => (data.text === null ? [] : [noted(data)])
