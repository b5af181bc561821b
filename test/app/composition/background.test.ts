import test from 'ava'
import { singleProcessMembership } from '../../../adapters/in-process/single-process-leases.js'
import { backgroundWork } from '../../../app/composition/background.js'
import type { Followers } from '../../../app/composition/followers.js'
import { aborted } from '../../../domain/abortable.js'
import { beginning } from '../../../domain/event.js'
import type { StoreFailure } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { anyProjection } from '../../../projections/projection.js'
import { deliveries } from '../../../projections/read-models/deliveries.js'
import { followUps } from '../../../projections/read-models/follow-ups.js'
import { messages } from '../../../projections/read-models/messages.js'
import { notices } from '../../../projections/read-models/notices.js'
import type { Lease } from '../../../projections/subscriptions/leases.js'
import { positionAt } from '../../kit/domain/samples.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { isOver, settled } from '../../kit/time/turns.js'

type Ports = Parameters<typeof backgroundWork>[0]

/**
 * The start of a process whose followers come as far as they are let, and whose read models are there once they are
 * built.
 */
const open = (...roles: ReadonlyArray<string>) => {
  const held: Array<{ readonly name: string; readonly resolve: () => void }> = []
  const positionsAsked: Array<string> = []
  const running: Array<string> = []
  const follower = (name: string) => ({
    name,
    run: async ({ ending }: Lease) => {
      running.push(name)
      await aborted(ending)
      running.splice(running.indexOf(name), 1)
    },
    position: () => {
      positionsAsked.push(name)
      return Promise.resolve(beginning)
    },
    furthestPosition: () => Promise.resolve(beginning),
    failure: () => undefined,
    retrying: () => undefined,
    caughtUpTo: () => Promise.resolve(),
    caughtUpHere: () =>
      new Promise<void>((resolve) => {
        held.push({ name, resolve })
      }),
  })
  const readModels = [
    anyProjection(deliveries),
    anyProjection(notices),
    anyProjection(followUps),
    anyProjection(messages),
  ].map((projection) => ({
    projection,
    follower: follower(projection.name),
  }))
  const reactions = follower('reactions')
  const followers: Followers = {
    readModels,
    reactions,
    erasures: { ended: () => Promise.reject(new Error('unused')), knownToAll: () => Promise.resolve() },
    rebuilds: { begin: () => E.left([]), all: () => Promise.resolve([]) },
    processManagers: ['reactions'],
    all: [...readModels.map((one) => one.follower), reactions],
  }
  let isBuilt = true
  let isAway = false
  const shown = (): Promise<Either<StoreFailure, []>> =>
    Promise.resolve(isAway ? E.left({ kind: 'unavailable', reason: 'away' }) : E.right([]))
  const time = manualTime()
  const clock = manualClock()
  const logger = recordingLogger()
  const ports = {
    stores: {
      store: {
        head: () => Promise.resolve(E.right(7n)),
        purge: () => Promise.resolve(E.right(true)),
        async *subscribe(_: unknown, __: unknown, signal: AbortSignal) {
          await aborted(signal)
        },
      },
      documents: {
        exists: () => Promise.resolve(E.right(isBuilt)),
        confirmedCheckpoint: () => Promise.resolve(E.right(7n)),
        find: shown,
        values: shown,
      },
      membership: singleProcessMembership(),
    },
    roles: new Set(['api', ...roles]),
    followers,
    everyProcessFollowers: [],
    logger,
    monotonic: time.process(),
    clock,
    messageRetentionDays: 30,
    siteUrl: Promise.resolve('https://leads.example.com'),
  } as unknown as Ports
  return {
    background: backgroundWork(ports),
    time,
    clock,
    logger,
    /** The followers that run under their leases. */
    running,
    /** What posts to webhooks has begun: it asks how far its read model has come. */
    isDelivering: () => positionsAsked.includes(deliveries.name),
    build: (built: boolean) => void (isBuilt = built),
    /** Whether the read models do not answer. */
    takeAway: (away: boolean) => void (isAway = away),
    catchUp: async (...names: ReadonlyArray<string>) => {
      await settled()
      for (const { name, resolve } of held) if (names.includes(name)) resolve()
      await settled()
    },
  }
}

