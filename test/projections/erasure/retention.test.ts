import test from 'ava'
import { neverAborted } from '../../../domain/abortable.js'
import { beginning, type Recorded } from '../../../domain/event.js'
import type { DomainEvent } from '../../../domain/events.js'
import { later, type Instant } from '../../../domain/instant.js'
import { retention } from '../../../projections/erasure/retention.js'
import { anyProjection, changesOf, collectionOf, type AnyProjection } from '../../../projections/projection.js'
import { deliveries } from '../../../projections/read-models/deliveries.js'
import { resends } from '../../../projections/read-models/resends.js'
import { eventfulHistory, type History } from '../../kit/domain/histories.js'
import { writeHistory } from '../../kit/domain/lively-history.js'
import { uuid } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { testLease } from '../../kit/parts/lease.js'
import { project } from '../../kit/parts/project.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { turnTime } from '../../kit/time/turns.js'

const history = eventfulHistory(11)
const end = history.at(-1)?.time
if (end === undefined) throw new Error('nothing happened')
const day = 24 * 60 * 60 * 1_000

const of = (events: History, type: DomainEvent['type']): History => events.filter((event) => event.type === type)

/** The events of deliveries after one sweep at `now`, by a service that keeps bodies for thirty days. */
const sweptAt = async (now: Instant): Promise<History> => {
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const documents = memoryDocuments(documentState())
  const show = async (projection: AnyProjection): Promise<void> => {
    const collection = collectionOf(projection)
    rightOf(await documents.prepare(collection))
    rightOf(await documents.apply(collection, changesOf(projection, new Map(), history), beginning))
  }
  for (const projection of [anyProjection(deliveries), anyProjection(resends)]) await show(projection)
  const clock = manualClock()
  clock.set(now)
  const lease = testLease('retention')
  let ids = 10_000
  const keeping = retention(
    {
      ...{ store, documents, time: turnTime, logger: recordingLogger() },
      commandHandler: sharedHandler(store, clock),
      clock: {
        now: clock.now,
        sleepUntil: () => {
          lease.recall()
          return Promise.resolve()
        },
      },
      ids: { uuid: () => uuid((ids += 1)) },
      resends: { name: 'resends', failure: () => undefined, caughtUpTo: () => Promise.resolve() },
    },
    30,
  )
  await keeping.run(lease)
  const left: Array<Recorded<DomainEvent>> = []
  for await (const { events } of store.history(beginning, ['delivery'], neverAborted)) left.push(...events)
  return left
}

test('bodies of deliveries that ended longer ago are removed, and those that still wait are kept', async (t) => {
  const left = await sweptAt(later(end, 31 * day))
  const before = project(anyProjection(deliveries), history)
  const waits = (id: string): boolean =>
    ['due', 'held'].includes(String(before[id]?.['state'])) || before[id]?.['resend'] !== undefined
  const ids = Object.keys(before)
  const kept = of(left, 'DeliveryDue').map(({ stream }) => stream.slice('delivery-'.length))
  t.deepEqual(kept.toSorted(), ids.filter(waits).toSorted())
  const erased = of(left, 'DeliveryErased').map(({ stream }) => stream.slice('delivery-'.length))
  t.deepEqual(erased.toSorted(), ids.filter((id) => !waits(id)).toSorted())
  t.true(erased.length > 5 && kept.length > 5, `${erased.length} and ${kept.length}`)
})

test('webhook, label, attempts and times of a delivery outlast its body', async (t) => {
  const before = project(anyProjection(deliveries), history)
  const after = project(anyProjection(deliveries), await sweptAt(later(end, 31 * day)))
  t.deepEqual(Object.keys(after).toSorted(), Object.keys(before).toSorted())
  for (const [id, { webhook_id, label, state, attempts, created_at, last_outcome }] of Object.entries(after))
    t.like(before[id], { webhook_id, label, state, attempts, created_at, last_outcome })
})

test('nothing is removed before its time', async (t) => {
  const before = history.filter(({ stream }) => stream.startsWith('delivery-'))
  const first = of(history, 'DeliveryDue')[0]?.time
  if (first === undefined) return t.fail('no delivery was due')
  t.deepEqual(await sweptAt(later(first, 29 * day)), before)
})
