import { foldStream } from '../../../domain/aggregate.js'
import { contact } from '../../../domain/contact.js'
import type { Decider } from '../../../domain/decider.js'
import { delivery } from '../../../domain/delivery.js'
import type { DomainEvent, EventOf } from '../../../domain/events.js'
import { millisecondsOf } from '../../../domain/instant.js'
import { marketingSource } from '../../../domain/marketing-source.js'
import { isOutbound, message, type MessageState } from '../../../domain/message.js'
import type { History } from './histories.js'

export type Row = Readonly<Record<string, string | number | boolean | null>>

/**
 * The tables for analysts with personal values, as the deciders and plain loops over a history make them; in no order.
 */
export const expectedTables = (history: History): Readonly<Record<string, ReadonlyArray<Row>>> => {
  const all = <T extends DomainEvent['type']>(type: T): ReadonlyArray<EventOf<T>> =>
    history.filter((event): event is EventOf<T> => event.type === type)
  const streamOf = ({ stream }: { readonly stream: string }): History =>
    history.filter((event) => event.stream === stream)
  const stateOf = <State, Event extends DomainEvent>(
    decider: Pick<Decider<State, never, Event, never>, 'initial' | 'evolve'>,
    event: { readonly stream: string },
  ): State => foldStream(decider, streamOf(event))

  const leads = all('LeadSubmitted').map(({ data, time }) => ({
    lead_id: data.lead_id,
    account_id: data.account_id,
    source_id: data.source_id,
    playbook_id: data.playbook_id,
    contact_id: data.contact_id,
    engagement_id: data.engagement_id,
    submitted_at: time,
    state: data.details.additional_info['current_residence_state'] ?? null,
    filtered: all('ActivityRecorded').some(
      (one) => one.data.activity.lead_id === data.lead_id && one.data.activity.label === 'filtered',
    ),
  }))
  const conversions = all('ConversionRecorded').map(({ data, time }) => ({
    record_id: data.record_id,
    account_id: data.account_id,
    conversion_id: data.conversion_id,
    title: data.title,
    label: data.label,
    contact_id: data.contact_id,
    converted_at: data.converted_at,
    recorded_at: time,
    value_cents: data.value,
    lead_id: data.lead_id,
    source_id: data.source_id,
    engagement_id: data.engagement_id,
  }))
  return {
    leads,
    conversions,
    contacts: all('ContactCreated').map((created) => {
      const state = stateOf(contact, created)
      const optedOut = all('ContactOptedOut').find(({ stream }) => stream === created.stream)
      if (state.kind !== 'known') throw new Error('the contact has no state')
      const { first_name, last_name, email, phone } = state.details
      return {
        contact_id: created.data.contact_id,
        account_id: created.data.account_id,
        created_at: created.time,
        first_source_id: created.data.referral.marketing_source_id,
        opted_out: state.optedOut,
        opted_out_at: optedOut?.time ?? null,
        first_name,
        last_name,
        email,
        phone,
      }
    }),
    engagements: all('EngagementStarted').map(({ data: { follow_up, ...data }, stream, time }) => {
      const ended = all('EngagementEnded').find((one) => one.stream === stream)?.data
      return {
        ...data,
        playbook_version: follow_up?.playbook_version ?? null,
        started_at: time,
        ended_at: ended?.ended_at ?? null,
        end_reason: ended?.reason ?? null,
      }
    }),
    activities: all('ActivityRecorded').map(({ id, data }) => {
      const { engagement_id } = data.activity
      const said = streamOf({ stream: `remark-${engagement_id}` })[data.remark ?? -1]
      const { note, properties } = said?.type === 'RemarkMade' ? said.data : data.activity
      const ids = { activity_id: id, record_id: data.record_id }
      return { ...data.activity, ...ids, note, properties: JSON.stringify(properties) }
    }),
    touches: conversions.flatMap(({ record_id, converted_at, contact_id }) =>
      leads
        .filter((lead) => lead.contact_id === contact_id && lead.submitted_at <= converted_at)
        .map(({ lead_id, account_id, source_id, playbook_id, submitted_at }) => ({
          record_id,
          lead_id,
          account_id,
          contact_id,
          source_id,
          playbook_id,
          submitted_at,
          converted_at,
        })),
    ),
    sources: all('MarketingSourceCreated').map((created) => {
      const { source_id, account_id, title, playbook_id } = created.data
      const state = stateOf(marketingSource, created)
      const suspended = state.kind === 'created' && state.suspended
      return { source_id, account_id, title, playbook_id, created_at: created.time, suspended }
    }),
    messages: [...all('MessageRequested'), ...all('MessageBegun'), ...all('MessageReceived')]
      .filter(({ revision }) => revision === 0)
      .map((first) => {
        const { message_id, account_id, contact_id, engagement_id } = first.data
        const { lead_id, source_id, playbook_id } =
          all('EngagementStarted').find(({ data }) => data.engagement_id === engagement_id)?.data ?? {}
        const ids = { message_id, account_id, contact_id, engagement_id, lead_id, source_id, playbook_id }
        return { ...ids, created_at: first.time, ...messageFacts(stateOf(message, first), streamOf(first)) } as Row
      }),
    deliveries: all('DeliveryDue').map((due) => {
      const state = stateOf(delivery, due)
      if (state.kind === 'unknown' || state.kind === 'erased') throw new Error('the delivery has no state')
      const { delivery_id, account_id, webhook_id, contact_id, engagement_id, lead_id, label, due_at } = due.data
      return {
        delivery_id,
        account_id,
        webhook_id,
        contact_id,
        engagement_id,
        lead_id: lead_id ?? null,
        label,
        state: state.kind,
        due_at,
        attempts: state.attempts,
        ...timesOf(due_at, streamOf(due)),
      }
    }),
  }
}

