import test from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { neverAborted } from '../../../domain/abortable.js'
import { erasureIdOf } from '../../../domain/derived-id.js'
import { parkedEvent } from '../../../domain/parked-event.js'
import { E } from '../../../domain/prelude.js'
import type { Documents } from '../../../projections/ports.js'
import { eventfulHistory, type History } from '../../kit/domain/histories.js'
import { holdsAsync } from '../../kit/domain/property.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { atOnce, type Steps } from '../../kit/memory/steps.js'
import { contactsIn, openErasureStage, type Contact } from '../../kit/parts/erasure-stage.js'
import { rightOf } from '../../kit/right-of.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { settled } from '../../kit/time/turns.js'

const history = eventfulHistory(11)
const contacts = contactsIn(history)
const [first] = contacts
if (first === undefined) throw new Error('nobody became a contact')
/** An attempt is under way to a webhook of this account for some of its contacts, and for none of the others. */
const ofOne = contacts.filter(({ accountId }) => accountId === first.accountId)
const ofOthers = contacts.filter(({ accountId }) => accountId !== first.accountId).slice(0, 3)

/** A log in memory, in which all these contacts are to be erased, by processes whose time is moved by hand. */
const openStage = async (erased: ReadonlyArray<Contact>) => {
  const log = memoryLog()
  const store = memoryEventStore(log)
  const stage = await openErasureStage(store, history)
  const time = manualTime()
  const before = rightOf(await store.head())
  for (const one of erased) await stage.request(one)
  const completed = async (): Promise<ReadonlyArray<unknown>> =>
    (await stage.visible()).filter(({ type }) => type === 'ErasureCompleted').map(({ stream }) => stream)
  return {
    ...stage,
    time,
    before,
    /** Resolves when all that was requested is erased. */
    ended: async (following: ReturnType<typeof stage.follow>): Promise<void> => {
      await time.advance(60_000)
      await following.caughtUpTo(rightOf(await store.head()), neverAborted)
      await following.stop()
    },
    follow: (steps: Steps = atOnce, options: Parameters<typeof stage.follow>[0] = {}) =>
      stage.follow({ monotonic: time.process(), ...options }, memoryEventStore(log, steps)),
    completed,
    /** Which of these are erased. */
    erasedOf: async (some: ReadonlyArray<Contact>) => {
      const streams = await completed()
      return some.filter(({ id }) => streams.includes(`erasure-${erasureIdOf(id)}`))
    },
  }
}

/** Without their ids: a resend of deliveries to several contacts is counted by the erasure that comes first. */
const shapeOf = (events: History) =>
  events.map(({ type, stream, data }) => JSON.stringify({ type, stream, data })).toSorted()

const parkedIn = (events: History) =>
  events.flatMap((event) =>
    event.type === 'EventParked' && event.data.process_manager === 'eraser' ? [event.data] : [],
  )

test('the contacts of an account are erased while the erasures of another account wait for attempts under way', async (t) => {
  const stage = await openStage([...ofOne, ...ofOthers])
  const following = stage.follow()
  await settled()
  t.deepEqual(await stage.erasedOf(ofOthers), ofOthers)
  t.true((await stage.erasedOf(ofOne)).length < ofOne.length)
  t.true((following.position() ?? stage.before) <= stage.before)
  t.true((await stage.saved()) <= stage.before)
  await stage.ended(following)
  t.deepEqual(await stage.erasedOf(ofOne), ofOne)
  t.is((await stage.completed()).length, ofOne.length + ofOthers.length)
  t.true((await stage.saved()) > stage.before)
})

test('those that end while the files are emptied have them emptied once more, together', async (t) => {
  const stage = await openStage(ofOthers)
  const waiting: Array<() => void> = []
  const purge = async () => {
    await new Promise<void>((done) => waiting.push(done))
    return E.right(true)
  }
  const following = stage.follow(atOnce, { purge })
  await settled()
  t.is(waiting.length, 1)
  t.is((await stage.completed()).length, ofOthers.length)
  waiting[0]?.()
  await settled()
  t.is(waiting.length, 2)
  waiting[1]?.()
  await stage.ended(following)
  t.is(waiting.length, 2)
})

