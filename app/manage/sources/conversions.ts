import { newAggregate } from '../../../domain/aggregate.js'
import { conversion } from '../../../domain/conversion.js'
import { decode, NaturalNumber, t, Text } from '../../../domain/codec.js'
import type { ConversionId } from '../../../domain/ids.js'
import { E } from '../../../domain/prelude.js'
import { conversionList, type ConversionDocument } from '../../../projections/read-models/conversion-list.js'
import type { Endpoint } from '../../http/endpoint.js'
import { invalid } from '../../http/problem.js'
import { accountOf, type Operator } from '../operator.js'
import type { ManagePorts } from '../ports.js'

const DefineRequest = t.type({ title: Text, value: NaturalNumber })

/** Custom conversions (contract 2.2); `value` in cents. */
export const conversionDefinitionEndpoints = ({
  commandHandler,
  commands,
  queries,
  ids,
}: ManagePorts): ReadonlyArray<Endpoint<Operator>> => [
  {
    method: 'POST',
    path: '/accounts/:account_id/conversions',
    handle: async (request, { actor }) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const body = decode(DefineRequest, request.body)
      if (E.isLeft(body)) return E.left(invalid(body.left))
      const { title, value } = body.right
      const conversionId: ConversionId = `cnv_${ids.ulid()}`
      const what = { conversionId, accountId: found.right.accountId, title, value, label: 'custom_conversion' } as const
      const defined = await commands.execute(
        conversion,
        conversionId,
        { type: 'DefineConversion', ...what },
        actor,
        newAggregate(conversion),
      )
      if (E.isLeft(defined)) return defined
      const created_at = defined.right.events[0]?.time
      return E.right({ status: 201, body: { conversion: { id: conversionId, title, value, created_at } } })
    },
  },
  {
    method: 'GET',
    path: '/accounts/:account_id/conversions',
    handle: async (request) => {
      const found = await accountOf(commandHandler, request)
      if (E.isLeft(found)) return found
      const list = await queries.list(conversionList, 'by_account', [found.right.accountId])
      return E.isLeft(list) ? list : E.right({ status: 200, body: { conversions: list.right.map(shown) } })
    },
  },
]

const shown = ({ account_id: _account, ...document }: ConversionDocument) => document
