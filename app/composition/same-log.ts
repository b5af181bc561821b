import type { DomainEvent } from '../../domain/events.js'
import { beginning, type Recorded } from '../../domain/event.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import type { Collection, Documents } from '../../projections/ports.js'

const collection: Collection = { name: 'log', version: 1, indexes: {}, generation: 'live' }
const key = 'first_event'

/**
 * Read models hold positions of one log and would be wrong beside another, so they remember its first event. Left: one
 * sentence, when they were made from another log.
 */
export const ofSameLog = async (
  documents: Documents,
  first: Recorded<DomainEvent> | undefined,
): Promise<Either<string, undefined>> => {
  orThrow(await documents.prepare(collection))
  const known = orThrow(await documents.get(collection, [key])).get(key)?.document?.['id']
  if (known !== undefined && known !== first?.id) {
    return E.left('The read models were made from another log: give the stores that belong together, or empty theirs.')
  }
  if (known === undefined && first !== undefined) {
    const change = { key, document: { id: first.id }, position: first.position }
    orThrow(await documents.apply(collection, [change], beginning))
  }
  return E.right(undefined)
}
