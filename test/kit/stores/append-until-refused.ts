import { openDatabase } from '../../../adapters/sqlite/database.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { E } from '../../../domain/prelude.js'
import { activity, at, uuid } from '../domain/samples.js'
import { say } from './said.js'

/** Appends 10 kB after 10 kB to the embedded store in `directory`, until five appends were refused. */
const appendUntilRefused = async (directory: string): Promise<void> => {
  const opened = await openDatabase(directory)
  if (E.isLeft(opened)) {
    say(opened.left)
    return
  }
  say({ kind: 'open' })
  const store = sqliteEventStore(opened.right)
  const data = { activity: activity({ note: 'x'.repeat(10_000) }), record_id: null }
  let refused = 0
  for (let n = 1; refused < 5; n += 1) {
    const stream = `engagement-${n}`
    const ids = { id: uuid(n), correlationId: uuid(n), causationId: uuid(n) }
    const event = { type: 'ActivityRecorded', data, ...ids, time: at(n), schemaVersion: 1, actor: 'test' } as const
    const appended = await store.append(stream, 'no-stream', [event])
    if (E.isLeft(appended)) refused += 1
    say({ kind: E.isRight(appended) ? 'acknowledged' : appended.left.kind, stream })
  }
  say({ kind: E.isRight(await store.read('engagement-1')) ? 'readable' : 'unreadable' })
  await opened.right.close()
}

await appendUntilRefused(process.argv[2] ?? '')