const messageFacts = (state: MessageState, stream: History): Row => {
  if (state.kind === 'received')
    return {
      direction: 'inbound',
      state: 'received',
      meaning: state.facts.meaning,
      begun_at: stream[0]?.time ?? null,
      attempts: 0,
    }
  const ended = stream.findLast(({ type }) => type === 'MessageSent' || type === 'MessageFailed')
  const isUnknown = 'failure' in state && state.kind === 'failed' && state.failure?.kind === 'unknown'
  const isOver = state.kind !== 'sending' && state.kind !== 'waiting'
  const [requested] = stream
  const shown = { requested: 'waiting', withdrawn: 'failed', unknown: null, erased: null } as const
  const common = {
    direction: 'outbound',
    purpose: requested?.type === 'MessageRequested' ? requested.data.purpose : 'step',
    state: isUnknown ? 'unknown' : state.kind in shown ? shown[state.kind as keyof typeof shown] : state.kind,
    ended_at: isOver ? (ended?.time ?? null) : null,
    begun_at: stream.find(({ type }) => type === 'MessageBegun')?.time ?? null,
  }
  if (!isOutbound(state)) return { ...common, attempts: 0 }
  return { ...common, step: state.facts.step ?? null, segments: state.segments, attempts: state.attempt }
}

/** By way of the state after each event. */
const timesOf = (due: EventOf<'DeliveryDue'>['data']['due_at'], stream: History): Row => {
  const kinds = stream.map((_, index) => {
    const state = foldStream(delivery, stream.slice(0, index + 1))
    return state.kind
  })
  const kind = kinds.at(-1)
  const since = stream[kinds.findLastIndex((one) => one !== kind) + 1]?.time ?? null
  const isEnded = kind !== 'due' && kind !== 'held'
  const attempted = stream.find(({ data }) => 'outcome' in data && data.outcome !== null)
  return {
    first_attempt_at: attempted?.time ?? null,
    ended_at: isEnded ? since : null,
    delay_ms: kind === 'succeeded' && since !== null ? millisecondsOf(since) - millisecondsOf(due) : null,
  }
}