test('a start waits until its followers have caught up', async (t) => {
  const { background, catchUp } = open()
  const starting = background.begin(positionAt(7))
  await catchUp('deliveries', 'notices', 'follow_ups', 'messages')
  t.false(await isOver(starting))
  t.deepEqual(background.awaitedFollowers(), ['reactions'])
  await catchUp('reactions')
  t.deepEqual(background.awaitedFollowers(), [])
  t.false(await isOver(starting), 'the read models have still to show what the reactions have finished')
  await catchUp('deliveries', 'notices', 'follow_ups', 'messages')
  t.true(await isOver(starting))
  await background.stop()
})

test('deliveries begin once their own read models have caught up, whatever else stands still', async (t) => {
  const { background, catchUp, isDelivering } = open('delivery')
  void background.begin(positionAt(7))
  await settled()
  t.false(isDelivering(), 'what the read model shows as due may have been tried')
  await catchUp('deliveries')
  t.true(isDelivering())
  t.deepEqual(background.awaitedFollowers(), ['notices', 'follow_ups', 'messages', 'reactions', 'follow_up_worker'])
  await background.stop()
})

test('a start waits for three seconds at most, and says what it waited for until that has caught up', async (t) => {
  const { background, catchUp, time, logger } = open()
  const starting = background.begin(positionAt(7))
  await catchUp('deliveries', 'notices', 'follow_ups', 'messages')
  await time.advance(2_999)
  t.false(await isOver(starting))
  await time.advance(1)
  t.true(await isOver(starting))
  t.deepEqual(background.awaitedFollowers(), ['reactions'])
  t.is(logger.lines.filter(({ message }) => message.startsWith('a start takes requests before')).length, 1)
  await catchUp('reactions')
  t.deepEqual(background.awaitedFollowers(), [])
  await background.stop()
})

test('a start does not wait longer for a read model that is being built, wherever that is', async (t) => {
  const { background, catchUp, time, build } = open()
  build(false)
  const starting = background.begin(positionAt(7))
  await time.advance(3_000)
  t.true(await isOver(starting))
  t.deepEqual(background.awaitedFollowers(), ['deliveries', 'notices', 'follow_ups', 'messages', 'reactions'])
  build(true)
  await time.advance(100)
  await catchUp('deliveries', 'notices', 'follow_ups', 'messages', 'reactions')
  t.deepEqual(background.awaitedFollowers(), [])
  await background.stop()
})

test('a process that is told to stop while it begins gives back every lease that it has got', async (t) => {
  const { background, running } = open('projector')
  void background.begin(positionAt(7))
  await settled()
  t.is(running.length, 5)
  await background.stop()
  t.deepEqual(running, [])
})

test('workers that can not read what is due are told of by name, for as long as that lasts', async (t) => {
  const { background, time, takeAway, catchUp } = open('delivery')
  takeAway(true)
  void background.begin(positionAt(7))
  await catchUp('deliveries', 'notices', 'follow_ups', 'messages', 'reactions')
  const retrying = (): ReadonlyArray<readonly [string, string | undefined]> =>
    background
      .followers()
      .map((one) => [one.name, one.retrying()] as const)
      .filter(([, reason]) => reason !== undefined)
  const workers = ['delivery_worker', 'follow_up_worker', 'mailer']
  await time.advance(10_000)
  t.deepEqual(
    retrying().toSorted(),
    workers.map((name) => [name, 'away'] as const),
  )
  takeAway(false)
  await time.advance(3_000)
  t.deepEqual(retrying(), [])
  await background.stop()
})

test('a removal of what was kept for long enough that fails is told of by name until it succeeds', async (t) => {
  const { background, clock, takeAway } = open('projector')
  const retrying = (): string | undefined =>
    background
      .followers()
      .find(({ name }) => name === 'message_retention')
      ?.retrying()
  takeAway(true)
  void background.begin(positionAt(7))
  await settled()
  t.is(retrying(), 'away')
  t.true(clock.toNextTimer(clock.time() + 10 * 60_000), 'it is tried again soon')
  await settled()
  t.is(retrying(), 'away')
  takeAway(false)
  t.true(clock.toNextTimer())
  await settled()
  t.is(retrying(), undefined)
  await background.stop()
})
