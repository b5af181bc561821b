import { exceedsLargestAppend, tooLargeAppend } from '../../domain/append-limit.js'
import { categoryOf } from '../../domain/events.js'
import { positionOf } from '../../domain/event.js'
import type { EventStore } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import { liveSubscription } from '../in-process/live-subscription.js'
import { logTail } from '../in-process/log-tail.js'
import type { SqliteDatabase } from './database.js'
import { encodeEvent, recordedAs } from './event-codec.js'
import { sqliteLog } from './event-log.js'

/** Events that live subscriptions find in memory. */
const tailCapacity = { events: 1_024, bytes: 8_000_000 }

/** The `EventStore` port on the embedded database. */
export const sqliteEventStore = (database: SqliteDatabase): EventStore => {
  const { head, newestTime, history, read, readLast } = sqliteLog(database)
  const tail = logTail(orThrow(head()), tailCapacity)

  const append: EventStore['append'] = async (stream, expected, events) => {
    if (exceedsLargestAppend(events)) return E.left(tooLargeAppend)
    const written = await database.write({
      kind: 'append',
      stream,
      category: categoryOf(stream),
      expected: expected === 'no-stream' ? -1 : expected,
      events: events.map(encodeEvent),
    })
    if (E.isLeft(written)) return written
    const result = written.right
    if (result.kind !== 'appended' && result.kind !== 'repeated') return E.left({ kind: 'conflict' })
    const position = positionOf(BigInt(result.position))
    if (result.kind === 'appended') {
      const before = events.length - 1
      const entries = events.map((event, index) =>
        recordedAs(event, stream, result.revision - before + index, result.position - before + index),
      )
      tail.add(positionOf(position - BigInt(events.length)), { entries, position })
    }
    return E.right({ revision: result.revision, position })
  }

  const subscribe: EventStore['subscribe'] = (after, categories, signal) =>
    liveSubscription(tail, history, after, categories, signal)

  return {
    read,
    readLast,
    append,
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
