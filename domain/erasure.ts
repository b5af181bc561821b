import { NaturalNumber, refined, t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ContactId, DeliveryId, ErasureId, LeadId, type MessageId, WebhookId } from './ids.js'
import { MessageIds } from './message.js'
import { E, unreachable, type Either } from './prelude.js'

/** An id, so that no name and no e-mail address is kept of who asked. */
export const Asker = refined(
  'an id of up to 100 letters, digits, dots, colons, dashes and underscores',
  (value): value is string => typeof value === 'string' && /^[\w.:-]{1,100}$/.test(value),
)

const Facts = t.type({ erasure_id: ErasureId, account_id: AccountId, contact_id: ContactId, by: Asker })
type ErasureFacts = t.TypeOf<typeof Facts>

/** The count of the webhooks is left out where all of them are named. */
const StoredSummary = t.intersection([
  t.type({
    webhooks: t.readonlyArray(t.type({ webhook_id: WebhookId, deliveries: NaturalNumber })),
    dropped: t.readonlyArray(DeliveryId),
    dropped_count: NaturalNumber,
  }),
  t.partial({ webhooks_count: NaturalNumber }),
])

/**
 * What was told of the contact to which webhooks, and the deliveries that were still due: all of them counted, the
 * first ones named.
 */
export type ErasureSummary = Required<t.TypeOf<typeof StoredSummary>>

/**
 * Webhooks that a summary names at most, and deliveries: an account may have had any number of webhooks that were
 * removed since.
 */
export const mostNamed = 1_000

/** The erasure of a contact: who asked for it and how it ended, in ids only. */
export const ErasureEvent = t.union([
  eventOf('ErasureRequested', Facts),
  /** The lead was accepted while its contact was being erased, so it is erased too. */
  eventOf('LateLeadFound', t.type({ erasure_id: ErasureId, lead_id: LeadId })),
  /** The same of a text to the contact, or from it. */
  eventOf('LateMessageFound', t.intersection([MessageIds, t.type({ erasure_id: ErasureId })])),
  eventOf('ErasureCompleted', t.intersection([t.type({ erasure_id: ErasureId }), StoredSummary])),
])
export type ErasureEvent = t.TypeOf<typeof ErasureEvent>

type ErasureState =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'requested' | 'completed'
      readonly facts: ErasureFacts
      readonly lateLeads: ReadonlyArray<LeadId>
      readonly lateMessages: ReadonlyArray<MessageId>
      /** Undefined until it is completed. */
      readonly summary: ErasureSummary | undefined
    }

export type ErasureCommand =
  | { readonly type: 'RequestErasure'; readonly facts: ErasureFacts }
  | { readonly type: 'AddLateLead'; readonly erasureId: ErasureId; readonly leadId: LeadId }
  | { readonly type: 'AddLateMessage'; readonly erasureId: ErasureId; readonly ids: MessageIds }
  | { readonly type: 'CompleteErasure'; readonly summary: ErasureSummary }

const evolve = (state: ErasureState, event: ErasureEvent): ErasureState => {
  switch (event.type) {
    case 'ErasureRequested':
      return { kind: 'requested', facts: event.data, lateLeads: [], lateMessages: [], summary: undefined }
    case 'LateLeadFound':
      return state.kind === 'unknown' ? state : { ...state, lateLeads: [...state.lateLeads, event.data.lead_id] }
    case 'LateMessageFound':
      return state.kind === 'unknown'
        ? state
        : { ...state, lateMessages: [...state.lateMessages, event.data.message_id] }
    case 'ErasureCompleted': {
      const { webhooks, webhooks_count = webhooks.length, dropped, dropped_count } = event.data
      return state.kind === 'unknown'
        ? state
        : { ...state, kind: 'completed', summary: { webhooks, webhooks_count, dropped, dropped_count } }
    }
    default:
      return unreachable(event)
  }
}

const decide = (command: ErasureCommand, state: ErasureState): Either<never, ReadonlyArray<ErasureEvent>> => {
  switch (command.type) {
    case 'RequestErasure':
      return E.right(state.kind === 'unknown' ? [{ type: 'ErasureRequested', data: command.facts }] : [])
    case 'AddLateLead':
      if (state.kind !== 'unknown' && state.lateLeads.includes(command.leadId)) return E.right([])
      return E.right([{ type: 'LateLeadFound', data: { erasure_id: command.erasureId, lead_id: command.leadId } }])
    case 'AddLateMessage':
      if (state.kind !== 'unknown' && state.lateMessages.includes(command.ids.message_id)) return E.right([])
      return E.right([{ type: 'LateMessageFound', data: { ...command.ids, erasure_id: command.erasureId } }])
    case 'CompleteErasure': {
      if (state.kind !== 'requested') return E.right([])
      const { webhooks, webhooks_count, ...dropped } = command.summary
      const first = webhooks.slice(0, mostNamed)
      const count = first.length < webhooks_count ? { webhooks_count } : {}
      const data = { erasure_id: state.facts.erasure_id, webhooks: first, ...count, ...dropped }
      return E.right([{ type: 'ErasureCompleted', data }])
    }
    default:
      return unreachable(command)
  }
}

export const erasure: Decider<ErasureState, ErasureCommand, ErasureEvent, never> = {
  category: 'erasure',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
