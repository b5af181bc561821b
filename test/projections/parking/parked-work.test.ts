import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { documentSnapshots } from '../../../app/commands/snapshots.js'
import type { DomainEvent } from '../../../domain/events.js'
import { engagement } from '../../../domain/engagement.js'
import { parkedEvent } from '../../../domain/parked-event.js'
import type { NewEvent } from '../../../domain/ports.js'
import { streamOf } from '../../../domain/stream-name.js'
import { failingWork } from '../../../projections/subscriptions/retries/failing-work.js'
import { FailedForGood } from '../../../projections/subscriptions/retries/failed-for-good.js'
import { parkedWork, recordedBy, type ParkedUnderLease } from '../../../projections/parking/parked-work.js'
import { goldenEvents } from '../../kit/domain/golden.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { engagementId } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { countedReads } from '../../kit/parts/counted-reads.js'
import { testLease } from '../../kit/parts/lease.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { nextTurn, turnTime } from '../../kit/time/turns.js'

const id = engagementId(1)
const stream = streamOf(engagement, id)

const golden = (name: string): DomainEvent => {
  const { type, data } = goldenEvents().find((event) => event.name === name) ?? { type: name, data: undefined }
  return { type, data } as DomainEvent
}
const started = golden('EngagementStarted.v1.json')
const paused = golden('EngagementPaused.v1.json')

/**
 * A worker whose work on an engagement with so many events has failed, was parked, and whose retry somebody has asked
 * for.
 */
const openStage = async (length: number) => {
  const { store, taken } = countedReads(memoryEventStore(memoryLog()))
  const clock = manualClock()
  const ids = randomIds(clock)
  const commandHandler = sharedHandler(store, clock, documentSnapshots(memoryDocuments(documentState())))
  const place: ParkedUnderLease = { lease: testLease('a worker'), setAside: new Map(), retried: new Map() }
  const begins: Array<string | undefined> = []
  const holderOf = (_: string, first: DomainEvent | undefined): ParkedUnderLease => {
    begins.push(first?.type)
    return place
  }
  const worker = { name: 'a_worker', actor: 'test', ...recordedBy(engagement), holderOf }
  const logger = recordingLogger()
  const { failed, release } = parkedWork(worker, {
    ...{ store, commandHandler, ids, logger, backoff: nextTurn },
    failingWork: failingWork(turnTime),
  })
  let revision: number | 'no-stream' = 'no-stream'
  const append = async (event: NewEvent): Promise<void> => {
    revision = rightOf(await store.append(stream, revision, [event])).revision
  }
  for (let n = 0; n < length; n += 1) {
    await append(newEvent(n + 1, n === 0 ? started : paused))
    // As whoever writes to it leaves snapshots.
    if (n % 50 === 0) rightOf(await commandHandler.load(engagement, id))
  }
  await failed(place, id, new FailedForGood(stream, { kind: 'corrupt', reason: 'it is refused' }))
  const parked = place.setAside.get(id) ?? 'prk_0'
  const envelope = { actor: 'operator', eventId: ids.uuid }
  return {
    place,
    begins,
    append,
    /** Resolves with what the worker reads of the stream, and how the retry stands then. */
    retry: async () => {
      const done = rightOf(await commandHandler.execute(parkedEvent, parked, { type: 'RequestRetry' }, envelope))
      const [requested] = done.events
      if (requested === undefined) throw new Error('no retry was asked for')
      taken()
      await release(requested)
      const read = taken('engagement-')
      const { events } = rightOf(await store.read(streamOf(parkedEvent, parked)))
      return { read, parked, last: events.at(-1) }
    },
  }
}

test('what a worker reads for a retry is the same however long the stream is', async (t) => {
  const [short, long] = [await openStage(200), await openStage(2_000)]
  const { read, parked, last } = await long.retry()
  t.is(read.events, (await short.retry()).read.events)
  t.true(read.events <= 101, `${read.events} events`)
  t.deepEqual(long.begins, ['EngagementStarted'])
  t.is(last?.type, 'ParkedEventRetryRequested', 'the work is done first')
  t.deepEqual([...long.place.retried], [[id, parked]])
  t.is(long.place.setAside.size, 0)
})

test('what still can not be read stays parked and set aside: also where an event that can be read stands last', async (t) => {
  const { append, place, begins, retry } = await openStage(3)
  await append({ ...newEvent(4), type: 'EngagementVanished' } as unknown as NewEvent)
  await append(newEvent(5, paused))
  const { parked, last } = await retry()
  t.like(last, {
    type: 'ParkedEventRetryFailed',
    data: { reason: 'an event has the type EngagementVanished, which this version does not know' },
  })
  t.deepEqual([...place.setAside], [[id, parked]])
  t.deepEqual(begins, [])
})

test('where somebody has recorded since how the work ended the retry is answered without it', async (t) => {
  const { append, place, retry } = await openStage(3)
  place.setAside.clear()
  await append(newEvent(4, paused))
  const { last } = await retry()
  t.is(last?.type, 'ParkedEventHandled')
  t.is(place.retried.size, 0)
})
