import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { connectMongo } from '../../../adapters/mongodb/client/connection.js'
import { leaseRecordsIn, type LeaseRecord } from '../../../adapters/mongodb/leases/lease-records.js'
import type { InstanceRecord } from '../../../adapters/mongodb/leases/instances.js'
import { mongoMembership } from '../../../adapters/mongodb/leases/membership.js'
import { leasesContract } from '../../contracts/leases.js'
import { hostOf, mongoUrl, urlAt } from '../../kit/stores/mongo-url.js'
import { testDatabase } from '../../kit/stores/mongodb.js'
import { holdsAsync } from '../../kit/domain/property.js'
import { rightOf } from '../../kit/right-of.js'
import { tcpProxy } from '../../kit/network/tcp-proxy.js'
import {
  advanceUntil,
  counts,
  fleetOn,
  isAllLeased,
  leaseLogger,
  numbered,
  type LeaseFleet,
  type Instance,
} from './lease-fleet.js'
import { until } from '../../kit/time/until.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'

if (mongoUrl === undefined) {
  test.skip('leases on MongoDB need a server: set MONGODB_URL', (t) => t.fail())
} else {
  const database = testDatabase(mongoUrl)
  test.after.always('the database is dropped', database.drop)

  leasesContract('mongodb', async () => {
    const fleet = await fleetOn(database.open())
    const monotonic = fleet.time.process()
    let ids = 0
    const newId = (): string => `alone_${(ids += 1)}`
    return {
      membership: mongoMembership({
        db: fleet.connection.db,
        newId,
        logger: leaseLogger,
        monotonic,
        lifetime: monotonic.now,
      }),
      advance: fleet.advance,
      close: fleet.close,
    }
  })

  const behaviour = (title: string, check: (t: ExecutionContext, fleet: LeaseFleet) => Promise<void>): void => {
    test.serial(title, async (t) => {
      const fleet = await fleetOn(database.open())
      try {
        await check(t, fleet)
      } finally {
        await fleet.close()
      }
    })
  }

  /** The lease tokens under which these names are leased. */
  const tokensOf = async ({ connection }: LeaseFleet, names: ReadonlyArray<string>): Promise<ReadonlyArray<number>> => {
    const { current } = await leaseRecordsIn(connection.db).read()
    return names.map((name) => current.get(name)?.token ?? 0)
  }

  behaviour('instances hold no more than their fair share, however many join', async (t, fleet) => {
    const names = numbered(64)
    const first = fleet.start(names)
    await fleet.advance(0)
    t.deepEqual(counts(first), [64])
    const second = fleet.start(names)
    await fleet.advance(3_000)
    t.deepEqual(counts(first, second), [32, 32])
    const third = fleet.start(names)
    await fleet.advance(3_000)
    t.true(counts(first, second, third).every((count) => count <= 22))
    t.true(isAllLeased(names, first, second, third))
  })

  behaviour('instances that start at the same time share the names at once', async (t, fleet) => {
    const names = numbered(9)
    const instances = [1, 2, 3, 4].map(() => fleet.start(names))
    await fleet.advance(2_500)
    t.true(isAllLeased(names, ...instances))
    t.true(counts(...instances).every((count) => count <= 3))
  })

  behaviour('instances that do other work take no share', async (t, fleet) => {
    const [one, other] = [fleet.start(numbered(4)), fleet.start(['elsewhere'], 'other')]
    await fleet.advance(5_000)
    t.deepEqual(counts(one, other), [4, 1])
  })

  behaviour(
    'a lease that one instance gives back goes to another with its next heartbeat, under a higher lease token',
    async (t, fleet) => {
      const names = numbered(2)
      const first = fleet.start(names)
      await fleet.advance(2_000)
      t.deepEqual(await tokensOf(fleet, names), [1, 1])
      const second = fleet.start(names)
      await fleet.advance(2_500)
      t.deepEqual(counts(first, second), [1, 1])
      t.deepEqual(await tokensOf(fleet, first.leased()), [1])
      t.deepEqual(await tokensOf(fleet, second.leased()), [2])
    },
  )

  behaviour('the leases of an instance that leaves go to the others with their next heartbeat', async (t, fleet) => {
    const names = numbered(8)
    const [first, second] = [fleet.start(names), fleet.start(names)]
    await fleet.advance(3_000)
    const leaving = first.membership.leave()
    await fleet.advance(1_100)
    await leaving
    t.deepEqual(counts(first, second), [0, 8])
  })

  behaviour(
    'two instances that leave together give back hundreds of leases with a command or two each',
    async (t, fleet) => {
      const names = numbered(300)
      const instances = [fleet.start(names), fleet.start(names)]
      await fleet.advance(5_000)
      t.true(isAllLeased(names, ...instances))
      let commands = 0
      fleet.connection.db.client.on('commandStarted', ({ commandName, command }) => {
        if (commandName === 'update' && command['update'] === 'leases') commands += 1
      })
      const left = Promise.all(instances.map(({ membership }) => membership.leave()))
      await fleet.advance(5_000)
      await left
      const { current } = await leaseRecordsIn(fleet.connection.db).read()
      t.true([...current.values()].every(({ released }) => released))
      t.true(commands <= 8, `${commands} commands`)
    },
  )

  behaviour('the leases of an instance that was killed go to the others within ten seconds', async (t, fleet) => {
    const names = numbered(12)
    const waits: Array<number> = []
    let [survivor, killed] = [fleet.start(names), fleet.start(names)]
    for (let round = 0; round < 12; round += 1) {
      // So that the heartbeats of the two meet in every phase.
      await fleet.advance(4_000 + ((round * 370) % 1_000))
      t.deepEqual(counts(survivor, killed), [6, 6])
      killed.kill()
      const left = survivor
      waits.push(await advanceUntil(fleet, () => counts(left)[0] === 12))
      await fleet.advance((round * 130) % 1_000)
      ;[survivor, killed] = [fleet.start(names), survivor]
    }
    const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length
    t.log(`mean ${Math.round(mean)} ms, longest ${Math.max(...waits)} ms`)
    t.true(Math.max(...waits) < 10_000)
    t.true(Math.min(...waits) > 5_000)
  })

  behaviour(
    'whether others do a work is told to one that is to join, from whom it takes no lease',
    async (t, fleet) => {
      const names = numbered(4)
      const first = fleet.start(names)
      await fleet.advance(1_500)
      const monotonic = fleet.time.process()
      const { db } = fleet.connection
      const { isDoneElsewhere } = mongoMembership({
        db,
        newId: () => '',
        logger: leaseLogger,
        monotonic,
        lifetime: monotonic.now,
      })
      const answerIn = async (milliseconds: number, work: string): Promise<unknown> => {
        let answer: unknown
        void isDoneElsewhere(work).then((told) => (answer = rightOf(told)))
        await fleet.advance(milliseconds)
        return answer
      }
      t.is(await answerIn(1_000, 'work'), true)
      t.is(await answerIn(0, 'other'), false)
      t.deepEqual(await tokensOf(fleet, first.leased()), [1, 1, 1, 1])
      first.kill()
      t.is(await answerIn(6_000, 'work'), undefined, 'it may live')
      t.is(await answerIn(1_000, 'work'), false)
    },
  )

  behaviour('the leases of a whole fleet that was killed go to the next instance that joins', async (t, fleet) => {
    const names = numbered(6)
    const killed = [fleet.start(names), fleet.start(names)]
    await fleet.advance(3_000)
    for (const instance of killed) instance.kill()
    const next = fleet.start(names)
    t.true((await advanceUntil(fleet, () => counts(next)[0] === 6)) < 10_000)
  })

  behaviour(
    'an instance that was paused for too long knows at once that it holds nothing, and joins anew',
    async (t, fleet) => {
      const names = numbered(6)
      const [paused, other] = [fleet.start(names), fleet.start(names)]
      await fleet.advance(3_000)
      const before = paused.leases.slice()
      paused.monotonic.freeze()
      await fleet.advance(4_000)
      t.deepEqual(counts(paused, other), [3, 3])
      await fleet.advance(6_000)
      // No timer of it has run since.
      t.is(paused.worked().length, 3)
      t.deepEqual(counts(paused, other), [0, 6])
      paused.monotonic.thaw()
      await fleet.advance(0)
      t.deepEqual(paused.worked(), [])
      t.true(before.every(({ ending, lost }) => ending.aborted && lost.aborted))
      await fleet.advance(4_000)
      t.deepEqual(counts(paused, other), [3, 3])
      t.deepEqual(paused.leased(), paused.worked())
      t.true((await tokensOf(fleet, paused.leased())).every((token) => token >= 2))
    },
  )

  behaviour('an instance that was paused for a moment keeps its leases', async (t, fleet) => {
    const names = numbered(4)
    const [paused, other] = [fleet.start(names), fleet.start(names)]
    await fleet.advance(3_000)
    const granted = paused.leases.length
    for (let pause = 0; pause < 5; pause += 1) {
      paused.monotonic.freeze()
      await fleet.advance(3_500)
      paused.monotonic.thaw()
      await fleet.advance(1_500)
    }
    t.deepEqual(counts(paused, other), [2, 2])
    t.is(paused.leases.length, granted)
  })

  behaviour('an instance that the others removed stops at its next heartbeat', async (t, fleet) => {
    const instance = fleet.start(numbered(2))
    await fleet.advance(1_500)
    await fleet.connection.db.collection('members').deleteMany({})
    const before = instance.leases.slice()
    await fleet.advance(1_000)
    t.true(before.every((lease) => lease.ending.aborted && lease.lost.aborted && !lease.isValid()))
    t.deepEqual(counts(instance), [2])
  })

  behaviour('a lease below a higher lease token counts for nothing', async (t, fleet) => {
    const names = ['a']
    const [holder, late] = [fleet.start(names), fleet.start(names)]
    await fleet.advance(2_000)
    const [winner, loser] = counts(holder, late)[0] === 1 ? ([holder, late] as const) : ([late, holder] as const)
    const leases = fleet.connection.db.collection<LeaseRecord>('leases')
    const instances = await fleet.connection.db.collection<InstanceRecord>('members').find().toArray()
    const lease = await leases.findOne({ holder: { $in: instances.map(({ _id }) => _id) } })
    const other = instances.map(({ _id }) => _id).find((id) => id !== lease?.holder)
    if (lease === null || other === undefined) return t.fail()
    // As if tokens 1 to 8 had been inserted, released and removed while the insertion of one of them was in flight.
    await leases.deleteMany({})
    await leases.insertOne({ ...lease, _id: 'a/9', token: 9 })
    await leases.insertOne({ ...lease, _id: 'a/5', token: 5, holder: other })
    await fleet.advance(3_000)
    t.deepEqual(counts(winner, loser), [1, 0])
    t.is(loser.leases.length, 0)
    t.deepEqual(
      (await leases.find().toArray()).map(({ _id }) => _id),
      ['a/9'],
    )
  })

  behaviour(
    "a lease that was acquired although the answer was lost is the instance's all the same",
    async (t, fleet) => {
      const leases = leaseRecordsIn(fleet.connection.db)
      const names = ['a']
      const blocker = { _id: 'a/1', name: 'a', token: 1, holder: 'blocker', released: false }
      await fleet.connection.db.collection<LeaseRecord>('leases').insertOne(blocker)
      await fleet.connection.db
        .collection<InstanceRecord>('members')
        .insertOne({ _id: 'blocker', work: [], heartbeat: 0 })
      const instance = fleet.start(names)
      await fleet.advance(2_000)
      t.deepEqual(counts(instance), [0])
      await leases.acquire(names, 'member_1', await leases.read())
      await fleet.advance(1_100)
      t.is(instance.leases.length, 1)
      t.deepEqual(await tokensOf(fleet, instance.leased()), [2])
    },
  )

  behaviour('many names cost no more writes than one', async (t, fleet) => {
    const instance = fleet.start(numbered(64))
    await fleet.advance(2_000)
    const writes: Array<string> = []
    fleet.connection.db.client.on('commandStarted', ({ commandName }) => {
      if (['insert', 'update', 'delete', 'findAndModify'].includes(commandName)) writes.push(commandName)
    })
    await fleet.advance(10_000)
    t.deepEqual(writes, Array<string>(10).fill('update'))
    t.deepEqual(counts(instance), [64])
  })

  test.serial(
    'instances whose MongoDB is away hold nothing after a while, and everything again when it is back',
    async (t) => {
      const { host, port } = hostOf(database.url)
      const proxy = await tcpProxy(host, port)
      await proxy.bringBack()
      const fleet = await fleetOn(rightOf(connectMongo(urlAt(database.url, proxy.port), recordingLogger())))
      try {
        const names = numbered(6)
        const instances = [fleet.start(names), fleet.start(names)]
        await fleet.advance(3_000)
        t.deepEqual(counts(...instances), [3, 3])
        await proxy.takeAway()
        await fleet.advance(3_900)
        t.deepEqual(counts(...instances), [3, 3])
        await fleet.advance(1_100)
        t.deepEqual(counts(...instances), [0, 0])
        t.deepEqual(
          instances.flatMap((instance) => instance.worked()),
          [],
        )
        await proxy.bringBack()
        // The driver's own tries take real time.
        const isWhole = async (): Promise<boolean> => {
          await fleet.advance(100)
          return isAllLeased(names, ...instances)
        }
        t.true(await until('all names are leased again', 10_000, isWhole))
      } finally {
        await fleet.close()
        await proxy.takeAway()
      }
    },
  )

  test.serial('no name ever has two holders, whatever instances do, and in the end each has one', async (t) => {
    const names = numbered(5)
    const step = fc.oneof(
      { weight: 2, arbitrary: fc.constant({ kind: 'start' } as const) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('freeze', 'thaw', 'leave'), who: fc.nat(5) }) },
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant('advance' as const),
          milliseconds: fc.integer({ min: 1, max: 9_000 }),
        }),
      },
    )
    await holdsAsync(
      t,
      fc.asyncProperty(fc.array(step, { maxLength: 16 }), async (steps) => {
        const fleet = await fleetOn(database.open())
        const instances: Array<Instance> = [fleet.start(names)]
        const gone = new Set<Instance>()
        try {
          for (const one of steps) {
            if (one.kind === 'start') instances.push(fleet.start(names))
            else if (one.kind === 'advance') await fleet.advance(one.milliseconds)
            else {
              const instance = instances[one.who % instances.length]
              if (instance === undefined) continue
              if (one.kind === 'freeze') instance.monotonic.freeze()
              if (one.kind === 'thaw') instance.monotonic.thaw()
              if (one.kind === 'leave') {
                gone.add(instance)
                void instance.membership.leave()
              }
            }
          }
          instances.push(fleet.start(names))
          for (const { monotonic } of instances) monotonic.thaw()
          await fleet.advance(20_000)
          const living = instances.filter((instance) => !gone.has(instance))
          assert.equal(living.flatMap((instance) => instance.leased()).length, names.length)
          const fair = Math.ceil(names.length / living.length)
          assert.ok(counts(...living).every((count) => count <= fair))
        } finally {
          await fleet.close()
        }
      }),
      { numRuns: 8 },
    )
  })
}
