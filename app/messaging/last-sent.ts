import type { ContactId } from '../../domain/ids.js'
import type { StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { Query } from '../../projections/ports.js'
import { messages, type MessageDocument } from '../../projections/read-models/messages.js'

type Reads = {
  readonly page: (
    projection: typeof messages,
    query: Query,
  ) => Promise<Either<StoreFailure, ReadonlyArray<{ readonly document: MessageDocument }>>>
}

/** Messages that may have failed since the last one went out. */
const mostLookedAt = 20

/** `isUndelivered`: the provider took it, and reported later that it did not reach the contact, which may be wrong. */
export type LastSent = { readonly document: MessageDocument; readonly isUndelivered: boolean }

/**
 * The last message that went out to a contact, or may have: a text of the contact answers it. Where there is none, the
 * last that is said to be undelivered. What the provider refused, and what waits for its first attempt, did not go out.
 * `isMeant` says of a sender, undefined for the shared one, whether its messages count.
 */
export const lastSentTo = async (
  { page }: Reads,
  contactId: ContactId,
  isMeant: (sender: string | undefined) => boolean = () => true,
): Promise<Either<StoreFailure, LastSent | undefined>> => {
  const query = { index: 'outbound', equals: [contactId], descending: true, limit: mostLookedAt }
  const newest = await page(messages, query)
  if (E.isLeft(newest)) return newest
  const sent = newest.right
    .filter(({ document: { sender } }) => isMeant(sender))
    .map(({ document }) => ({ document, isUndelivered: document.state === 'failed' || document.state === 'waiting' }))
  // In a month it is counted once the provider has taken it.
  const taken = ({ document }: LastSent): boolean => document.account_month !== undefined
  return E.right(sent.find(({ isUndelivered }) => !isUndelivered) ?? sent.find(taken))
}
