import { categories as allCategories, type RecordedEvent } from '../../domain/events.js'
import type { Position } from '../../domain/event.js'
import type { LogReader } from '../../domain/ports.js'
import { shownData } from '../../domain/personal-data.js'
import { wellFormed } from '../../domain/well-formed.js'
import { selectedBy } from './event-selection.js'
import type { ReplayRequest } from './replay-request.js'

/** An event as analysts get it. `at` is when it was recorded; `position` is a number that every store holds exactly. */
export type ReplayedEvent = {
  readonly position: number
  readonly id: string
  readonly stream: string
  readonly revision: number
  readonly type: string
  readonly at: string
  readonly correlation_id: string
  readonly causation_id: string
  readonly data: Readonly<Record<string, unknown>>
}

export const replayedFields = [
  'position',
  'id',
  'stream',
  'revision',
  'type',
  'at',
  'correlation_id',
  'causation_id',
  'data',
] as const satisfies ReadonlyArray<keyof ReplayedEvent>

/** What was selected of a part of the log, and how far that goes. */
type ReplayedBatch = { readonly events: ReadonlyArray<ReplayedEvent>; readonly position: Position }

/**
 * Why nothing can be replayed from there on; undefined where it can be. Whoever went on from a position that the log
 * does not have yet would miss what is written up to it.
 */
export const beyondHead = ({ after }: Pick<ReplayRequest, 'after'>, head: Position): string | undefined =>
  after > head ? `after: the log ends at position ${head}; it was set back, or this is another log` : undefined

/**
 * The events that were asked for, in the order of the log.
 * @throws StoreFailed, where an event can't be decoded as UndecodableEvent
 */
export async function* replay(
  log: LogReader,
  request: ReplayRequest,
  signal: AbortSignal,
): AsyncGenerator<ReplayedBatch> {
  const { after, categories = allCategories, isFollowing } = request
  const isSelected = selectedBy(log, request)
  const batches = isFollowing ? log.subscribe(after, categories, signal) : log.history(after, categories, signal)
  for await (const { events, position } of batches) {
    const selected: Array<ReplayedEvent> = []
    for (const event of events) {
      const isWanted = isSelected(event)
      // To wait for what is known already would cost as much as the rest.
      if (isWanted === true || (isWanted !== false && (await isWanted))) selected.push(replayed(event, request))
    }
    yield { events: selected, position }
  }
}

export const replayed = (event: RecordedEvent, shown: Pick<ReplayRequest, 'isPersonalShown'>): ReplayedEvent => ({
  position: Number(event.position),
  id: event.id,
  stream: event.stream,
  revision: event.revision,
  type: event.type,
  at: event.time,
  correlation_id: event.correlationId,
  causation_id: event.causationId,
  // Older versions stored texts that no reader of Parquet, and few of JSON, take.
  data: wellFormed(shownData(event, shown)),
})
