import { t } from './codec.js'
import { ConversionLabel } from './conversion.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ContactId, ConversionId, EngagementId, LeadId, RecordId, SourceId } from './ids.js'
import { Instant } from './instant.js'
import { E, type Either } from './prelude.js'

const Facts = {
  record_id: RecordId,
  account_id: AccountId,
  conversion_id: ConversionId,
  title: t.string,
  label: ConversionLabel,
  contact_id: ContactId,
  converted_at: Instant,
  value: t.number,
  /** The contact's newest engagement, which the activity belongs to, and the lead and source it came from. */
  engagement_id: EngagementId,
  lead_id: LeadId,
  source_id: SourceId,
  /** Open engagements that this record ends; none where they are to stay open. */
  ends: t.readonlyArray(EngagementId),
}

export const ConversionRecordEvent = eventOf('ConversionRecorded', t.type(Facts))
export type ConversionRecordEvent = t.TypeOf<typeof ConversionRecordEvent>

export type ConversionRecordFacts = ConversionRecordEvent['data']

type ConversionRecordState =
  { readonly kind: 'unknown' } | { readonly kind: 'recorded'; readonly facts: ConversionRecordFacts }

export type ConversionRecordCommand = { readonly type: 'RecordConversion'; readonly facts: ConversionRecordFacts }

const evolve = (_state: ConversionRecordState, event: ConversionRecordEvent): ConversionRecordState => ({
  kind: 'recorded',
  facts: event.data,
})

/** The same conversion of the same contact again changes nothing (contract 4.5, rule 4). */
const decide = (
  command: ConversionRecordCommand,
  state: ConversionRecordState,
): Either<never, ReadonlyArray<ConversionRecordEvent>> =>
  E.right(state.kind === 'recorded' ? [] : [{ type: 'ConversionRecorded', data: command.facts }])

export const conversionRecord: Decider<ConversionRecordState, ConversionRecordCommand, ConversionRecordEvent, never> = {
  // What the API calls a record. Streams are stored under it, so it stays as it is.
  category: 'conversion_contact',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
