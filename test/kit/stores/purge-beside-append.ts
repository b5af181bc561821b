import { openDatabase } from '../../../adapters/sqlite/database.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { E } from '../../../domain/prelude.js'
import { rightOf } from '../right-of.js'
import { activity, at, uuid } from '../domain/samples.js'
import { say } from './said.js'

/** Appends 600 kB to the embedded store in `directory` and empties its write-ahead log at the same time, twice. */
const purgeBesideAppend = async (directory: string): Promise<void> => {
  const database = rightOf(await openDatabase(directory))
  const store = sqliteEventStore(database)
  const data = { activity: activity({ note: 'x'.repeat(600_000) }), record_id: null }
  for (const n of [1, 2]) {
    const ids = { id: uuid(n), correlationId: uuid(n), causationId: uuid(n) }
    const event = { type: 'ActivityRecorded', data, ...ids, time: at(n), schemaVersion: 1, actor: 'test' } as const
    const [appended, purged] = await Promise.all([store.append(`engagement-${n}`, 'no-stream', [event]), store.purge()])
    say({ kind: E.isRight(appended) ? 'acknowledged' : appended.left.kind })
    say({ kind: E.isLeft(purged) ? purged.left.kind : purged.right ? 'purged' : 'held' })
  }
  await database.close()
}

await purgeBesideAppend(process.argv[2] ?? '')
