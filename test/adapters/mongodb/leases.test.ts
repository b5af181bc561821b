import test, { type ExecutionContext } from 'ava'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import type { MemberRecord } from '../../../adapters/mongodb/leases/members.js'
import { leaseRecordsIn, type LeaseRecord } from '../../../adapters/mongodb/leases/lease-records.js'
import { mongoMembership } from '../../../adapters/mongodb/leases/membership.js'
import { connectMongo, type MongoConnection } from '../../../adapters/mongodb/connection.js'
import type { Logger } from '../../../domain/ports.js'
import type { Lease, Membership } from '../../../projections/subscriptions/leases.js'
import { leasesContract } from '../../contracts/leases.js'
import { addressOf, inFlight, mongoUrl, testDatabase, urlAt } from '../../kit/mongodb.js'
import { holdsAsync } from '../../kit/property.js'
import { rightOf } from '../../kit/right-of.js'
import { tcpProxy } from '../../kit/tcp-proxy.js'
import { manualTime, type ManualTime, type ProcessTime } from '../../kit/manual-time.js'

const silent = (): void => undefined
/** Nothing that a member warns of may be more than the loss of what it held. */
const logger: Logger = {
  debug: silent,
  info: silent,
  warn: (fields, message) => {
    assert.ok('names' in fields, message)
  },
  error: silent,
}

/** A process that shares work with the others of its fleet. */
type Member = {
  readonly membership: Membership
  readonly time: ProcessTime
  /** Every lease that was ever granted to it. */
  readonly leases: ReadonlyArray<Lease>
  /** What it holds by its own clock. */
  readonly held: () => ReadonlyArray<string>
  /** What is being worked on: what was not lost yet, as far as the process knows. */
  readonly worked: () => ReadonlyArray<string>
  readonly kill: () => void
}

/** Several processes on one database and in one time. */
type Fleet = {
  readonly connection: MongoConnection
  readonly time: ManualTime
  readonly start: (names: ReadonlyArray<string>, work?: string) => Member
  readonly advance: (milliseconds: number) => Promise<void>
  readonly close: () => Promise<void>
}

const numbered = (count: number): ReadonlyArray<string> => Array.from({ length: count }, (_, n) => `name_${n}`)

const fleetOn = async (connection: MongoConnection): Promise<Fleet> => {
  for (const name of ['members', 'leases']) await connection.db.collection(name).deleteMany({})
  const members: Array<Member> = []
  let ids = 0

  /** At every moment and by every clock each name has one holder at most. */
  const check = (): void => {
    const held = members.flatMap((member) => member.held())
    assert.deepEqual(held.toSorted(), [...new Set(held)].sort(), 'two hold one name')
  }
  const time = manualTime(inFlight(connection).settled, check)
  return {
    connection,
    time,
    start: (names, work = 'work') => {
      const own = time.process()
      const newId = (): string => `member_${(ids += 1)}`
      const membership = mongoMembership({ db: connection.db, newId, logger, time: own })
      const leases: Array<Lease> = []
      const worked = new Set<string>()
      membership.share(
        work,
        () => names,
        async (lease) => {
          leases.push(lease)
          worked.add(lease.name)
          await new Promise<void>((resolve) => lease.lost.addEventListener('abort', () => resolve()))
          worked.delete(lease.name)
        },
      )
      const member = {
        membership,
        time: own,
        leases,
        held: () => leases.filter((lease) => lease.isHeld()).map(({ name }) => name),
        worked: () => [...worked].sort(),
        kill: own.freeze,
      }
      members.push(member)
      return member
    },
    advance: time.advance,
    close: async () => {
      for (const { time: own } of members) own.thaw()
      const left = Promise.all(members.map(({ membership }) => membership.leave()))
      await time.advance(20_000)
      await left
      await connection.close()
    },
  }
}

