import { newAggregate } from '../../../domain/aggregate.js'
import { NaturalNumber, objectWith, Title } from '../../../domain/codec.js'
import { conversion } from '../../../domain/conversion.js'
import type { ConversionId } from '../../../domain/ids.js'
import { flow, TE } from '../../../domain/prelude.js'
import { conversionList, type ConversionDocument } from '../../../projections/read-models/lists/conversion-list.js'
import type { Endpoint } from '../../http/endpoint.js'
import { answer, bind, execute, withBody } from '../../http/steps.js'
import { documentsOfAccount, withAccount } from '../account-in-path.js'
import type { Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const DefineRequest = objectWith({ title: Title, value: NaturalNumber })

const path = '/accounts/:account_id/conversions'

/** Custom conversions (contract 2.2); `value` in cents. */
export const conversionDefinitionEndpoints = (ports: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path,
    handle: flow(
      withAccount(ports),
      withBody(DefineRequest),
      TE.let('conversionId', (): ConversionId => `cnv_${ports.ids.ulid()}`),
      execute(({ account: { accountId }, body: { title, value }, conversionId, caller }) => {
        const what = { conversionId, accountId, title, value, label: 'custom_conversion' } as const
        const command = { type: 'DefineConversion', ...what } as const
        return ports.clientCommands.execute(conversion, conversionId, command, caller.actor, newAggregate(conversion))
      }),
      answer(201, ({ conversionId, body: { title, value }, result: { events } }) => ({
        conversion: { id: conversionId, title, value, created_at: events[0]?.time },
      })),
    ),
  },
  {
    method: 'GET',
    path,
    handle: flow(
      withAccount(ports),
      bind('conversions', ({ account }) => documentsOfAccount(ports, conversionList, account)),
      answer(200, ({ conversions }) => ({ conversions: conversions.map(shown) })),
    ),
  },
]

const shown = ({ account_id: _account, ...document }: ConversionDocument) => document
