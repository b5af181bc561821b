import { newAggregate } from '../../domain/aggregate.js'
import { optional, refined, t } from '../../domain/codec.js'
import { contact, type ContactState } from '../../domain/contact.js'
import { conversion, type ConversionState } from '../../domain/conversion.js'
import { conversionRecord, type ConversionRecordFacts } from '../../domain/conversion-record.js'
import {
  recordFrom,
  type ConversionReport,
  type DefinedConversion,
  type IdentifiedContact,
} from '../../domain/conversion-report.js'
import { ContactId, ConversionId } from '../../domain/ids.js'
import { InstantFromText } from '../../domain/instant.js'
import type { Clock, CommandHandler, StoreFailure } from '../../domain/ports.js'
import { E, flow, type Either, type TaskEither } from '../../domain/prelude.js'
import { contactPending, type HasPendingReactions, type Queries } from '../../projections/queries.js'
import { conversionList, type ConversionDocument } from '../../projections/read-models/lists/conversion-list.js'
import type { ClientCommands } from '../commands/client-commands.js'
import { loadState } from '../commands/states/current-states.js'
import { ownState } from '../commands/states/own-state.js'
import type { Endpoint } from '../http/endpoint.js'
import { engagementsNotEnded, type Problem } from '../http/problem.js'
import { answer, bind, check, execute, pathId, withLenientBody } from '../http/steps.js'
import type { Caller } from './caller.js'

type ConversionPorts = {
  readonly queries: Queries
  readonly clientCommands: ClientCommands
  readonly commandHandler: Pick<CommandHandler, 'load'>
  readonly clock: Clock
  /** Whether a lead that was accepted may still lack its contact. */
  readonly hasPendingReactions: HasPendingReactions
}

const mostCents = Number.MAX_SAFE_INTEGER

/** A negative one is refused later, by the domain, with another status (contract 4.5, rule 5). */
const Cents = refined(
  `a whole number of cents up to ${mostCents.toLocaleString('en-US')}`,
  (value): value is number => Number.isInteger(value) && (value as number) <= mostCents,
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
type RecordRequest = t.TypeOf<typeof RecordRequest>

const conversionNotFound: Problem = { kind: 'not-found', message: 'conversion not found' }
const contactNotFound: Problem = { kind: 'contact-not-found' }

/** Contract 4.4 and 4.5. */
export const conversionEndpoints = (ports: ConversionPorts): ReadonlyArray<Endpoint<Caller>> => [
  {
    method: 'GET',
    path: '/conversions',
    handle: flow(
      bind('conversions', ({ caller }) => ports.queries.list(conversionList, 'by_account', [caller.accountId])),
      answer(200, ({ conversions }) => ({ conversions: conversions.map(shown) })),
    ),
  },
  {
    method: 'POST',
    path: '/conversions/:conversion_id/events',
    handle: flow(
      withLenientBody(RecordRequest),
      pathId('conversion_id', ConversionId, conversionNotFound),
      bind('conversion', ({ caller, conversion_id }) => conversionOf(ports, caller, conversion_id)),
      bind('contact', ({ caller, body }) => contactOf(ports, caller, body.conversion_contact.contact_id)),
      bind('facts', (sent) => recordFrom(reportOf(sent), ports.clock.now())),
      execute(({ facts, caller: { actor } }) => {
        const command = { type: 'RecordConversion', facts } as const
        return ports.clientCommands.execute(
          conversionRecord,
          facts.record_id,
          command,
          actor,
          newAggregate(conversionRecord),
        )
      }),
      check(({ result }) => (result.isPending ? engagementsNotEnded : undefined)),
      answer(
        ({ result }) => (result.events.length > 0 ? 201 : 200),
        ({ result: { state }, facts }) => ({
          conversion_contact: shownRecord(state.kind === 'recorded' ? state.facts : facts),
        }),
      ),
    ),
  },
]

type Sent = {
  readonly conversion: DefinedConversion
  readonly contact: IdentifiedContact
  readonly body: RecordRequest
}

const conversionOf = (
  { commandHandler }: ConversionPorts,
  { accountId }: Caller,
  id: ConversionId,
): TaskEither<Problem, DefinedConversion> => {
  const own = (state: ConversionState) =>
    state.kind === 'defined' && state.accountId === accountId ? { ...state, id } : undefined
  return ownState(commandHandler, conversion, id, own, conversionNotFound)
}

const contactOf =
  (
    { commandHandler, hasPendingReactions }: ConversionPorts,
    { accountId }: Caller,
    id: string,
  ): TaskEither<Problem, IdentifiedContact> =>
  async () => {
    if (!ContactId.is(id)) return E.left(contactNotFound)
    const found: Either<StoreFailure, ContactState> = await loadState(commandHandler, contact, id)
    if (E.isLeft(found)) return found
    const state = found.right
    if (state.kind === 'unknown' && (await hasPendingReactions())) return E.left(contactPending)
    const isOwn = state.kind === 'known' && state.accountId === accountId
    return isOwn ? E.right({ ...state, id }) : E.left(contactNotFound)
  }

/** What the client sent, in the words of the domain. */
const reportOf = ({ conversion, contact, body: { conversion_contact: sent } }: Sent): ConversionReport => ({
  conversion,
  contact,
  convertedAt: sent.converted_at,
  value: sent.custom_value,
  keepsEngagementsOpen: sent.keep_conversations_open,
})

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
