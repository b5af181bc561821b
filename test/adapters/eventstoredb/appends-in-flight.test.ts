import type { AppendResult, EventStoreDBClient } from '@eventstore/db-client'
import test from 'ava'
import {
  appendsInFlight,
  TooManyUnanswered,
  type AppendsInFlight,
} from '../../../adapters/eventstoredb/client/appends-in-flight.js'
import { connect } from '../../../adapters/eventstoredb/client/connection.js'
import { E } from '../../../domain/prelude.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { openEventStoreDb, storeAt } from '../../kit/stores/eventstoredb.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { rightOf } from '../../kit/right-of.js'
import { until } from '../../kit/time/until.js'
import { isOver, settled } from '../../kit/time/turns.js'

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

/** An append that is in flight until it is ended. */
const appendIn = (appends: AppendsInFlight, story: Story, name: string): Appending => {
  let end = (): void => undefined
  let fail = (): void => undefined
  const ended = new Promise<void>((resolve, reject) => {
    end = () => resolve()
    fail = () => reject(new Error(name))
  })
  const done = appends.track(async () => {
    story.push(`${name} begins`)
    await ended
    story.push(`${name} ends`)
    return name
  })
  return { end: () => end(), fail: () => fail(), done }
}

const open = () => {
  const time = manualTime()
  return { appends: appendsInFlight(time.process()), advance: time.advance }
}

test('no more appends are sent than a number of bytes without an answer, until one is answered', async (t) => {
  const { appends } = open()
  let answer = (): void => undefined
  const answered = new Promise<AppendResult>((resolve) => {
    answer = () => resolve({ success: true, nextExpectedRevision: 0n })
  })
  let sent = 0
  const send = (bytes: number): Promise<AppendResult> =>
    appends.send(bytes, () => {
      sent += 1
      return answered
    })
  const sending = Array.from({ length: 16 }, () => send(1_000_000))
  await settled()
  t.is(sent, 16)
  await t.throwsAsync(() => send(1), { instanceOf: TooManyUnanswered })
  t.is(sent, 16)
  answer()
  await Promise.all(sending)
  await send(1)
  t.is(sent, 17)
})

test('a client is disposed of at once when no append is in flight', async (t) => {
  const { appends } = open()
  const story: Story = []
  await appends.dispose(clientIn(story))
  t.deepEqual(story, ['client is disposed of'])
})

test('a disposal waits for every append in flight, whether it succeeds or fails', async (t) => {
  const { appends } = open()
  const story: Story = []
  const [one, two] = [appendIn(appends, story, 'one'), appendIn(appends, story, 'two')]
  const disposing = appends.dispose(clientIn(story))
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

test('appends wait for a disposal, and so does another disposal', async (t) => {
  const { appends } = open()
  const story: Story = []
  let release = (): void => undefined
  const slow = new Promise<void>((resolve) => {
    release = resolve
  })
  const first = appends.dispose(clientIn(story, 'first', slow))
  const second = appends.dispose(clientIn(story, 'second'))
  const one = appendIn(appends, story, 'one')
  await settled()
  t.deepEqual(story, ['first is disposed of'])
  release()
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

test('a disposal that fails holds up no append, neither one that waits for it nor a later one', async (t) => {
  const { appends } = open()
  const story: Story = []
  let fail = (): void => undefined
  const failing = new Promise<void>((_, reject) => {
    fail = () => reject(new Error('it could not be disposed of'))
  })
  const disposing = appends.dispose(clientIn(story, 'client', failing))
  const waiting = appendIn(appends, story, 'waiting')
  fail()
  await t.throwsAsync(disposing, { message: 'it could not be disposed of' })
  const later = appendIn(appends, story, 'later')
  waiting.end()
  later.end()
  t.deepEqual(await Promise.all([waiting.done, later.done]), ['waiting', 'later'])
})

test('an append that never ends holds up a disposal for six seconds, whatever else ends meanwhile', async (t) => {
  const { appends, advance } = open()
  const story: Story = []
  const [endless, other] = [appendIn(appends, story, 'endless'), appendIn(appends, story, 'other')]
  const disposing = appends.dispose(clientIn(story))
  await advance(3_000)
  other.end()
  await advance(2_990)
  t.false(story.includes('client is disposed of'))
  await advance(20)
  t.true(story.includes('client is disposed of'))
  endless.end()
  await Promise.all([disposing, endless.done, other.done])
})

const never = new Promise<void>(() => undefined)

test('a disposal that never ends holds up appends and an end for six seconds at most', async (t) => {
  const { appends, advance } = open()
  const story: Story = []
  const disposing = appends.dispose(clientIn(story, 'client', never))
  const one = appendIn(appends, story, 'one')
  one.end()
  await advance(5_990)
  t.deepEqual(story, ['client is disposed of'])
  await advance(20)
  t.true(await isOver(Promise.all([disposing, one.done])))
})

test('a disposal of the client that reads, which never ends, holds up an end for six seconds at most', async (t) => {
  const time = manualTime()
  const connection = rightOf(connect('esdb://127.0.0.1:2113?tls=false', time.process()))
  connection.reads.current().dispose = () => never
  const closing = connection.close()
  await time.advance(5_990)
  t.false(await isOver(closing))
  await time.advance(20)
  t.true(await isOver(closing))
})

test('a store that closes does not disturb the appends of another store in the same process', async (t) => {
  const { double, store } = await openEventStoreDb(t)
  const other = storeAt(t, double.url)
  rightOf(await store.append('account-1', 'no-stream', [newEvent(1)]))
  rightOf(await other.append('account-2', 'no-stream', [newEvent(2)]))
  double.faults.delayAppends(100)
  const appending = store.append('account-3', 'no-stream', [newEvent(3)])
  await until('the append has arrived', 60_000, () => double.calls().appends === 3)
  let isClosed = false
  const closing = other.close().then(() => (isClosed = true))
  const appended = await appending
  t.false(isClosed)
  t.true(E.isRight(appended))
  await closing
  t.is(double.calls().appends, 3, 'it was sent once')
  double.faults.clear()
  t.true(E.isRight(await store.append('account-4', 'no-stream', [newEvent(4)])))
})
