import test from 'ava'
import { randomIds } from '../../../../adapters/node/ids.js'
import { delivery } from '../../../../domain/delivery.js'
import type { EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { failingWork } from '../../../../projections/subscriptions/retries/failing-work.js'
import { recordWithRetry } from '../../../../projections/subscriptions/retries/retried-command.js'
import { at, deliveryFacts, deliveryId } from '../../../kit/domain/samples.js'
import { eventsIn, memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { testLease } from '../../../kit/parts/lease.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualClock } from '../../../kit/time/manual-clock.js'
import { nextTurn, turnTime } from '../../../kit/time/turns.js'

/** A store that does not answer the first append, and writes it while it is tried again. */
const writingLate = (store: EventStore): EventStore => {
  let late: Parameters<EventStore['append']> | undefined
  return {
    ...store,
    append: async (...args) => {
      if (late === undefined) {
        late = args
        return E.left({ kind: 'unavailable', reason: 'no answer' })
      }
      await store.append(...late)
      return store.append(...args)
    },
  }
}

test('an outcome that is written late, while it is recorded once more, is recorded once, and is known as its own', async (t) => {
  const log = memoryLog()
  const store = memoryEventStore(log)
  const clock = manualClock()
  const ids = randomIds(clock)
  const due = { type: 'MakeDue', facts: deliveryFacts(), heldAt: undefined } as const
  const envelope = { actor: 'test', eventId: ids.uuid }
  rightOf(await sharedHandler(store, clock).execute(delivery, deliveryId(), due, envelope))
  const ports = {
    ...{ commandHandler: sharedHandler(writingLate(store), clock), ids, logger: recordingLogger(), backoff: nextTurn },
    failingWork: failingWork(turnTime),
  }
  const outcome = { attempt: 1, status: 200, reason: 'delivered', duration_ms: 1 }
  const command = { type: 'RecordAttempt', delivered: true, outcome, nextAttemptAt: at() } as const
  const recording = { actor: 'delivery', lease: testLease('webhooks_0') }
  const done = await recordWithRetry(ports, recording, delivery, deliveryId(), command)
  const written = eventsIn(log).filter(({ type }) => type === 'DeliverySucceeded')
  t.is(written.length, 1)
  t.deepEqual(
    done?.events.map(({ id }) => id),
    written.map(({ id }) => id),
  )
})
