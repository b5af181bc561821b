import type { EventOf, RecordedEvent } from '../../domain/events.js'
import type { AccountId, ContactId, EngagementId, MessageId } from '../../domain/ids.js'
import { monthOf, type Instant } from '../../domain/instant.js'
import { message, type Purpose } from '../../domain/message.js'
import type { StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { idIn } from '../../domain/stream-name.js'
import type { Documents } from '../ports.js'
import { collectionOf, type Projection } from '../projection.js'
import { contactShards, waitingFieldsOf } from './contact-shards.js'

/** A text that was sent to a contact, or came from it. */
export type MessageDocument = {
  readonly account_id: AccountId
  readonly id: MessageId
  readonly contact_id: ContactId
  readonly engagement_id: EngagementId
  readonly direction: 'outbound' | 'inbound'
  /** `waiting`: for the next attempt; `unknown`: it may have been sent. */
  readonly state: 'sending' | 'waiting' | 'sent' | 'delivered' | 'failed' | 'unknown' | 'received' | 'erased'
  /** Null where the contact was erased. */
  readonly text: string | null
  /** Of the playbook, counted from 0; null for what the contact wrote, and for a requested message. */
  readonly step: number | null
  readonly segments: number
  readonly attempts: number
  readonly reason: string | null
  /** Present only in a requested message: why it is sent. */
  readonly purpose?: Purpose
  /** When it was requested, its step came, or it was received: it never changes. */
  readonly created_at: Instant
  /** What the messages of a contact are ordered by: `orderOf`. */
  readonly order: string
  /** Present only in a requested message: when its first attempt was begun. */
  readonly begun_at?: Instant
  /** From which the last attempt went out, where it is the account's own. */
  readonly sender?: string
  /** Of outbound messages that were tried: to which contact, and when last. */
  readonly sent_to?: ContactId
  readonly tried_at?: Instant
  /** What `accountMonthOf` gives, once the provider has taken it: the month in UTC in which it was begun. */
  readonly account_month?: string
  /** Present only where it was erased. */
  readonly text_removed_at?: Instant
  /** Present only where it has tracked links: their code, and where they lead to. */
  readonly link_code?: string
  readonly link_urls?: ReadonlyArray<string>
  /** Present only while a requested message is due, or a provider has an erased one: in which queue, and when. */
  readonly queue?: string
  readonly next_at?: Instant
  /** As `waitingFieldsOf` gives them: present only while it waits for its account. */
  readonly waits_in?: string
  readonly waits_for?: string
}

export const messages: Projection<MessageDocument> = {
  name: 'messages',
  version: 9,
  categories: ['message'],
  indexes: {
    by_contact: ['contact_id', 'order'],
    outbound: ['sent_to', 'tried_at'],
    due: ['queue', 'next_at'],
    waiting: ['waits_in', 'waits_for'],
    link: ['link_code', 'created_at'],
    of_all: ['state', 'created_at'],
    texts_removed: ['text_removed_at'],
    by_month: ['account_month', 'segments'],
  },
  // A requested message is there before it is begun.
  createdBy: new Set(['MessageRequested', 'MessageReceived', 'MessageErased']),
  keyOf: (event) => idIn(message, event.stream),
  evolve: (document, event) => {
    switch (event.type) {
      case 'MessageRequested': {
        const { account_id, message_id: id, contact_id, engagement_id, purpose, text } = event.data
        const waiting = { direction: 'outbound', state: 'waiting', attempts: 0, reason: null, step: null } as const
        const ids = { account_id, id, contact_id, engagement_id }
        const created = { created_at: event.time, order: orderOf(event.time, true) }
        const due = dueRequested(event.data, event.time)
        return { ...ids, ...waiting, purpose, text, segments: 0, ...created, ...due }
      }
      case 'MessageBegun': {
        const {
          account_id,
          message_id: id,
          contact_id,
          engagement_id,
          step = null,
          purpose,
          text,
          segments,
          links,
          sender,
        } = event.data
        const linked = links === undefined ? {} : { link_code: links.code, link_urls: links.urls }
        const ids = { account_id, id, contact_id, engagement_id, sent_to: contact_id, tried_at: event.time }
        const requested =
          purpose === undefined ? {} : { purpose, begun_at: event.time, ...dueRequested(event.data, event.time) }
        const { created_at, order } = document ?? { created_at: event.time, order: orderOf(event.time) }
        const sending = { direction: 'outbound', state: 'sending', attempts: 1, reason: null } as const
        const from = sender === undefined ? {} : { sender }
        return { ...ids, ...sending, ...requested, ...linked, ...from, text, step, segments, created_at, order }
      }
      case 'MessageReceived': {
        const { account_id, message_id: id, contact_id, engagement_id, text } = event.data
        const ids = { account_id, id, contact_id, engagement_id }
        const received = { direction: 'inbound', state: 'received', attempts: 0, reason: null, step: null } as const
        return { ...ids, ...received, text, segments: 0, created_at: event.time, order: orderOf(event.time) }
      }
      case 'MessageErased': {
        const { account_id, message_id: id, contact_id, engagement_id, direction, segments, began_at } = event.data
        // It was closed before it had begun.
        if (event.data.state === 'unknown') return undefined
        const ids = { account_id, id, contact_id, engagement_id }
        const { sender, history = [] } = event.data
        const from = sender === undefined ? {} : { sender }
        const requested = history.find(({ type }) => type === 'MessageRequested')
        const created =
          requested === undefined
            ? { created_at: began_at, order: orderOf(began_at) }
            : { created_at: requested.at, order: orderOf(requested.at, true), begun_at: began_at }
        const to = mayHaveGoneOut(event.data) ? { sent_to: contact_id, tried_at: began_at, ...from } : {}
        const erased = { direction, state: 'erased', text: null, step: null, attempts: 0, reason: null } as const
        const due = event.data.copies === undefined ? {} : dueCopies(contact_id, event.time)
        const counted = wasTaken(event.data) ? { account_month: accountMonthOf(account_id, monthOf(began_at)) } : {}
        return { ...ids, ...erased, ...to, ...due, ...counted, ...created, segments, text_removed_at: event.time }
      }
      default:
        return document === undefined ? undefined : afterAttempt(document, event)
    }
  },
}

/** An answer has the time of the text it answers, and follows it. Always text: MongoDB orders dates after all text. */
const orderOf = (created_at: Instant, isRequested = false): string => `${created_at}/${isRequested ? 1 : 0}`

/** `month` such as 2026-01. */
const accountMonthOf = (account: AccountId, month: string): string => `${account}/${month}`

const taken = (document: MessageDocument): MessageDocument => ({
  ...document,
  account_month: accountMonthOf(document.account_id, monthOf(document.begun_at ?? document.created_at)),
})

const takenBy: ReadonlySet<string> = new Set(['MessageSent', 'MessageTaken', 'MessageDelivered'])

const wasTaken = ({ direction, state, history = [] }: EventOf<'MessageErased'>['data']): boolean =>
  direction === 'outbound' && (['sent', 'delivered'].includes(state) || history.some(({ type }) => takenBy.has(type)))

/** One that failed, waited or was never tried answers for no reply. */
const mayHaveGoneOut = ({ direction, state }: EventOf<'MessageErased'>['data']): boolean =>
  direction === 'outbound' && ['sending', 'sent', 'delivered'].includes(state)

/** The queue of requested messages: an opt-out is confirmed at once, whatever is late. It is stored by this name. */
export const requestedQueueOf = (shard: string): string => `${shard}/answers`

const dueRequested = ({ contact_id }: { readonly contact_id: ContactId }, next_at: Instant) => ({
  queue: requestedQueueOf(contactShards.of(contact_id)),
  next_at,
})

/** Copies of erased messages that a provider still has wait apart: they hold up nothing that is to be sent. */
export const copyQueueOf = (shard: string): string => `${shard}/copies`

const dueCopies = (contactId: ContactId, next_at: Instant) => ({
  queue: copyQueueOf(contactShards.of(contactId)),
  next_at,
})

const withoutQueue = (document: MessageDocument): MessageDocument => {
  const { queue: _queue, next_at: _next, ...rest } = withoutWait(document)
  return rest
}

const withoutWait = ({ waits_in: _in, waits_for: _for, ...document }: MessageDocument): MessageDocument => document

const afterAttempt = (document: MessageDocument, event: RecordedEvent): MessageDocument => {
  switch (event.type) {
    case 'MessageTriedAgain': {
      const { sender: _before, ...tried } = withoutWait(document)
      const { attempt: attempts, sender } = event.data
      const from = sender === undefined ? {} : { sender }
      return { ...tried, ...from, state: 'sending', attempts, tried_at: event.time }
    }
    case 'MessageAttemptFailed': {
      const { reason, next_attempt_at } = event.data
      // The provider may have taken it, and then have lost it.
      const due = document.purpose === undefined ? {} : dueRequested(event.data, next_attempt_at)
      return { ...document, state: 'waiting', reason, ...due }
    }
    case 'MessagePostponed': {
      const { reason, until: next_at } = event.data
      return { ...withoutWait(document), reason, next_at, ...waitingFieldsOf(document, reason, document.created_at) }
    }
    case 'MessageCopyFound':
      return { ...taken(document), ...dueCopies(document.contact_id, event.time) }
    case 'MessageCopiesErased':
      return withoutQueue(document)
    case 'MessageCopiesKept': {
      const { until } = event.data
      return until === null ? withoutQueue(document) : { ...document, next_at: until }
    }
    case 'MessageSent':
      // The provider may have reported on it before it answered.
      return {
        ...taken(withoutQueue(document)),
        state: document.state === 'delivered' ? 'delivered' : 'sent',
        reason: null,
      }
    case 'MessageTaken':
      return { ...taken(document), ...(document.state === 'unknown' ? { state: 'sent', reason: null } : {}) }
    case 'MessageDelivered':
      return { ...taken(document), state: 'delivered', reason: null }
    case 'MessageUndelivered':
      return { ...document, state: 'failed', reason: event.data.reason }
    case 'MessageFailed': {
      const { kind, reason } = event.data
      if (document.state === 'delivered') return withoutQueue(document)
      return { ...withoutQueue(document), state: kind === 'unknown' ? 'unknown' : 'failed', reason }
    }
    default:
      return document
  }
}

export type Usage = { readonly messages: number; readonly segments: number }

/**
 * What an account has sent in a month, such as 2026-01, as providers bill it. Each segment of the longest message costs
 * one count: of the messages that have at least one, at least two, and so on.
 */
export const usageIn = async (
  { count }: Pick<Documents, 'count'>,
  account: AccountId,
  month: string,
): Promise<Either<StoreFailure, Usage>> => {
  const part = { index: 'by_month', equals: [accountMonthOf(account, month)], limit: Number.MAX_SAFE_INTEGER }
  let usage: Usage = { messages: 0, segments: 0 }
  for (let from = 1; ; from += 1) {
    const counted = await count(collectionOf(messages), { ...part, from })
    if (E.isLeft(counted)) return counted
    if (counted.right === 0) return E.right(usage)
    usage = { messages: from === 1 ? counted.right : usage.messages, segments: usage.segments + counted.right }
  }
}
