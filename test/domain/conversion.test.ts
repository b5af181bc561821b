import test from 'ava'
import { conversion, type ConversionEvent } from '../../domain/conversion.js'
import { accountId, conversionId } from '../kit/domain/samples.js'
import { given } from '../kit/domain/specification.js'

const define = {
  type: 'DefineConversion',
  conversionId: conversionId(),
  accountId: accountId(),
  title: 'Quoted',
  value: 2500,
  label: 'quoted',
} as const

const defined: ConversionEvent = {
  type: 'ConversionDefined',
  data: { conversion_id: conversionId(), account_id: accountId(), title: 'Quoted', value: 2500, label: 'quoted' },
}

test('a conversion is defined with its default value in cents', (t) => {
  given(t, conversion).when(define).then(defined)
})

test('a conversion stays as it was first defined', (t) => {
  given(t, conversion, defined)
    .when({ ...define, title: 'Sold', value: 1, label: 'sold' })
    .isAlreadySo()
})
