import { sqliteEventStore } from '../../adapters/sqlite/event-store.js'
import { freshStream, many } from '../contracts/event-store-fixtures.js'
import { rightOf } from '../kit/right-of.js'
import { openIn } from '../kit/stores/sqlite.js'

/** A process that truncates a stream in the directory of its argument, and says in how many milliseconds. */
const database = await openIn(process.argv[2] ?? '')
const store = sqliteEventStore(database)
const stream = freshStream('account')
rightOf(await store.append(stream, 'no-stream', many(2)))
const started = performance.now()
rightOf(await store.truncate(stream, 1))
process.stdout.write(String(performance.now() - started))
await database.close()
