import type { EngagementId } from '../../domain/ids.js'
import type { EventStore, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { remark, type Remark } from '../../domain/remark.js'
import { streamOf } from '../../domain/stream-name.js'

/**
 * The remarks of an engagement at these revisions, of which there is one at least. Those that were erased are left out,
 * whether their events are gone yet or not.
 */
export const remarksAt = async (
  { read, readLast }: Pick<EventStore, 'read' | 'readLast'>,
  engagementId: EngagementId,
  revisions: ReadonlyArray<number>,
): Promise<Either<StoreFailure, ReadonlyMap<number, Remark>>> => {
  const stream = streamOf(remark, engagementId)
  const last = await readLast(stream, 1)
  if (E.isLeft(last)) return last
  const [newest] = last.right
  if (newest?.type !== 'RemarkMade') return E.right(new Map())
  const from = Math.min(...revisions)
  // The newest one is asked for most.
  const found =
    newest.revision === from
      ? E.right({ events: last.right })
      : await read(stream, from, Math.max(...revisions) - from + 1)
  if (E.isLeft(found)) return found
  return E.right(
    new Map(
      found.right.events.flatMap((event) => {
        if (event.type !== 'RemarkMade') return []
        const { note, properties } = event.data
        return [[event.revision, { note, properties }] as const]
      }),
    ),
  )
}
