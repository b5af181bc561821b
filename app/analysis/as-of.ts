import { account } from '../../domain/account.js'
import { contact } from '../../domain/contact.js'
import { conversionRecord } from '../../domain/conversion-record.js'
import { conversion } from '../../domain/conversion.js'
import { delivery } from '../../domain/delivery.js'
import { engagement } from '../../domain/engagement.js'
import type { Position } from '../../domain/event.js'
import type { DomainEvent, RecordedEvent } from '../../domain/events.js'
import {
  AccountId,
  ContactId,
  ConversionId,
  DeliveryId,
  EngagementId,
  LeadId,
  MessageId,
  PlaybookId,
  RecordId,
  ResendId,
  SourceId,
  WebhookId,
} from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import { lead } from '../../domain/lead.js'
import { marketingSource } from '../../domain/marketing-source.js'
import { message } from '../../domain/message.js'
import { personalStateFields, secretStateFields } from '../../domain/personal-data.js'
import { playbook } from '../../domain/playbook.js'
import type { LogReader } from '../../domain/ports.js'
import { resend } from '../../domain/resend.js'
import { orThrow } from '../../domain/store-failed.js'
import { streamOf } from '../../domain/stream-name.js'
import { webhook } from '../../domain/webhook.js'
import { replayed, type ReplayedEvent } from './replay.js'

/** Up to and including it. */
export type Moment = { readonly at: Instant } | { readonly position: Position }

type Json = Readonly<Record<string, unknown>>
type Shown = { readonly isPersonalShown: boolean }

/** What had become of something at a moment. */
type AsOf = {
  readonly id: string
  /** Of the last event that it rests on; null where it was not there yet. */
  readonly revision: number | null
  readonly recorded_at: string | null
  /** What the rules knew of it; null where it was not there yet. */
  readonly state: Json | null
}

const kinds = [
  [AccountId, account],
  [ContactId, contact],
  [LeadId, lead],
  [EngagementId, engagement],
  [MessageId, message],
  [PlaybookId, playbook],
  [SourceId, marketingSource],
  [ConversionId, conversion],
  [RecordId, conversionRecord],
  [WebhookId, webhook],
  [DeliveryId, delivery],
  [ResendId, resend],
] as const

/** Everything that can be asked about by its id, for a sentence. */
export const askable =
  'an account, a contact, a lead, an engagement, a message, a playbook, a marketing source, a conversion, a conversion record, a webhook, a delivery or a resend'

const deciderOf = (id: string) => kinds.find(([codec]) => codec.is(id))?.[1]

export const isAskable = (id: string): boolean => deciderOf(id) !== undefined

/**
 * The state of what has this id, and the events since.
 * @throws StoreFailed
 */
export const asOf = async (
  { read }: Pick<LogReader, 'read'>,
  id: string,
  moment: Moment,
  shown: Shown,
): Promise<AsOf & { readonly since: ReadonlyArray<ReplayedEvent> }> => {
  const events = await eventsOf(read, id)
  const until = countUntil(events, moment)
  return { ...stateAfter(id, events.slice(0, until), shown), since: eventsShown(events.slice(until), shown) }
}

/**
 * What it was at two moments, and the events between them.
 * @throws StoreFailed
 */
export const difference = async (
  { read }: Pick<LogReader, 'read'>,
  id: string,
  [from, to]: readonly [Moment, Moment],
  shown: Shown,
): Promise<Json> => {
  const events = await eventsOf(read, id)
  const [first, last] = [countUntil(events, from), countUntil(events, to)]
  const [before, after] = [stateAfter(id, events.slice(0, first), shown), stateAfter(id, events.slice(0, last), shown)]
  const names = new Set([...Object.keys(before.state ?? {}), ...Object.keys(after.state ?? {})])
  const changed = [...names].flatMap((name) => {
    const [was, is] = [before.state?.[name], after.state?.[name]]
    return JSON.stringify(was) === JSON.stringify(is) ? [] : [[name, { before: was ?? null, after: is ?? null }]]
  })
  return {
    id,
    before,
    after,
    changed: Object.fromEntries(changed) as Json,
    events: eventsShown(events.slice(first, Math.max(first, last)), shown),
  }
}

const eventsOf = async (read: LogReader['read'], id: string): Promise<ReadonlyArray<RecordedEvent>> => {
  const decider = deciderOf(id)
  return decider === undefined ? [] : orThrow(await read(streamOf(decider, id))).events
}

/**
 * How many events of a stream happened until then. They stand in their order, so after the first that is later all are.
 */
const countUntil = (events: ReadonlyArray<RecordedEvent>, moment: Moment): number => {
  const isLater = (event: RecordedEvent): boolean =>
    'at' in moment ? event.time > moment.at : event.position > moment.position
  const first = events.findIndex(isLater)
  return first === -1 ? events.length : first
}

const stateAfter = (id: string, events: ReadonlyArray<RecordedEvent>, shown: Shown): AsOf => {
  const last = events.at(-1)
  const decider = deciderOf(id)
  if (last === undefined || decider === undefined) return { id, revision: null, recorded_at: null, state: null }
  const evolve = decider.evolve as (state: unknown, event: DomainEvent) => unknown
  const state = events.reduce<unknown>((before, event) => evolve(before, event), decider.initial)
  return { id, revision: last.revision, recorded_at: last.time, state: plain(state, shown) as Json }
}

const eventsShown = (events: ReadonlyArray<RecordedEvent>, shown: Shown): ReadonlyArray<ReplayedEvent> =>
  events.map((event) => replayed(event, shown))

/** A state as JSON, with the names that the events have. */
const plain = (value: unknown, shown: Shown): unknown => {
  if (value instanceof Map) return plain(Object.fromEntries(value) as Json, shown)
  if (value instanceof Set) return plain([...value], shown)
  if (Array.isArray(value)) return value.map((one) => plain(one, shown))
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value as Json).filter(
    ([name]) => !secretStateFields.has(name) && (shown.isPersonalShown || !personalStateFields.has(name)),
  )
  return Object.fromEntries(fields.map(([name, field]) => [snakeCase(name), plain(field, shown)]))
}

/** Ids, the keys of what is listed by them, are left as they are. */
const snakeCase = (name: string): string =>
  name.includes('_') ? name : name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
