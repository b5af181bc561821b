import type { EventOf, RecordedEvent } from '../../domain/events.js'
import type { AccountId, ContactId, LeadId, SourceId } from '../../domain/ids.js'
import type { Instant } from '../../domain/instant.js'
import type { LeadDetails } from '../../domain/lead.js'
import type { Phone } from '../../domain/phone.js'

/** A contact as the REST API and the webhooks show it (contract 2.1). */
export type Contact = {
  readonly id: ContactId
  readonly first_name: string
  readonly last_name: string
  readonly email: string
  readonly phone: Phone
  readonly opted_out: boolean
  readonly created_at: Instant
  readonly additional_info: Readonly<Record<string, string>>
  readonly referral: {
    readonly marketing_source_id: SourceId
    readonly marketing_source_title: string
    readonly lead_id: LeadId
  }
}

/** A contact, and the account that it belongs to. */
export type ContactDocument = { readonly account_id: AccountId } & Contact

export const contactOf = ({ account_id: _account, ...contact }: ContactDocument): Contact => contact

/**
 * The contact after one more event of its stream. Both surfaces show what is folded here: the read model `contacts`,
 * whose `version` is raised with every change of it, and the bodies of webhooks, which change from then on.
 */
export const evolveContact = (
  document: ContactDocument | undefined,
  event: RecordedEvent,
): ContactDocument | undefined => {
  if (event.type === 'ContactCreated') return created(event)
  if (document === undefined || event.type === 'ContactErased') return undefined
  switch (event.type) {
    case 'ContactDetailsChanged':
      return { ...document, ...detailsOf(event.data.details) }
    case 'ContactOptedOut':
      return { ...document, opted_out: true }
    case 'ContactOptedIn':
      return { ...document, opted_out: false }
    default:
      return document
  }
}

/** The contact that the events of its stream make, in order; undefined where there are none, or it was erased. */
export const contactFrom = (events: ReadonlyArray<RecordedEvent>): ContactDocument | undefined =>
  events.reduce<ContactDocument | undefined>(evolveContact, undefined)

const created = (event: EventOf<'ContactCreated'>): ContactDocument => {
  const { contact_id, account_id, details, referral } = event.data
  const { first_name, last_name, email, additional_info } = detailsOf(details)
  return {
    account_id,
    id: contact_id,
    first_name,
    last_name,
    email,
    phone: details.phone,
    opted_out: false,
    created_at: event.time,
    additional_info,
    referral,
  }
}

const detailsOf = ({ first_name, last_name, email, additional_info }: LeadDetails) => ({
  first_name,
  last_name,
  email,
  additional_info,
})
