import test, { type ExecutionContext } from 'ava'
import type { EventStore } from '../../../domain/ports.js'
import { deliveryFanOut } from '../../../projections/delivery/fan-out/fan-out.js'
import { checkpointCollection, checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import { follow, type Follower } from '../../../projections/subscriptions/follower.js'
import { leasedFollower } from '../../../projections/subscriptions/leased-follower.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { testLease } from '../../kit/parts/lease.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { positionAt } from '../../kit/domain/samples.js'
import { openSqliteStores } from '../../kit/stores/sqlite.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { nextTurn } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'

/** Batches of a long history: it would take a process minutes to read so much of a real one. */
const long = 5_000

/** The same store with a long history in which nothing is of interest, and how many batches of it were read. */
const withLongHistory = (store: EventStore) => {
  let batches = 0
  async function* history(...[, , signal]: Parameters<EventStore['history']>): ReturnType<EventStore['history']> {
    while (batches < long) {
      signal.throwIfAborted()
      batches += 1
      yield { events: [], position: positionAt(batches) }
      await nextTurn()
    }
  }
  return { store: { ...store, history }, batches: () => batches }
}

/** Stops in the middle of the scan, which must end with it. */
const endsAtOnce = async (t: ExecutionContext, batches: () => number, stop: () => Promise<void>): Promise<void> => {
  await until('it scans the log', 60_000, () => batches() >= 3)
  const before = batches()
  await stop()
  t.true(batches() <= before + 1, `${batches() - before} batches were read after the end`)
}

test('what the fan-out of deliveries reads of the log before it begins ends with its lease', async (t) => {
  const { store: embedded, documents, close } = await openSqliteStores()
  t.teardown(close)
  const { store, batches } = withLongHistory(embedded)
  const checkpoint = checkpointIn(documents, 'work', 1n)
  await checkpoint.load()
  // The read model of the webhooks lags behind it.
  await checkpoint.advance({ events: [], position: positionAt(9) })
  const clock = manualClock()
  const logger = recordingLogger()
  const fanOut: Follower = deliveryFanOut({
    hasErasures: () => Promise.resolve(false),
    store,
    documents,
    commandHandler: sharedHandler(store, clock),
    checkpoint,
    logger,
  })
  const follower = leasedFollower(
    'work',
    checkpointCollection('work'),
    () => follow(fanOut, { store, logger, backoff: nextTurn }),
    { documents, pollBackoff: nextTurn },
  )
  const lease = testLease('work')
  const working = follower.run(lease)
  await endsAtOnce(t, batches, () => {
    lease.recall()
    return working
  })
  t.deepEqual(logger.lines, [], 'an end in good order is no failure')
})
