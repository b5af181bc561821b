import test from 'ava'
import { randomIds } from '../../../../adapters/node/ids.js'
import { neverAborted } from '../../../../domain/abortable.js'
import { delivery, type DeliveryCommand } from '../../../../domain/delivery.js'
import { beginning } from '../../../../domain/event.js'
import type { RecordedEvent } from '../../../../domain/events.js'
import { later, type Instant } from '../../../../domain/instant.js'
import type { EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { resend } from '../../../../domain/resend.js'
import { deliveryRetention } from '../../../../projections/erasure/retention/delivery-retention.js'
import { retention } from '../../../../projections/erasure/retention/retention.js'
import { anyProjection, changesOf, collectionOf } from '../../../../projections/projection.js'
import { deliveries } from '../../../../projections/read-models/deliveries.js'
import { resends } from '../../../../projections/read-models/resends.js'
import { failingWork } from '../../../../projections/subscriptions/retries/failing-work.js'
import { accountId, at, deliveryFacts, deliveryId, resendId, webhookId } from '../../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { sharedHandler } from '../../../kit/parts/command-handlers.js'
import { testLease } from '../../../kit/parts/lease.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualClock } from '../../../kit/time/manual-clock.js'
import { nextTurn, turnTime } from '../../../kit/time/turns.js'

const outcome = { attempt: 1, status: 200, reason: 'ok', duration_ms: 1, excerpt: 'What the receiver said' }
const away = E.left({ kind: 'unavailable', reason: 'away' } as const)
const day = 24 * 60 * 60 * 1_000

/** A service that keeps bodies for a day, and so many deliveries that have been kept for longer. */
const openStage = async (count: number) => {
  const store = memoryEventStore(memoryLog())
  const documents = memoryDocuments(documentState())
  const clock = manualClock()
  const commandHandler = sharedHandler(store, clock)
  const ids = randomIds(clock)
  const envelope = { actor: 'test', eventId: ids.uuid }
  const record = async (n: number, ...commands: ReadonlyArray<DeliveryCommand>): Promise<void> => {
    for (const command of commands) rightOf(await commandHandler.execute(delivery, deliveryId(n), command, envelope))
  }
  for (let n = 1; n <= count; n += 1)
    await record(
      n,
      { type: 'MakeDue', facts: deliveryFacts({ delivery_id: deliveryId(n) }), heldAt: undefined },
      { type: 'RecordAttempt', delivered: true, outcome, nextAttemptAt: at() },
    )
  const events = async (): Promise<ReadonlyArray<RecordedEvent>> => {
    const all: Array<RecordedEvent> = []
    for await (const batch of store.history(beginning, ['delivery', 'resend'], neverAborted)) all.push(...batch.events)
    return all
  }
  const show = async (): Promise<void> => {
    const all = await events()
    for (const projection of [anyProjection(deliveries), anyProjection(resends)]) {
      const collection = collectionOf(projection)
      rightOf(await documents.prepare(collection))
      const own = all.filter((event) => projection.keyOf(event) !== undefined)
      const shown = rightOf(
        await documents.get(
          collection,
          own.map((event) => projection.keyOf(event) ?? ''),
        ),
      )
      rightOf(await documents.apply(collection, changesOf(projection, shown, own), all.at(-1)?.position ?? beginning))
    }
  }

  /** So many looks under one lease. `isLate`: whether the read model that counts resends is. */
  const look = async (looks: number, changed: Partial<EventStore> = {}, isLate = () => false): Promise<void> => {
    await show()
    if (clock.now() < later(at(), 2 * day)) clock.set(later(at(), 2 * day))
    const lease = testLease('retention')
    let left = looks
    const ports = {
      ...{
        store: { ...store, ...changed },
        documents,
        monotonic: turnTime,
        logger: recordingLogger(),
        commandHandler,
        ids,
      },
      ...{ failingWork: failingWork(turnTime, Infinity), backoff: nextTurn },
      clock: {
        now: clock.now,
        sleepUntil: async (until: Instant) => {
          const isOver = until >= later(clock.now(), 60_000)
          clock.set(until)
          if (!isOver) return
          await show()
          left -= 1
          if (left === 0) lease.recall()
        },
      },
      resends: {
        name: 'resends',
        failure: () => (isLate() ? 'late' : undefined),
        caughtUpTo: () => Promise.resolve(),
      },
    }
    await retention(ports, deliveryRetention(ports), 1).run(lease)
  }

  return {
    store,
    record,
    look,
    startResend: async () => {
      const ids = { resendId: resendId(), accountId: accountId(), webhookId: webhookId() }
      const command = { type: 'StartResend', ...ids, from: at(), to: at(1_000) } as const
      rightOf(await commandHandler.execute(resend, resendId(), command, envelope))
    },
    /** Deliveries whose bodies are in the log. */
    bodies: async () => (await events()).filter(({ type }) => type === 'DeliveryDue').map(({ stream }) => stream),
    closed: async () => (await events()).filter(({ type }) => type === 'DeliveryErased').map(({ stream }) => stream),
  }
}

/** A truncation that fails for a stream so many times. */
const failing = (store: EventStore, stream: string, times: number): Pick<EventStore, 'truncate'> => {
  let left = times
  return {
    truncate: (of, before) => {
      if (of !== stream) return store.truncate(of, before)
      left -= 1
      return left >= 0 ? Promise.resolve(away) : store.truncate(of, before)
    },
  }
}

const first = `delivery-${deliveryId(1)}`

test('a body whose removal failed is removed in the next look, however many were removed after it', async (t) => {
  const stage = await openStage(200)
  const store = failing(stage.store, first, 2)
  await stage.look(3, store)
  t.deepEqual(await stage.bodies(), [])
  t.is((await stage.closed()).length, 200)
})

test('so it is by the next process, if that looks within a day', async (t) => {
  const stage = await openStage(200)
  await stage.look(1, failing(stage.store, first, Infinity))
  t.deepEqual(await stage.bodies(), [first])
  await stage.look(1)
  t.deepEqual(await stage.bodies(), [])
})

test('a delivery is not closed while the count of its resends is late, so it is looked at again', async (t) => {
  const stage = await openStage(1)
  await stage.startResend()
  await stage.record(
    1,
    { type: 'RequestResend', resendId: resendId(), dueAt: at(1) },
    { type: 'RecordResend', delivered: true, outcome: { ...outcome, attempt: 2 } },
  )
  await stage.look(1, {}, () => true)
  t.deepEqual(await stage.closed(), [])
  t.deepEqual(await stage.bodies(), [first])
  await stage.look(1)
  t.deepEqual(await stage.bodies(), [])
})