test('an erasure that never can succeed is parked, the others end, and its retry ends it while others hang', async (t) => {
  const [mended, ...others] = ofOthers
  if (mended === undefined) return t.fail('there is no other account')
  const stage = await openStage([...ofOne, ...ofOthers])
  let isBroken = true
  const find: Documents['find'] = (collection, query) => {
    if (isBroken && query.equals[0] === mended.id) throw new RangeError('out of range')
    return stage.find(collection, query)
  }
  const following = stage.follow(atOnce, { find })
  await settled()
  t.deepEqual(await stage.erasedOf(ofOthers), others)
  const parked = parkedIn(await stage.visible())
  t.deepEqual(
    parked.map(({ event_stream }) => event_stream),
    [`erasure-${erasureIdOf(mended.id)}`],
  )
  isBroken = false
  for (const { parked_event_id } of parked) await stage.execute(parkedEvent, parked_event_id, { type: 'RequestRetry' })
  await settled()
  t.deepEqual(await stage.erasedOf(ofOthers), ofOthers)
  t.true((await stage.erasedOf(ofOne)).length < ofOne.length)
  const ofParked = (await stage.visible()).filter(({ stream }) => stream === `parked-${parked[0]?.parked_event_id}`)
  t.is(ofParked.at(-1)?.type, 'ParkedEventHandled')
  await stage.ended(following)
  t.deepEqual(await stage.erasedOf(ofOne), ofOne)
})

test('a process that stops while it waits for attempts under way calls nothing erased: the next one waits for them', async (t) => {
  const stage = await openStage(ofOne)
  const stopped = stage.follow()
  await settled()
  const before = await stage.completed()
  t.true(before.length < ofOne.length)
  await stopped.stop()
  t.deepEqual(await stage.completed(), before)
  t.deepEqual(parkedIn(await stage.visible()), [])
  await stage.ended(stage.follow())
  t.deepEqual(await stage.erasedOf(ofOne), ofOne)
})

test('what is erased is not waited for once more by the next process, though an erasure before it had not ended', async (t) => {
  const [stuck, ...others] = ofOthers
  if (stuck === undefined) return t.fail('there is no other account')
  const stage = await openStage([stuck, ...ofOne, ...others])
  const away = E.left({ kind: 'unavailable', reason: 'away' } as const)
  const find: Documents['find'] = (collection, query) =>
    query.equals[0] === stuck.id ? Promise.resolve(away) : stage.find(collection, query)
  const following = stage.follow(atOnce, { find })
  await stage.time.advance(60_000)
  t.deepEqual(await stage.erasedOf(ofOne), ofOne)
  await following.stop()
  t.true((await stage.saved()) <= stage.before)
  const waits: Array<number> = []
  const { sleep } = stage.time.process()
  const next = stage.follow(atOnce, {
    monotonic: {
      sleep: (milliseconds, signal) => {
        waits.push(milliseconds)
        return sleep(milliseconds, signal)
      },
    },
  })
  await stage.ended(next)
  t.false(waits.includes(7_000), 'none of what is left has an attempt under way')
  t.deepEqual(await stage.erasedOf([stuck]), [stuck])
})

/**
 * A process that ends at its `nth` write, before or after it was done: nothing that it asks for is answered any more.
 */
const endingAt = (nth: number, isDone: boolean): Steps => {
  const never = new Promise<never>(() => undefined)
  let left = nth
  return {
    read: (of, look) => (left < 0 ? never : atOnce.read(of, look)),
    write: (_of, put) => {
      left -= 1
      if (left >= 0) return Promise.resolve(put())
      if (left === -1 && isDone) put()
      return never
    },
  }
}

test('wherever a process ends, the next one ends its erasures, and records what one that never ended would have', async (t) => {
  const some = [...ofOne, ...ofOthers]
  const straight = await openStage(some)
  await straight.run()
  const expected = shapeOf(await straight.visible())
  await holdsAsync(
    t,
    fc.asyncProperty(fc.array(fc.tuple(fc.nat(150), fc.boolean()), { minLength: 1, maxLength: 3 }), async (ends) => {
      const stage = await openStage(some)
      for (const [nth, isDone] of ends) {
        stage.follow(endingAt(nth, isDone))
        await stage.time.advance(8_000)
      }
      await stage.ended(stage.follow())
      assert.deepEqual(shapeOf(await stage.visible()), expected)
    }),
    { numRuns: 8 },
  )
})
