import type { ContactId, MessageId } from '../../../domain/ids.js'
import { message } from '../../../domain/message.js'
import type { CommandHandler } from '../../../domain/ports.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { Documents } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { messages } from '../../read-models/messages.js'
import { loadOrThrow } from '../../subscriptions/retries/failed-for-good.js'

export type KnownCopiesPorts = {
  readonly commandHandler: CommandHandler
  readonly documents: Pick<Documents, 'find'>
}

/** The newest messages to a contact that are looked at: within minutes hardly anybody gets more. */
const mostRecent = 20

/**
 * The provider's ids of what went to a contact lately, and of the lost attempts of `sought`: what is looked for is none
 * of them, even where it has the same words.
 * @throws FailedForGood, and where a store fails
 */
export const knownCopies = async (
  { commandHandler, documents }: KnownCopiesPorts,
  contactId: ContactId,
  sought: MessageId,
): Promise<ReadonlySet<string>> => {
  const query = { index: 'outbound', equals: [contactId], descending: true, limit: mostRecent }
  const recent = orThrow(await documents.find(collectionOf(messages), query)).map(({ key }) => key as MessageId)
  const known = new Set<string>()
  for (const id of new Set([sought, ...recent])) {
    const { state } = await loadOrThrow(commandHandler, message, id)
    if ('lost' in state) for (const copy of state.lost) known.add(copy)
    if (id === sought) continue
    if ('providerId' in state && state.providerId !== undefined) known.add(state.providerId)
    if (state.kind === 'erased') for (const copy of state.copies) known.add(copy)
  }
  return known
}
