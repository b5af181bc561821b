import { newAggregate } from '../../domain/aggregate.js'
import { stateOf } from '../commands/states/current-states.js'
import { decode, optional, refined, t } from '../../domain/codec.js'
import { contact, type ContactState } from '../../domain/contact.js'
import { conversion, type ConversionState } from '../../domain/conversion.js'
import { conversionRecord, type ConversionRecordFacts } from '../../domain/conversion-record.js'
import { recordIdOf } from '../../domain/derived-id.js'
import { ContactId, ConversionId, type AccountId } from '../../domain/ids.js'
import { InstantFromText, type Instant } from '../../domain/instant.js'
import type { Clock, CommandHandler, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { conversionList, type ConversionDocument } from '../../projections/read-models/conversion-list.js'
import type { ClientCommands } from '../commands/client-commands.js'
import type { Endpoint } from '../http/endpoint.js'
import { invalid, type Problem } from '../http/problem.js'
import type { HasPendingReactions } from '../../projections/queries.js'
import { contactPending, type Queries } from '../../projections/queries.js'
import type { Caller } from './caller.js'

type ConversionPorts = {
  readonly queries: Queries
  readonly commands: ClientCommands
  readonly commandHandler: CommandHandler
  readonly clock: Clock
  /** Whether a lead that was accepted may still lack its contact. */
  readonly hasPendingReactions: HasPendingReactions
}

/** Contract 4.4 and 4.5. */
export const conversionEndpoints = (ports: ConversionPorts): ReadonlyArray<Endpoint<Caller>> => [
  {
    method: 'GET',
    path: '/conversions',
    handle: async (_request, { accountId }) => {
      const found = await ports.queries.list(conversionList, 'by_account', [accountId])
      return E.isLeft(found) ? found : E.right({ status: 200, body: { conversions: found.right.map(shown) } })
    },
  },
  {
    method: 'POST',
    path: '/conversions/:conversion_id/events',
    handle: async (request, caller) => {
      const body = decode(RecordRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { contact_id, converted_at, custom_value, keep_conversations_open } = body.right.conversion_contact
      const facts = await factsOf(ports, caller, {
        conversionId: request.params['conversion_id'],
        contactId: contact_id,
        convertedAt: converted_at ?? ports.clock.now(),
        customValue: custom_value,
        keepsOpen: keep_conversations_open ?? false,
      })
      if (E.isLeft(facts)) return facts
      const { record_id } = facts.right
      const command = { type: 'RecordConversion', facts: facts.right } as const
      const recorded = await ports.commands.execute(
        conversionRecord,
        record_id,
        command,
        caller.actor,
        newAggregate(conversionRecord),
      )
      if (E.isLeft(recorded)) return recorded
      const { state, events } = recorded.right
      const record = state.kind === 'recorded' ? state.facts : facts.right
      return E.right({ status: events.length > 0 ? 201 : 200, body: { conversion_contact: shownRecord(record) } })
    },
  },
]

/** Up to 2^53-1; a negative one is refused later, with another status (contract 4.5, rule 5). */
const Cents = refined(
  'a whole number of cents',
  (value): value is number => Number.isInteger(value) && (value as number) <= Number.MAX_SAFE_INTEGER,
)

const Identifier = refined('an id', (value): value is string => typeof value === 'string' && value.trim() !== '')

const RecordRequest = t.type({
  conversion_contact: t.type(
    {
      contact_id: Identifier,
      converted_at: optional(InstantFromText),
      custom_value: optional(Cents),
      keep_conversations_open: optional(t.boolean),
    },
    'an object with contact_id',
  ),
})

type Wanted = {
  readonly conversionId: string | undefined
  readonly contactId: string
  readonly convertedAt: Instant
  readonly customValue: number | undefined
  readonly keepsOpen: boolean
}

type Defined = Extract<ConversionState, { readonly kind: 'defined' }>
type Known = Extract<ContactState, { readonly kind: 'known' }>

/** All that the record holds, decided here; what concerns other streams follows from it. */
const factsOf = async (
  { commandHandler, hasPendingReactions }: ConversionPorts,
  { accountId }: Caller,
  { conversionId, contactId, convertedAt, customValue, keepsOpen }: Wanted,
): Promise<Either<Problem, ConversionRecordFacts>> => {
  const definition = await definitionOf(commandHandler, accountId, conversionId)
  if (E.isLeft(definition)) return definition
  const person = await personOf({ commandHandler, hasPendingReactions }, accountId, contactId)
  if (E.isLeft(person)) return person
  if (customValue !== undefined && customValue < 0) {
    return E.left({ kind: 'unprocessable', messages: ['custom_value must be greater than or equal to 0'] })
  }
  const { id, title, value, label } = definition.right
  const { newest, unconverted } = person.right
  if (newest === undefined) return E.left(contactNotFound)
  return E.right({
    record_id: recordIdOf(id, person.right.id),
    account_id: accountId,
    conversion_id: id,
    title,
    label,
    contact_id: person.right.id,
    converted_at: convertedAt,
    value: customValue ?? value,
    engagement_id: newest.engagementId,
    lead_id: newest.leadId,
    source_id: newest.sourceId,
    ends: keepsOpen ? [] : unconverted,
  })
}

const definitionOf = async (
  commandHandler: CommandHandler,
  accountId: AccountId,
  id: string | undefined,
): Promise<Either<Problem, Defined & { readonly id: ConversionId }>> => {
  if (!ConversionId.is(id)) return E.left(conversionNotFound)
  const found: Either<StoreFailure, ConversionState> = await stateOf(commandHandler, conversion, id)
  if (E.isLeft(found)) return found
  const state = found.right
  return state.kind === 'defined' && state.accountId === accountId
    ? E.right({ ...state, id })
    : E.left(conversionNotFound)
}

const personOf = async (
  { commandHandler, hasPendingReactions }: Pick<ConversionPorts, 'commandHandler' | 'hasPendingReactions'>,
  accountId: AccountId,
  id: string,
): Promise<Either<Problem, Known & { readonly id: ContactId }>> => {
  if (!ContactId.is(id)) return E.left(contactNotFound)
  const found: Either<StoreFailure, ContactState> = await stateOf(commandHandler, contact, id)
  if (E.isLeft(found)) return found
  const state = found.right
  if (state.kind === 'unknown' && (await hasPendingReactions())) return E.left(contactPending)
  return state.kind === 'known' && state.accountId === accountId ? E.right({ ...state, id }) : E.left(contactNotFound)
}

const conversionNotFound: Problem = { kind: 'not-found', message: 'conversion not found' }
const contactNotFound: Problem = { kind: 'contact-not-found' }

/** Contract 2.2. */
const shown = ({ id, title, value, created_at }: ConversionDocument) => ({ id, title, value, created_at })

/** Contract 2.3. */
const shownRecord = ({ record_id, contact_id, converted_at, value, conversion_id }: ConversionRecordFacts) => ({
  id: record_id,
  contact_id,
  converted_at,
  value,
  conversion_id,
})
