import type { ContactId } from '../../../domain/ids.js'
import type { StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import type { Query } from '../../../projections/ports.js'
import { messages, type MessageDocument } from '../../../projections/read-models/messages.js'

type Reads = {
  readonly page: (
    projection: typeof messages,
    query: Query,
  ) => Promise<Either<StoreFailure, ReadonlyArray<{ readonly document: MessageDocument }>>>
}

/** Messages that may have failed since the last one went out. */
const mostLookedAt = 20

/**
 * The last message that went out to a contact, or may have: what a text of the contact answers. One that failed, or waits for its next
 * try, did not. `isMeant`: from the sender, which is undefined where it is the shared one. Undefined where none went out.
 */
export const lastSentTo = async (
  { page }: Reads,
  contactId: ContactId,
  isMeant: (sender: string | undefined) => boolean = () => true,
): Promise<Either<StoreFailure, MessageDocument | undefined>> => {
  const query = { index: 'outbound', equals: [contactId], descending: true, limit: mostLookedAt }
  const newest = await page(messages, query)
  if (E.isLeft(newest)) return newest
  const sent = newest.right.find(
    ({ document: { state, sender } }) => state !== 'failed' && state !== 'waiting' && isMeant(sender),
  )
  return E.right(sent?.document)
}
