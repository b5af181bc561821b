import { t } from './codec.js'
import type { Decider } from './decider.js'
import { eventOf } from './event.js'
import { AccountId, ConversionId } from './ids.js'
import { E, type Either } from './prelude.js'

/** The label of the activity that a record of this conversion fires (contract 6.4). */
export const ConversionLabel = t.keyof({ quoted: null, sold: null, custom_conversion: null }, 'a conversion label')
export type ConversionLabel = t.TypeOf<typeof ConversionLabel>

/** `value` is the default worth in cents (contract 2.2). */
export const ConversionEvent = eventOf(
  'ConversionDefined',
  t.type({
    conversion_id: ConversionId,
    account_id: AccountId,
    title: t.string,
    value: t.number,
    label: ConversionLabel,
  }),
)
export type ConversionEvent = t.TypeOf<typeof ConversionEvent>

export type ConversionState =
  | { readonly kind: 'unknown' }
  | {
      readonly kind: 'defined'
      readonly accountId: AccountId
      readonly title: string
      readonly value: number
      readonly label: ConversionLabel
    }

export type ConversionCommand = {
  readonly type: 'DefineConversion'
  readonly conversionId: ConversionId
  readonly accountId: AccountId
  readonly title: string
  readonly value: number
  readonly label: ConversionLabel
}

const evolve = (_state: ConversionState, { data }: ConversionEvent): ConversionState => ({
  kind: 'defined',
  accountId: data.account_id,
  title: data.title,
  value: data.value,
  label: data.label,
})

const decide = (command: ConversionCommand, state: ConversionState): Either<never, ReadonlyArray<ConversionEvent>> => {
  if (state.kind === 'defined') return E.right([])
  const { conversionId, accountId, title, value, label } = command
  const data = { conversion_id: conversionId, account_id: accountId, title, value, label }
  return E.right([{ type: 'ConversionDefined', data }])
}

export const conversion: Decider<ConversionState, ConversionCommand, ConversionEvent, never> = {
  category: 'conversion',
  initial: { kind: 'unknown' },
  evolve,
  decide,
}
