import fc from 'fast-check'
import { account } from '../../../domain/account.js'
import { labelsOf } from '../../../domain/activity.js'
import { foldStream } from '../../../domain/aggregate.js'
import { contact } from '../../../domain/contact.js'
import { conversion } from '../../../domain/conversion.js'
import { conversionRecord } from '../../../domain/conversion-record.js'
import type { Decider } from '../../../domain/decider.js'
import { mostAttempts } from '../../../domain/retry-schedule.js'
import { delivery, type DeliveryCommand } from '../../../domain/delivery.js'
import {
  contactIdOf,
  deliveryIdOf,
  derivedEventId,
  erasureIdOf,
  noticeIdOf,
  parkedEventIdOf,
  recordIdOf,
  stepMessageIdOf,
  type AccountSecret,
} from '../../../domain/derived-id.js'
import type { DomainEvent, EventOf, RecordedEvent } from '../../../domain/events.js'
import { engagement } from '../../../domain/engagement.js'
import { erasure } from '../../../domain/erasure.js'
import type { AccountId, DeliveryId } from '../../../domain/ids.js'
import { lead } from '../../../domain/lead.js'
import type { MailOutcome } from '../../../domain/mail-outcome.js'
import { marketingSource } from '../../../domain/marketing-source.js'
import { message } from '../../../domain/message.js'
import { notice } from '../../../domain/notice.js'
import { parkedEvent } from '../../../domain/parked-event.js'
import { playbook } from '../../../domain/playbook.js'
import { E } from '../../../domain/prelude.js'
import { reactions } from '../../../domain/reactions.js'
import { remark } from '../../../domain/remark.js'
import { resend } from '../../../domain/resend.js'
import { sendingHold } from '../../../domain/sending-hold.js'
import { streamOf } from '../../../domain/stream-name.js'
import { webhook } from '../../../domain/webhook.js'
import {
  accountId,
  apiKeyId,
  at,
  conversionId,
  details,
  engagementId,
  leadId,
  memberId,
  messageId,
  phone,
  playbookId,
  positionAt,
  resendId,
  sourceId,
  uuid,
  webhookId,
  webhookSettings,
} from './samples.js'

export type History = ReadonlyArray<RecordedEvent>

type EventType = DomainEvent['type']

/**
 * One thing that a vendor, a customer, a receiver or an admin does; the numbers choose to whom among those there are.
 */
export type Step = {
  readonly does: (typeof doings)[number] | 'begin the erasure of a contact'
  readonly whom: number
  readonly how: number
  readonly after: number
}

const doings = [
  'open an account',
  'create a source',
  'suspend or resume a source',
  'submit a lead',
  'submit a lead',
  'submit a lead',
  'report an activity',
  'report an activity',
  'take a step',
  'take a step',
  'write a text',
  'answer',
  'write by hand',
  'define a conversion',
  'record a conversion',
  'add a webhook',
  'change or remove a webhook',
  'make deliveries due',
  'make deliveries due',
  'attempt a delivery',
  'attempt a delivery',
  'attempt a delivery',
  'give a delivery up',
  'hold, resume, skip or abandon a delivery',
  'resend a delivery',
  'turn a webhook on',
  'mail a notice',
  'change a playbook',
  'hold or release a sender',
  'park an event',
] as const

const steps: fc.Arbitrary<Step> = fc.record({
  does: fc.constantFrom(...doings),
  whom: fc.nat(20),
  how: fc.nat(30),
  after: fc.constantFrom(0, 0, 1, 1000),
})

const beginnings: ReadonlyArray<Step> = [
  { does: 'open an account', whom: 0, how: 0, after: 0 },
  { does: 'create a source', whom: 0, how: 0, after: 1 },
  { does: 'add a webhook', whom: 0, how: 0, after: 0 },
]

const outcomes: ReadonlyArray<MailOutcome> = [
  { kind: 'failed', reason: 'SMTP 451' },
  { kind: 'failed', reason: 'no connection' },
  { kind: 'refused', reason: 'SMTP 550' },
  'sent',
]

