import { contact, optChangeIn, type ContactCommand, type OptChange } from '../../domain/contact.js'
import type { ContactId, ErasureId } from '../../domain/ids.js'
import type { EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { streamOf } from '../../domain/stream-name.js'

type EraseContact = Extract<ContactCommand, { readonly type: 'EraseContact' }>

/** Events that are read at once: a number may have been submitted for years. */
const pageSize = 500

/**
 * The command that closes a contact, with what its stream tells of opting out and in. An event that can't be decoded
 * ends what it tells, and keeps nobody from being erased.
 */
export const closingCommandOf = async (
  { read }: Pick<EventStore, 'read'>,
  contactId: ContactId,
  erasureId: ErasureId,
): Promise<Either<StoreFailure, EraseContact>> => {
  const optHistory: Array<OptChange> = []
  const command = E.right({ type: 'EraseContact', contactId, erasureId, optHistory } as const)
  for (let from = 0; ;) {
    const page = await read(streamOf(contact, contactId), from, pageSize)
    if (E.isLeft(page)) return page.left.kind === 'corrupt' ? command : page
    const { events } = page.right
    optHistory.push(...events.flatMap((event) => optChangeIn(event) ?? []))
    const last = events.at(-1)
    if (last === undefined || events.length < pageSize) return command
    from = last.revision + 1
  }
}
