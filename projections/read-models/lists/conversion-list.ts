import type { ConversionLabel } from '../../../domain/conversion.js'
import type { AccountId, ConversionId } from '../../../domain/ids.js'
import type { Instant } from '../../../domain/instant.js'
import type { Projection } from '../../projection.js'

/** The conversions of an account (contract 2.2), oldest first. */
export type ConversionDocument = {
  readonly account_id: AccountId
  readonly id: ConversionId
  readonly title: string
  readonly value: number
  readonly label: ConversionLabel
  readonly created_at: Instant
}

export const conversionList: Projection<ConversionDocument> = {
  name: 'conversion_list',
  version: 1,
  categories: ['conversion'],
  indexes: { by_account: ['account_id', 'created_at'] },
  createdBy: new Set(['ConversionDefined']),
  keyOf: (event) => (event.type === 'ConversionDefined' ? event.data.conversion_id : undefined),
  evolve: (document, event) => {
    if (event.type !== 'ConversionDefined') return document
    const { account_id, conversion_id, title, value, label } = event.data
    return { account_id, id: conversion_id, title, value, label, created_at: event.time }
  },
}
