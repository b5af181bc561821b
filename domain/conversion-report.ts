import { mostOpenEngagements, type ContactRefusal, type KnownContact } from './contact.js'
import type { ConversionState } from './conversion.js'
import type { ConversionRecordFacts } from './conversion-record.js'
import { recordIdOf } from './derived-id.js'
import type { ContactId, ConversionId } from './ids.js'
import type { Instant } from './instant.js'
import { E, type Either } from './prelude.js'

export type DefinedConversion = Extract<ConversionState, { readonly kind: 'defined' }> & { readonly id: ConversionId }
export type IdentifiedContact = KnownContact & { readonly id: ContactId }

/**
 * A conversion of a contact, as the customer's own system reports it (contract 4.5). Undefined is what it did not send.
 */
export type ConversionReport = {
  readonly conversion: DefinedConversion
  readonly contact: IdentifiedContact
  readonly convertedAt: Instant | undefined
  /** In cents. */
  readonly value: number | undefined
  readonly keepsEngagementsOpen: boolean | undefined
}

export type ReportRefusal = ContactRefusal | { readonly kind: 'value-negative' }

/**
 * The record that a report becomes: it belongs to the newest engagement of the contact, and ends all that no conversion
 * has ended yet, unless they are to be kept open. What follows in other streams follows from the record.
 */
export const recordFrom = (
  { conversion, contact, convertedAt, value, keepsEngagementsOpen }: ConversionReport,
  now: Instant,
): Either<ReportRefusal, ConversionRecordFacts> => {
  if (value !== undefined && value < 0) return E.left({ kind: 'value-negative' })
  const { newest, unconverted } = contact
  if (newest === undefined) return E.left({ kind: 'contact-not-found' })
  return E.right({
    record_id: recordIdOf(conversion.id, contact.id),
    account_id: conversion.accountId,
    conversion_id: conversion.id,
    title: conversion.title,
    label: conversion.label,
    contact_id: contact.id,
    converted_at: convertedAt ?? now,
    value: value ?? conversion.value,
    engagement_id: newest.engagementId,
    lead_id: newest.leadId,
    source_id: newest.sourceId,
    // More of them are open only in a log in which there was no limit yet.
    ends: keepsEngagementsOpen === true ? [] : unconverted.slice(-mostOpenEngagements),
  })
}
