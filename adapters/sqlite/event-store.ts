import { exceedsLargestAppend, tooLargeAppend } from '../../domain/append-limit.js'
import type { RecordedEvent } from '../../domain/events.js'
import { revisionNumber, positionOf, recordedAs, type Position } from '../../domain/event.js'
import type { AppendAll, EventStore, StreamAppend } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import { categoryOf } from '../../domain/stream-name.js'
import { liveSubscription } from '../in-process/live-subscription.js'
import { logTail } from '../in-process/log-tail.js'
import type { SqliteDatabase } from './database.js'
import { encodeEvent } from './event-codec.js'
import { sqliteLog } from './event-log.js'
import type { AppendWrite } from './writer/writer-protocol.js'

/** Events that live subscriptions find in memory. */
const tailCapacity = { events: 1_024, bytes: 8_000_000 }

/** The `EventStore` port on the embedded database. */
export const sqliteEventStore = (database: SqliteDatabase): EventStore & { readonly appendAll: AppendAll } => {
  const { head, newestTime, history, read, readLast } = sqliteLog(database)
  const tail = logTail(orThrow(head()), tailCapacity)

  /** What was just written, the last of it at `position`, goes on to the live subscriptions. */
  const tell = (events: ReadonlyArray<RecordedEvent>, position: Position): void =>
    tail.add(positionOf(position - BigInt(events.length)), { entries: events, position })

  const append: EventStore['append'] = async (stream, expected, events) => {
    if (exceedsLargestAppend(events)) return E.left(tooLargeAppend)
    const written = await database.write(appendWrite({ stream, expected, events }))
    if (E.isLeft(written)) return written
    const result = written.right
    if (result.kind !== 'appended' && result.kind !== 'repeated') return E.left({ kind: 'conflict' })
    const position = positionOf(BigInt(result.position))
    if (result.kind === 'appended') {
      tell(recordedFrom({ stream, expected, events }, result.position - events.length), position)
    }
    return E.right({ revision: result.revision, position })
  }

  const appendAll: AppendAll = async (appends) => {
    if (appends.some(({ events }) => exceedsLargestAppend(events))) return E.left(tooLargeAppend)
    const written = await database.write({ kind: 'append-all', appends: appends.map(appendWrite) })
    if (E.isLeft(written)) return written
    if (written.right.kind !== 'all-appended') return E.left({ kind: 'conflict' })
    const { position } = written.right
    let before = position - appends.reduce((sum, { events }) => sum + events.length, 0)
    const recorded: Array<RecordedEvent> = []
    for (const one of appends) {
      recorded.push(...recordedFrom(one, before))
      before += one.events.length
    }
    tell(recorded, positionOf(BigInt(position)))
    return E.right(recorded)
  }

  const subscribe: EventStore['subscribe'] = (after, categories, signal) =>
    liveSubscription(tail, history, after, categories, signal)

  return {
    read,
    readLast,
    append,
    appendAll,
    truncate: async (stream, before) => {
      const written = await database.write({ kind: 'truncate', stream, before })
      // Only now: the answers to the appends of these events came in front of this one, and put them into the tail.
      if (E.isRight(written) && written.right.kind === 'truncated') tail.truncate({ stream, before })
      return E.asUnit(written)
    },
    purge: database.purge,
    subscribe,
    history,
    head: () => Promise.resolve(head()),
    newestTime: () => Promise.resolve(newestTime()),
    ...checkpointsOf(database),
    positionUnit: 'events',
  }
}

const appendWrite = ({ stream, expected, events }: StreamAppend): AppendWrite => ({
  kind: 'append',
  stream,
  category: categoryOf(stream),
  expected: revisionNumber(expected),
  events: events.map(encodeEvent),
})

/** The events of an append as they stand in the log after the position `before`. */
const recordedFrom = ({ stream, expected, events }: StreamAppend, before: number): ReadonlyArray<RecordedEvent> =>
  events.map((event, index) => {
    const position = positionOf(BigInt(before + 1 + index))
    return recordedAs(event, stream, revisionNumber(expected) + 1 + index, position)
  })

const checkpointsOf = (database: SqliteDatabase): Pick<EventStore, 'checkpoint' | 'saveCheckpoint'> => ({
  checkpoint: (follower) =>
    Promise.resolve(
      database.read((prepare) => {
        const saved = prepare<{ position: number }>('SELECT position FROM checkpoints WHERE follower = ?').get(follower)
        return positionOf(BigInt(saved?.position ?? 0))
      }),
    ),
  saveCheckpoint: async (follower, position) =>
    E.asUnit(await database.write({ kind: 'checkpoint', follower, position: Number(position) })),
})