const secretOf = (id: AccountId): AccountSecret => Buffer.from(id) as AccountSecret

/**
 * What the whole log looks like after `taken`, with every reaction carried out. Made by the deciders themselves, so
 * that a history is always one that could have happened.
 */
export const historyOf = (taken: ReadonlyArray<Step>): History => {
  const log: Array<RecordedEvent> = []
  const streams = new Map<string, Array<RecordedEvent>>()
  let now = 0

  const all = <T extends EventType>(type: T): ReadonlyArray<EventOf<T>> =>
    log.filter((event): event is EventOf<T> => event.type === type)

  const stateOf = <State, Command extends { readonly type: string }, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
  ): State => foldStream(decider, streams.get(streamOf(decider, id)) ?? [])

  const attemptsOf = (id: DeliveryId): number => {
    const state = stateOf(delivery, id)
    return state.kind === 'unknown' || state.kind === 'erased' ? 0 : state.attempts
  }

  const execute = <State, Command extends { readonly type: string }, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    command: NoInfer<Command>,
    cause?: RecordedEvent,
  ): void => {
    const name = streamOf(decider, id)
    const stream = streams.get(name) ?? []
    const decided = decider.decide(command, stateOf(decider, id))
    if (E.isLeft(decided)) return
    const appended = decided.right.map((event: DomainEvent, index): RecordedEvent => {
      const position = log.length + index + 1
      const own = cause === undefined ? uuid(position) : derivedEventId(cause.id, `${id}/${command.type}`, index)
      return {
        ...event,
        id: own,
        time: at(now),
        correlationId: cause?.correlationId ?? own,
        causationId: cause?.id ?? own,
        schemaVersion: 1,
        actor: 'test',
        stream: name,
        revision: stream.length + index,
        position: positionAt(position),
      }
    })
    streams.set(name, [...stream, ...appended])
    log.push(...appended)
    for (const event of appended) react(event)
  }

  const react = (event: RecordedEvent): void => {
    for (const { decider, id, command } of reactions(event)) {
      execute(decider as unknown as Decider<unknown, typeof command, DomainEvent, unknown>, id, command, event)
    }
  }

  const take = ({ does, whom, how }: Step): void => {
    const pick = <T extends EventType>(type: T): EventOf<T> | undefined => {
      const known = all(type)
      return known[whom % Math.max(known.length, 1)]
    }
    const fresh = log.length + 1
    switch (does) {
      case 'open an account': {
        execute(account, accountId(fresh), {
          type: 'OpenAccount',
          accountId: accountId(fresh),
          title: `Account ${fresh}`,
          sealedSecret: 'sealed',
          playbookId: playbookId(fresh),
          quotedId: conversionId(fresh),
          soldId: conversionId(fresh + 1),
          apiKeyId: apiKeyId(fresh),
          apiKeyHash: 'hash',
        })
        return
      }
      case 'create a source': {
        const opened = pick('AccountOpened')
        if (opened === undefined) return
        const { account_id, playbook_id } = opened.data
        execute(playbook, playbook_id, { type: 'UsePlaybook', accountId: account_id })
        execute(marketingSource, sourceId(fresh), {
          type: 'CreateSource',
          sourceId: sourceId(fresh),
          accountId: account_id,
          title: `Source ${fresh}`,
          playbookId: playbook_id,
          originatorField: null,
        })
        return
      }
      case 'suspend or resume a source': {
        const source = pick('MarketingSourceCreated')
        if (source === undefined) return
        const type = how % 2 === 0 ? 'SuspendSource' : 'ResumeSource'
        const { source_id, account_id } = source.data
        execute(marketingSource, source_id, { type, accountId: account_id })
        execute(marketingSource, source_id, { type: 'LimitSource', accountId: account_id, limitPerMinute: how })
        return
      }
      case 'submit a lead': {
        const source = pick('MarketingSourceCreated')
        if (source === undefined) return
        const { source_id, account_id, title, playbook_id } = source.data
        const number = phone(how % 4)
        execute(lead, leadId(fresh), {
          type: 'SubmitLead',
          facts: {
            lead_id: leadId(fresh),
            account_id,
            source_id,
            source_title: title,
            playbook_id,
            contact_id: contactIdOf(secretOf(account_id), number),
            engagement_id: engagementId(fresh),
            details: details({
              phone: number,
              first_name: `Name ${how}`,
              additional_info: { [`field_${how}`]: '1', ...(how % 3 === 0 ? {} : { current_residence_state: 'CA' }) },
            }),
            consent: { tcpa_opt_in_token: 'token', tcpa_opt_in_url: 'https://consent.example' },
            originators: how % 3 === 0 ? [] : [{ origin: title, key: `crm-${how}` }],
            ...(how % 2 === 0
              ? {}
              : { follow_up: { playbook_version: 1, first_step_at: how % 7 === 0 ? null : at(now) } }),
          },
        })
        return
      }
      case 'begin the erasure of a contact': {
        const created = pick('ContactCreated')
        if (created === undefined) return
        const { contact_id, account_id } = created.data
        const erasure_id = erasureIdOf(contact_id)
        const facts = { erasure_id, account_id, contact_id, by: 'operator' }
        execute(erasure, erasure_id, { type: 'RequestErasure', facts })
        const closing = { contactId: contact_id, erasureId: erasure_id, optHistory: [] }
        execute(contact, contact_id, { type: 'EraseContact', ...closing })
        return
      }
      case 'report an activity': {
        const started = pick('EngagementStarted')
        if (started === undefined) return
        const labels = how % 2 === 0 ? labelsOf.event : labelsOf.outcome
        const label = labels[how % labels.length] ?? 'interested'
        const { engagement_id: engagementId, account_id: accountId, contact_id: contactId } = started.data
        const call = label === 'phone_call_scheduled' && how % 3 > 0 ? { callUntil: at(now + 500) } : {}
        const report = { type: 'RecordActivity', accountId, label, at: at(now), ...call } as const
        if (E.isLeft(engagement.decide(report, stateOf(engagement, engagementId)))) return
        const said = { note: how % 3 === 0 ? null : 'a note', properties: how % 5 === 0 ? { seconds: how } : {} }
        if (how % 15 === 0) {
          execute(engagement, engagementId, report)
          return
        }
        execute(remark, engagementId, { type: 'MakeRemark', engagementId, accountId, contactId, remark: said })
        const { made } = stateOf(remark, engagementId)
        execute(engagement, engagementId, { ...report, remark: made - 1 })
        return
      }
      case 'take a step': {
        const started = pick('EngagementStarted')
        if (started === undefined) return
        const { engagement_id, account_id, contact_id } = started.data
        const state = stateOf(engagement, engagement_id)
        if (state.kind !== 'started' || state.followUp === undefined) return
        const { begun: step } = state.followUp
        const message_id = stepMessageIdOf(engagement_id, step)
        const begin = { type: 'BeginStep', step, attempt: 1, messageId: message_id, at: at(now) } as const
        if (E.isLeft(engagement.decide(begin, state))) return
        execute(engagement, engagement_id, begin)
        const facts = { message_id, account_id, contact_id, engagement_id, step }
        execute(message, message_id, { type: 'BeginMessage', facts, text: 'A text', segments: 1, at: at(now) })
        const after = { next_step_at: how % 3 === 0 ? null : at(now + 1), gives_up_at: at(now + 1_000) }
        const failed = { kind: how % 4 === 0 ? 'undeliverable' : 'unknown', reason: 'a code' } as const
        const ending = how % 2 === 0 ? failed : ({ kind: 'sent', providerId: null } as const)
        if (how % 5 === 0)
          execute(message, message_id, {
            type: 'RecordFailedAttempt',
            attempt: 1,
            reason: 'HTTP 503',
            nextAttemptAt: at(now + 60),
          })
        else execute(message, message_id, { type: 'EndMessage', attempt: 1, ending, after })
        const reports = [
          { kind: 'delivered' },
          { kind: 'taken' },
          { kind: 'undeliverable', reason: 'a code' },
          { kind: 'unreached', reason: 'a code' },
        ] as const
        const report = { providerId: 'a', ...(reports[how % reports.length] ?? { kind: 'taken' }) }
        execute(message, message_id, { type: 'ReportMessage', report, retryAt: at(now + 60) })
        return
      }
      case 'write a text': {
        const started = pick('EngagementStarted')
        if (started === undefined) return
        const { engagement_id, account_id, contact_id } = started.data
        const meanings = ['reply', 'opted_out', 'qualified', 'not_interested', 'opted_in', 'help'] as const
        const meaning = meanings[how % meanings.length] ?? 'reply'
        const facts = { message_id: messageId(fresh), account_id, contact_id, engagement_id, meaning, text: 'A reply' }
        const until = { paused_until: at(now + 100), gives_up_at: at(now + 1_000) }
        const isAnswered = how % 7 > 0 && (meaning === 'opted_out' || meaning === 'help')
        const answered = isAnswered ? ({ answer: meaning === 'help' ? 'help' : 'confirmation' } as const) : {}
        execute(message, messageId(fresh), { type: 'ReceiveMessage', facts: { ...facts, ...until, ...answered } })
        return
      }
      case 'answer': {
        const requested = pick('MessageRequested')
        if (requested === undefined) return
        const { purpose: _purpose, text: _text, expires_at: _expires, ...ids } = requested.data
        const id = ids.message_id
        if (how % 5 === 0) execute(message, id, { type: 'PostponeMessage', until: at(now + 60), reason: 'quiet hours' })
        else if (how % 5 === 1)
          execute(message, id, { type: 'WithdrawMessage', kind: 'withdrawn', reason: 'the contact opted out' })
        else {
          execute(message, id, { type: 'BeginMessage', facts: ids, text: 'An answer', segments: 1, at: at(now) })
          const ending = { kind: 'sent', providerId: null } as const
          if (how % 5 === 2) execute(message, id, { type: 'EndMessage', attempt: 1, ending })
        }
        return
      }
      case 'write by hand': {
        const started = pick('EngagementStarted')
        if (started === undefined) return
        const { engagement_id, account_id, contact_id } = started.data
        const ids = { message_id: messageId(fresh), account_id, contact_id, engagement_id }
        const request = { purpose: 'member', text: 'By hand', expires_at: at(now + 1_000) } as const
        execute(message, ids.message_id, { type: 'RequestMessage', ids, request })
        return
      }
      case 'define a conversion': {
        const opened = pick('AccountOpened')
        if (opened === undefined) return
        execute(conversion, conversionId(fresh), {
          type: 'DefineConversion',
          conversionId: conversionId(fresh),
          accountId: opened.data.account_id,
          title: `Conversion ${how}`,
          value: how,
          label: 'custom_conversion',
        })
        return
      }
      case 'record a conversion': {
        const created = pick('ContactCreated')
        if (created === undefined) return
        const { contact_id, account_id } = created.data
        const defined = all('ConversionDefined').filter(({ data }) => data.account_id === account_id)
        const state = stateOf(contact, contact_id)
        const chosen = defined[how % Math.max(defined.length, 1)]
        if (chosen === undefined || state.kind !== 'known' || state.newest === undefined) return
        const { conversion_id, title, label, value } = chosen.data
        const { leadId: lead_id, sourceId: source_id, engagementId: engagement_id } = state.newest
        const record_id = recordIdOf(conversion_id, contact_id)
        const ids = { record_id, account_id, conversion_id, contact_id, engagement_id, lead_id, source_id }
        const ends = how % 3 === 0 ? [] : state.unconverted
        const facts = { ...ids, title, label, converted_at: at(now), value, ends }
        execute(conversionRecord, record_id, { type: 'RecordConversion', facts })
        return
      }
      case 'add a webhook': {
        const opened = pick('AccountOpened')
        if (opened === undefined) return
        execute(webhook, webhookId(fresh), {
          type: 'AddWebhook',
          webhookId: webhookId(fresh),
          accountId: opened.data.account_id,
          settings: webhookSettings({ sealed_token: `token ${fresh}`, format: how % 2 === 0 ? 'agent' : 'flat' }),
        })
        return
      }
      case 'change or remove a webhook': {
        const added = pick('WebhookAdded')
        if (added === undefined) return
        const { webhook_id, account_id } = added.data
        const remove = { type: 'RemoveWebhook', accountId: account_id } as const
        const settings = { url: `https://receiver.example/${how}`, sealed_token: `token ${how}` }
        const change = { type: 'ChangeWebhook', accountId: account_id, settings } as const
        execute(webhook, webhook_id, how % 4 === 0 ? remove : change)
        return
      }
      case 'make deliveries due': {
        const recorded = pick('ActivityRecorded')
        if (recorded === undefined) return
        const { activity } = recorded.data
        for (const { data } of all('WebhookAdded').filter((added) => added.data.account_id === activity.account_id)) {
          const delivery_id = deliveryIdOf(data.webhook_id, recorded.id)
          const { account_id, label, contact_id, engagement_id, lead_id } = activity
          const known = { delivery_id, account_id, webhook_id: data.webhook_id, contact_id, engagement_id }
          // Older versions did not name the lead.
          const ids = how % 3 === 0 ? known : { ...known, lead_id, lead_submitted_at: at(now) }
          const facts = { ...ids, activity_id: recorded.id, label, due_at: at(now), body: `{"how":${how}}` }
          execute(delivery, delivery_id, { type: 'MakeDue', facts, heldAt: how % 5 === 0 ? 2 : undefined }, recorded)
        }
        return
      }
      case 'attempt a delivery':
      case 'give a delivery up': {
        const due = pick('DeliveryDue')
        if (due === undefined) return
        const { delivery_id } = due.data
        const times = does === 'give a delivery up' ? mostAttempts : 1
        for (let time = 0; time < times; time += 1) {
          const delivered = times === 1 && how % 3 === 0
          const status = delivered ? 200 : 500
          execute(delivery, delivery_id, {
            type: 'RecordAttempt',
            delivered,
            outcome: { attempt: attemptsOf(delivery_id) + 1, status, reason: `HTTP ${status}`, duration_ms: how },
            nextAttemptAt: at(now + 15_000),
          })
        }
        return
      }
      case 'hold, resume, skip or abandon a delivery': {
        const due = pick('DeliveryDue')
        if (due === undefined) return
        const commands: ReadonlyArray<DeliveryCommand> = [
          { type: 'HoldDelivery', webhookVersion: 2 },
          { type: 'ResumeDelivery', dueAt: at(now) },
          { type: 'SkipDelivery', by: 'operator' },
          { type: 'AbandonDelivery' },
        ]
        const command = commands[how % commands.length]
        if (command !== undefined) execute(delivery, due.data.delivery_id, command)
        return
      }
      case 'resend a delivery': {
        const due = pick('DeliveryDue')
        if (due === undefined) return
        const { delivery_id, account_id: accountId, webhook_id: webhookId } = due.data
        const one = resendId(how % 2)
        const period = { from: at(0), to: at(now) }
        execute(resend, one, { type: 'StartResend', resendId: one, accountId, webhookId, ...period })
        execute(delivery, delivery_id, { type: 'RequestResend', resendId: how % 3 === 0 ? null : one, dueAt: at(now) })
        if (how % 5 === 0) return
        const delivered = how % 2 === 0
        const outcome = {
          attempt: attemptsOf(delivery_id) + 1,
          status: delivered ? 200 : 500,
          reason: 'resent',
          duration_ms: how,
        }
        execute(delivery, delivery_id, { type: 'RecordResend', delivered, outcome })
        execute(resend, one, how % 7 === 0 ? { type: 'CancelResend', webhookId } : { type: 'CompleteResend' })
        return
      }
      case 'turn a webhook on': {
        const added = pick('WebhookAdded')
        if (added === undefined) return
        const { webhook_id, account_id: accountId } = added.data
        execute(webhook, webhook_id, { type: 'TurnOnWebhook', accountId, catchUp: how % 2 === 0, by: 'operator' })
        return
      }
      case 'mail a notice': {
        const off = pick('WebhookTurnedOff')
        if (off === undefined) return
        const added = all('WebhookAdded').find(({ stream }) => stream === off.stream)
        if (added === undefined) return
        const { account_id, webhook_id } = added.data
        const member_id = memberId(how % 3)
        const notice_id = noticeIdOf(off.id, member_id)
        const ids = { notice_id, account_id, member_id, webhook_id, turned_off_id: off.id }
        const facts = { ...ids, turned_off_at: off.time, reason: off.data.reason, due_at: at(now) }
        execute(notice, notice_id, { type: 'MakeDue', facts }, off)
        const failures = (streams.get(`notice-${notice_id}`) ?? []).length - 1
        const outcome = outcomes[how % outcomes.length] ?? 'sent'
        const nextAttemptAt = at(now + 60_000)
        execute(notice, notice_id, { type: 'RecordAttempt', attempt: failures + 1, outcome, nextAttemptAt })
        return
      }
      case 'park an event': {
        const event = log[whom % Math.max(log.length, 1)]
        if (event === undefined) return
        const process_manager = how % 2 === 0 ? 'reactions' : 'delivery_projector'
        const parked_event_id = parkedEventIdOf(process_manager, event.id)
        const { id: event_id, type: event_type, stream: event_stream, revision } = event
        const of = { event_id, event_type, event_stream, ...(how % 2 === 0 ? { event_revision: revision } : {}) }
        const facts = { parked_event_id, process_manager, ...of, reason: `reason ${how}` }
        execute(parkedEvent, parked_event_id, { type: 'ParkEvent', facts }, event)
        if (how % 3 === 0) return
        execute(parkedEvent, parked_event_id, { type: 'RequestRetry' })
        if (how % 5 === 0) return
        execute(parkedEvent, parked_event_id, { type: 'RecordRetry', failure: how % 3 === 1 ? undefined : 'again' })
        return
      }
      case 'hold or release a sender': {
        const opened = pick('AccountOpened')
        if (opened === undefined) return
        const { account_id: accountId } = opened.data
        const by = { accountId, saidBy: how % 2 === 0 ? 'answer' : 'report', at: at(now) } as const
        if (how % 3 === 0) execute(sendingHold, accountId, { type: 'ReleaseSender', ...by })
        else execute(sendingHold, accountId, { type: 'HoldSender', ...by, reason: 'a code' })
        const limit = { month: '2026-01', segmentsPerMonth: how } as const
        if (how % 5 === 0) execute(sendingHold, accountId, { type: 'ReachSegmentLimit', accountId, ...limit })
        return
      }
      case 'change a playbook': {
        const created = pick('PlaybookCreated')
        if (created === undefined) return
        const { playbook_id, account_id } = created.data
        const settings = { title: `Playbook ${how}`, give_up_after_minutes: how }
        execute(playbook, playbook_id, { type: 'ChangePlaybook', accountId: account_id, settings })
        return
      }
    }
  }

  for (const step of taken) {
    // By the moments of texts and reports analysts see whether a contact opted in or out last.
    const own = step.does === 'write a text' ? 1 : 0
    now += Math.max(step.after, own)
    take(step)
    now += own
  }
  return log
}

/** Whole histories of one service, small enough to be read when one of them is a counterexample. */
export const histories: fc.Arbitrary<History> = fc
  .array(steps, { maxLength: 50, size: 'max' })
  .map((taken) => historyOf([...beginnings, ...taken]))

/** One history in which about everything happens that can happen, the same each time for one seed. */
export const eventfulHistory = (seed: number): History => {
  const [taken = []] = fc.sample(fc.array(steps, { minLength: 600, maxLength: 600, size: 'max' }), { numRuns: 1, seed })
  return historyOf([...beginnings, ...taken])
}
