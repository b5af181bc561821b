import { account } from '../../../domain/account.js'
import { contact } from '../../../domain/contact.js'
import { erasureIdOf } from '../../../domain/derived-id.js'
import { erasure } from '../../../domain/erasure.js'
import type { AccountId, ContactId } from '../../../domain/ids.js'
import type { EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { closingCommandOf } from '../../../projections/erasure/contact-closing.js'
import type { ClientCommands } from '../client-commands.js'
import type { Erasures } from './erasure-end.js'

const unexpected = { kind: 'unexpected' } as const

type ErasingPorts = {
  readonly store: Pick<EventStore, 'read'>
  readonly clientCommands: ClientCommands
  readonly erasures: Erasures
}

type Erased = { readonly accountId: AccountId; readonly contactId: ContactId; readonly by: string }

/**
 * Requests that a contact of this account is erased, closes it at once, and waits some seconds for the end. A repeat
 * changes nothing and tells how far the erasure has come. `events` are those of the request: none where it is repeated.
 */
export const requestErasure = async (
  { store, clientCommands, erasures }: ErasingPorts,
  { accountId, contactId, by }: Erased,
  actor: string,
) => {
  const erasureId = erasureIdOf(contactId)
  // First of all: only where its account has erasures is it asked of a contact whether it was erased.
  const begun = await clientCommands.execute(account, accountId, { type: 'BeginErasures' }, actor)
  if (E.isLeft(begun)) return begun
  const facts = { erasure_id: erasureId, account_id: accountId, contact_id: contactId, by }
  const requested = await clientCommands.execute(erasure, erasureId, { type: 'RequestErasure', facts }, actor)
  if (E.isLeft(requested)) return requested
  // At once, so that no lead joins the contact and nothing is reported of it from the answer on, however long the rest
  // takes.
  const closing = await closingCommandOf(store, contactId, erasureId)
  if (E.isLeft(closing)) return closing
  const closed = await clientCommands.execute(contact, contactId, closing.right, actor)
  // Said of no command but `EngageLead`.
  if (E.isLeft(closed)) return E.left(closed.left.kind === 'lead-not-remembered' ? unexpected : closed.left)
  const { events } = requested.right
  // Another erasure may have begun those of the account within the last second.
  if (events.length > 0) await erasures.knownToAll()
  const end = await erasures.ended(erasureId, events.at(-1)?.position)
  return E.isLeft(end) ? end : E.right({ ...end.right, events })
}