/** When `condition` came to hold, in steps of a tenth of a second. */
const waitFor = async ({ advance, time }: Fleet, condition: () => boolean, most = 30_000): Promise<number> => {
  const start = time.now()
  while (!condition()) {
    if (time.now() - start > most) return Number.POSITIVE_INFINITY
    await advance(100)
  }
  return time.now() - start
}

const counts = (...members: ReadonlyArray<Member>): ReadonlyArray<number> =>
  members.map((member) => member.held().length)

const isAllHeld = (names: ReadonlyArray<string>, ...members: ReadonlyArray<Member>): boolean =>
  members.flatMap((member) => member.held()).length === names.length

if (mongoUrl === undefined) {
  test.skip('leases on MongoDB need a server: set MONGODB_URL', (t) => t.fail())
} else {
  const database = testDatabase(mongoUrl)
  test.after.always('the database is dropped', database.drop)

  leasesContract('mongodb', async () => {
    const fleet = await fleetOn(database.open())
    const time = fleet.time.process()
    let ids = 0
    const newId = (): string => `alone_${(ids += 1)}`
    return {
      membership: mongoMembership({ db: fleet.connection.db, newId, logger, time }),
      advance: fleet.advance,
      close: fleet.close,
    }
  })

  const behaviour = (title: string, check: (t: ExecutionContext, fleet: Fleet) => Promise<void>): void => {
    test.serial(title, async (t) => {
      const fleet = await fleetOn(database.open())
      try {
        await check(t, fleet)
      } finally {
        await fleet.close()
      }
    })
  }

  behaviour('members hold no more than their fair share, whoever joins', async (t, fleet) => {
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
    t.true(isAllHeld(names, first, second, third))
  })

  behaviour('members who start at once share without a wait for anyone', async (t, fleet) => {
    const names = numbered(9)
    const members = [1, 2, 3, 4].map(() => fleet.start(names))
    await fleet.advance(2_500)
    t.true(isAllHeld(names, ...members))
    t.true(counts(...members).every((count) => count <= 3))
  })

  behaviour('only those count who do the work', async (t, fleet) => {
    const [one, other] = [fleet.start(numbered(4)), fleet.start(['elsewhere'], 'other')]
    await fleet.advance(5_000)
    t.deepEqual(counts(one, other), [4, 1])
  })

  behaviour('what one gives back another takes with its next beat, under a higher term', async (t, fleet) => {
    const names = numbered(2)
    const first = fleet.start(names)
    await fleet.advance(2_000)
    const second = fleet.start(names)
    await fleet.advance(2_500)
    t.deepEqual(counts(first, second), [1, 1])
    const [taken] = second.leases
    t.is(taken?.fencingToken, 2)
    t.is(first.leases.find(({ name }) => name === taken?.name)?.fencingToken, 1)
  })

  behaviour('what one who leaves held is taken with the next beat', async (t, fleet) => {
    const names = numbered(8)
    const [first, second] = [fleet.start(names), fleet.start(names)]
    await fleet.advance(3_000)
    const leaving = first.membership.leave()
    await fleet.advance(1_100)
    await leaving
    t.deepEqual(counts(first, second), [0, 8])
  })

  behaviour('a member that was killed is followed within ten seconds', async (t, fleet) => {
    const names = numbered(12)
    const waits: Array<number> = []
    let [standing, falling] = [fleet.start(names), fleet.start(names)]
    for (let round = 0; round < 12; round += 1) {
      // Every phase of the one's beats against the other's.
      await fleet.advance(4_000 + ((round * 370) % 1_000))
      t.deepEqual(counts(standing, falling), [6, 6])
      falling.kill()
      const survivor = standing
      waits.push(await waitFor(fleet, () => counts(survivor)[0] === 12))
      await fleet.advance((round * 130) % 1_000)
      ;[standing, falling] = [fleet.start(names), standing]
    }
    const mean = waits.reduce((sum, wait) => sum + wait, 0) / waits.length
    t.log(`mean ${Math.round(mean)} ms, longest ${Math.max(...waits)} ms`)
    t.true(Math.max(...waits) < 10_000)
    t.true(Math.min(...waits) > 5_000)
  })

  behaviour('what a whole fleet held that was killed is taken by the next one', async (t, fleet) => {
    const names = numbered(6)
    const fallen = [fleet.start(names), fleet.start(names)]
    await fleet.advance(3_000)
    for (const member of fallen) member.kill()
    const next = fleet.start(names)
    t.true((await waitFor(fleet, () => counts(next)[0] === 6)) < 10_000)
  })

  behaviour('a member that was paused knows at once that it holds nothing, and joins anew', async (t, fleet) => {
    const names = numbered(6)
    const [paused, other] = [fleet.start(names), fleet.start(names)]
    await fleet.advance(3_000)
    const before = paused.leases.slice()
    paused.time.freeze()
    await fleet.advance(4_000)
    t.deepEqual(counts(paused, other), [3, 3])
    await fleet.advance(6_000)
    // No timer of it has run since.
    t.is(paused.worked().length, 3)
    t.deepEqual(counts(paused, other), [0, 6])
    paused.time.thaw()
    await fleet.advance(0)
    t.deepEqual(paused.worked(), [])
    t.true(before.every(({ lost }) => lost.aborted))
    await fleet.advance(4_000)
    t.deepEqual(counts(paused, other), [3, 3])
    t.deepEqual(paused.held(), paused.worked())
    t.true(paused.leases.slice(before.length).every(({ fencingToken }) => fencingToken >= 2))
  })

  behaviour('a short pause costs nothing', async (t, fleet) => {
    const names = numbered(4)
    const [paused, other] = [fleet.start(names), fleet.start(names)]
    await fleet.advance(3_000)
    const granted = paused.leases.length
    for (let pause = 0; pause < 5; pause += 1) {
      paused.time.freeze()
      await fleet.advance(3_500)
      paused.time.thaw()
      await fleet.advance(1_500)
    }
    t.deepEqual(counts(paused, other), [2, 2])
    t.is(paused.leases.length, granted)
  })

  behaviour('one who was taken for dead and removed stops at its next beat', async (t, fleet) => {
    const member = fleet.start(numbered(2))
    await fleet.advance(1_500)
    await fleet.connection.db.collection('members').deleteMany({})
    const before = member.leases.slice()
    await fleet.advance(1_000)
    t.true(before.every((lease) => lease.lost.aborted && !lease.isHeld()))
    t.deepEqual(counts(member), [2])
  })

  behaviour('a lease below another one counts for nothing', async (t, fleet) => {
    const names = ['a']
    const [holder, late] = [fleet.start(names), fleet.start(names)]
    await fleet.advance(2_000)
    const [winner, loser] = counts(holder, late)[0] === 1 ? ([holder, late] as const) : ([late, holder] as const)
    const leases = fleet.connection.db.collection<LeaseRecord>('leases')
    const members = await fleet.connection.db.collection<MemberRecord>('members').find().toArray()
    const standing = await leases.findOne({ owner: { $in: members.map(({ _id }) => _id) } })
    const other = members.map(({ _id }) => _id).find((id) => id !== standing?.owner)
    if (standing === null || other === undefined) return t.fail()
    // As if the terms 1 to 8 had come and gone while the insertion of one of them was under way.
    await leases.deleteMany({})
    await leases.insertOne({ ...standing, _id: 'a/9', term: 9 })
    await leases.insertOne({ ...standing, _id: 'a/5', term: 5, owner: other })
    await fleet.advance(3_000)
    t.deepEqual(counts(winner, loser), [1, 0])
    t.is(loser.leases.length, 0)
    t.deepEqual(
      (await leases.find().toArray()).map(({ _id }) => _id),
      ['a/9'],
    )
  })

  behaviour('what one took without learning of it is worked on all the same', async (t, fleet) => {
    const leases = leaseRecordsIn(fleet.connection.db)
    const names = ['a']
    const blocker = { _id: 'a/1', name: 'a', term: 1, owner: 'blocker', released: false }
    await fleet.connection.db.collection<LeaseRecord>('leases').insertOne(blocker)
    await fleet.connection.db.collection<MemberRecord>('members').insertOne({ _id: 'blocker', work: [], beat: 0 })
    const member = fleet.start(names)
    await fleet.advance(2_000)
    t.deepEqual(counts(member), [0])
    await leases.take(names, 'member_1', await leases.read())
    await fleet.advance(1_100)
    t.deepEqual(
      member.leases.map(({ fencingToken }) => fencingToken),
      [2],
    )
  })

  behaviour('many names cost no more writes than one', async (t, fleet) => {
    const member = fleet.start(numbered(64))
    await fleet.advance(2_000)
    const writes: Array<string> = []
    fleet.connection.db.client.on('commandStarted', ({ commandName }) => {
      if (['insert', 'update', 'delete', 'findAndModify'].includes(commandName)) writes.push(commandName)
    })
    await fleet.advance(10_000)
    t.deepEqual(writes, Array<string>(10).fill('update'))
    t.deepEqual(counts(member), [64])
  })

  test.serial('whose MongoDB is away holds nothing after a while, and all of it again when it is back', async (t) => {
    const { host, port } = addressOf(database.url)
    const proxy = await tcpProxy(host, port)
    await proxy.bringBack()
    const fleet = await fleetOn(rightOf(connectMongo(urlAt(database.url, proxy.port))))
    try {
      const names = numbered(6)
      const members = [fleet.start(names), fleet.start(names)]
      await fleet.advance(3_000)
      t.deepEqual(counts(...members), [3, 3])
      await proxy.takeAway()
      await fleet.advance(3_900)
      t.deepEqual(counts(...members), [3, 3])
      await fleet.advance(1_100)
      t.deepEqual(counts(...members), [0, 0])
      t.deepEqual(
        members.flatMap((member) => member.worked()),
        [],
      )
      await proxy.bringBack()
      // The driver's own tries take real time.
      for (let tries = 0; tries < 100 && !isAllHeld(names, ...members); tries += 1) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        await fleet.advance(100)
      }
      t.true(isAllHeld(names, ...members))
    } finally {
      await fleet.close()
      await proxy.takeAway()
    }
  })

  test.serial('whatever members do, no name has two holders, and in the end each has one', async (t) => {
    const names = numbered(5)
    const step = fc.oneof(
      { weight: 2, arbitrary: fc.constant({ kind: 'start' } as const) },
      { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom('freeze', 'thaw', 'leave'), who: fc.nat(5) }) },
      {
        weight: 6,
        arbitrary: fc.record({ kind: fc.constant('advance' as const), milliseconds: fc.integer({ min: 1, max: 9_000 }) }),
      },
    )
    await holdsAsync(
      t,
      fc.asyncProperty(fc.array(step, { maxLength: 16 }), async (steps) => {
        const fleet = await fleetOn(database.open())
        const members: Array<Member> = [fleet.start(names)]
        const gone = new Set<Member>()
        try {
          for (const one of steps) {
            if (one.kind === 'start') members.push(fleet.start(names))
            else if (one.kind === 'advance') await fleet.advance(one.milliseconds)
            else {
              const member = members[one.who % members.length]
              if (member === undefined) continue
              if (one.kind === 'freeze') member.time.freeze()
              if (one.kind === 'thaw') member.time.thaw()
              if (one.kind === 'leave') {
                gone.add(member)
                void member.membership.leave()
              }
            }
          }
          members.push(fleet.start(names))
          for (const { time } of members) time.thaw()
          await fleet.advance(20_000)
          const living = members.filter((member) => !gone.has(member))
          assert.equal(living.flatMap((member) => member.held()).length, names.length)
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
