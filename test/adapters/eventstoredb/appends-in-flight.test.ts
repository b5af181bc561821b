import type { EventStoreDBClient } from '@eventstore/db-client'
import test, { type ExecutionContext } from 'ava'
import { mock } from 'node:test'
import { performance } from 'node:perf_hooks'
import { disposeOf, whileAppending } from '../../../adapters/eventstoredb/appends-in-flight.js'
import { E } from '../../../domain/prelude.js'
import { until } from '../../eventstoredb-double/open-double.js'
import { newEvent } from '../../kit/events.js'
import { openEventStoreDb, storeAt } from '../../kit/eventstoredb.js'
import { rightOf } from '../../kit/right-of.js'

/** What happened, in its order. */
type Story = Array<string>

const clientIn = (story: Story, name = 'client', dispose = Promise.resolve()): EventStoreDBClient => {
  const client: Pick<EventStoreDBClient, 'dispose'> = {
    dispose: () => {
      story.push(`${name} is disposed of`)
      return dispose
    },
  }
  return client as EventStoreDBClient
}

type Appending = { readonly end: () => void; readonly fail: () => void; readonly done: Promise<string> }

/** An append that is under way until it is ended. */
const appendIn = (story: Story, name: string): Appending => {
  let end = (): void => undefined
  let fail = (): void => undefined
  const ended = new Promise<void>((resolve, reject) => {
    end = () => resolve()
    fail = () => reject(new Error(name))
  })
  const done = whileAppending(async () => {
    story.push(`${name} begins`)
    await ended
    story.push(`${name} ends`)
    return name
  })
  return { end: () => end(), fail: () => fail(), done }
}

/** All that can go on has gone on. */
const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}

test.serial('a client is disposed of at once when no append is under way', async (t) => {
  const story: Story = []
  await disposeOf(clientIn(story))
  t.deepEqual(story, ['client is disposed of'])
})

test.serial('a disposal waits for the appends under way, also for those that fail', async (t) => {
  const story: Story = []
  const [one, two] = [appendIn(story, 'one'), appendIn(story, 'two')]
  const disposing = disposeOf(clientIn(story))
  await settled()
  two.fail()
  await t.throwsAsync(two.done, { message: 'two' })
  await settled()
  t.deepEqual(story, ['one begins', 'two begins'])
  one.end()
  t.is(await one.done, 'one')
  await disposing
  t.deepEqual(story, ['one begins', 'two begins', 'one ends', 'client is disposed of'])
})

test.serial('appends wait for a disposal, and one disposal for the other', async (t) => {
  const story: Story = []
  let goOn = (): void => undefined
  const slow = new Promise<void>((resolve) => {
    goOn = resolve
  })
  const first = disposeOf(clientIn(story, 'first', slow))
  const second = disposeOf(clientIn(story, 'second'))
  const one = appendIn(story, 'one')
  await settled()
  t.deepEqual(story, ['first is disposed of'])
  goOn()
  await first
  one.end()
  await Promise.all([second, one.done])
  const after = story.slice(1)
  const ways = [
    ['second is disposed of', 'one begins', 'one ends'],
    ['one begins', 'one ends', 'second is disposed of'],
  ]
  t.true(
    ways.some((way) => way.join() === after.join()),
    story.join(),
  )
})

test.serial('a disposal that fails holds nobody up', async (t) => {
  const story: Story = []
  const failing = Promise.reject(new Error('it could not be disposed of'))
  await t.throwsAsync(disposeOf(clientIn(story, 'client', failing)))
  const one = appendIn(story, 'one')
  one.end()
  t.is(await one.done, 'one')
})

/** Timers and the clock stand still until they are told to go on. */
const manualTimers = (t: ExecutionContext) => {
  let now = performance.now()
  const timers = new Map<NodeJS.Timeout, { readonly at: number; readonly wake: () => void }>()
  const start = (wake: () => void, milliseconds: number): NodeJS.Timeout => {
    const timer = {} as NodeJS.Timeout
    timers.set(timer, { at: now + milliseconds, wake })
    return timer
  }
  const stop = (timer: NodeJS.Timeout): void => void timers.delete(timer)
  const mocks = [
    mock.method(performance, 'now', () => now),
    mock.method(globalThis, 'setTimeout', start as typeof setTimeout),
    mock.method(globalThis, 'clearTimeout', stop as typeof clearTimeout),
  ]
  t.teardown(() => {
    for (const one of mocks) one.mock.restore()
  })
  return async (milliseconds: number): Promise<void> => {
    now += milliseconds
    for (const [timer, { at, wake }] of [...timers]) {
      if (at > now) continue
      timers.delete(timer)
      wake()
    }
    await settled()
  }
}

test.serial('an append without end holds a disposal up for six seconds, whatever ends meanwhile', async (t) => {
  const pass = manualTimers(t)
  const story: Story = []
  const [endless, other] = [appendIn(story, 'endless'), appendIn(story, 'other')]
  const disposing = disposeOf(clientIn(story))
  await pass(3_000)
  other.end()
  await pass(2_990)
  t.false(story.includes('client is disposed of'))
  await pass(20)
  t.true(story.includes('client is disposed of'))
  endless.end()
  await Promise.all([disposing, endless.done, other.done])
})

test.serial('a store that closes leaves alone what another has under way', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  const other = storeAt(t, double.url)
  rightOf(await store.append('account-1', 'no-stream', [newEvent(1)]))
  rightOf(await other.append('account-2', 'no-stream', [newEvent(2)]))
  double.faults.delayAppends(100)
  const appending = store.append('account-3', 'no-stream', [newEvent(3)])
  await until(() => double.calls().appends === 3)
  let isClosed = false
  const closing = other.close().then(() => (isClosed = true))
  const appended = await appending
  t.false(isClosed)
  t.true(E.isRight(appended))
  await closing
  t.is(double.calls().appends, 3, 'it was asked once')
  double.faults.clear()
  t.true(E.isRight(await store.append('account-4', 'no-stream', [newEvent(4)])))
})
