import test, { type ExecutionContext } from 'ava'
import type { Beats, MemberRecord } from '../../../adapters/mongodb/leases/members.js'
import type { LeaseRecord, LeaseRecords } from '../../../adapters/mongodb/leases/lease-records.js'
import { liveAs, standardTiming, type Share } from '../../../adapters/mongodb/leases/member.js'
import type { Logger } from '../../../domain/ports.js'
import type { Lease } from '../../../projections/subscriptions/leases.js'
import { manualTime, type ManualTime } from '../../kit/manual-time.js'

const ignore = (): void => undefined
const logger: Logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve))
}

/** What is on record, in memory, and what a test puts in the way of one operation on it. */
type OnRecord = {
  readonly members: Map<string, MemberRecord>
  readonly leases: Map<string, LeaseRecord>
  /** Runs after the next operation of that name has done its work and before its answer comes. */
  readonly before: (operation: 'beat' | 'read' | 'look' | 'release', then: () => Promise<void> | void) => void
}

type Lives = {
  readonly time: ManualTime
  readonly record: OnRecord
  readonly leases: ReadonlyArray<Lease>
  /** Lets the work under lost leases end. */
  readonly finish: () => void
  /** Stops the timers of the member, though not what it has sent. */
  readonly freeze: () => void
  readonly thaw: () => void
}

/** One member that lives as `me`, and whose work takes until `finish` to end. */
const living = async (t: ExecutionContext, check: (lives: Lives) => Promise<void>): Promise<void> => {
  const time = manualTime(settled)
  const leaving = new AbortController()
  const members = new Map<string, MemberRecord>([['me', { _id: 'me', work: ['work'], beat: 0 }]])
  const records = new Map<string, LeaseRecord>()
  const hooks = new Map<string, () => Promise<void> | void>()
  const answered = async (operation: string): Promise<void> => {
    const then = hooks.get(operation)
    hooks.delete(operation)
    await then?.()
  }

  const beats: Beats = {
    join: () => Promise.resolve(),
    beat: async (id, work) => {
      const before = members.get(id)
      if (before !== undefined) members.set(id, { ...before, work, beat: before.beat + 1 })
      await answered('beat')
      return before !== undefined
    },
    remove: () => Promise.resolve(),
    look: async () => {
      const living = [...members.values()]
      await answered('look')
      return { living, dead: [] }
    },
  }
  const leases: LeaseRecords = {
    read: async () => {
      const highest = new Map<string, LeaseRecord>()
      for (const one of records.values()) if (one.term > (highest.get(one.name)?.term ?? 0)) highest.set(one.name, one)
      await answered('read')
      return { highest, passed: [] }
    },
    take: (names, owner, { highest }) => {
      for (const name of names) {
        const term = (highest.get(name)?.term ?? 0) + 1
        const _id = `${name}/${term}`
        if (!records.has(_id)) records.set(_id, { _id, name, term, owner, released: false })
      }
      return Promise.resolve()
    },
    release: async (one) => {
      await answered('release')
      records.set(one._id, { ...one, released: true })
    },
    remove: () => Promise.resolve(),
  }
  const granted: Array<Lease> = []
  let finish = ignore
  const share: Share = {
    work: 'work',
    names: () => ['a'],
    begin: async (lease) => {
      granted.push(lease)
      const finished = new Promise<void>((resolve) => {
        finish = resolve
      })
      await new Promise<void>((resolve) => lease.lost.addEventListener('abort', () => resolve()))
      await finished
    },
  }
  const own = time.process()
  const life = liveAs('me', time.now(), {
    beats,
    leases,
    shares: [share],
    leaving: leaving.signal,
    time: own,
    timing: standardTiming,
    logger,
  })
  await check({
    time,
    record: { members, leases: records, before: (operation, then) => hooks.set(operation, then) },
    leases: granted,
    finish: () => finish(),
    freeze: own.freeze,
    thaw: own.thaw,
  })
  leaving.abort()
  await settled()
  finish()
  await time.advance(20_000)
  await life
  t.false(granted.some((lease) => lease.isHeld()))
}

const gate = (): { readonly passed: Promise<void>; readonly open: () => void } => {
  let open = ignore
  const passed = new Promise<void>((resolve) => {
    open = resolve
  })
  return { passed, open: () => open() }
}

test('a beat whose acknowledgement comes too late brings nothing back', (t) =>
  living(t, async ({ time, record, leases, finish, freeze, thaw }) => {
    await time.advance(500)
    const { passed, open } = gate()
    record.before('beat', () => passed)
    await time.advance(600)
    // The beat of 1,000 is under way, and the one before it holds until 5,000.
    freeze()
    await time.advance(3_800)
    t.true(leases[0]?.isHeld())
    await time.advance(200)
    t.false(leases[0]?.isHeld())
    open()
    await settled()
    t.false(leases[0]?.isHeld())
    thaw()
    await time.advance(0)
    t.true(leases[0]?.lost.aborted)
    finish()
  }))

test('a beat that is acknowledged late, but in time, counts from when it was sent', (t) =>
  living(t, async ({ time, record, leases }) => {
    await time.advance(500)
    const { passed, open } = gate()
    record.before('beat', () => passed)
    await time.advance(4_400)
    const again = gate()
    record.before('beat', () => again.passed)
    open()
    // Acknowledged at 4,900, sent at 1,000: that lasts until 6,000, whatever becomes of the next one.
    await time.advance(1_000)
    t.true(leases[0]?.isHeld())
    await time.advance(200)
    t.false(leases[0]?.isHeld())
    again.open()
  }))

test('who joins and takes a name between the two looks is not taken for gone', (t) =>
  living(t, async ({ time, record, leases, finish }) => {
    await time.advance(0)
    const [mine] = record.leases.values()
    if (mine === undefined) return t.fail()
    record.leases.set(mine._id, { ...mine, released: true })
    record.members.set('other', { _id: 'other', work: [], beat: 0 })
    record.leases.set('a/2', { ...mine, _id: 'a/2', term: 2, owner: 'gone' })
    const granted = leases.length
    void leases[0]?.release()
    finish()
    const join = (): void => {
      record.members.set('late', { _id: 'late', work: [], beat: 0 })
      record.leases.set('a/3', { ...mine, _id: 'a/3', term: 3, owner: 'late' })
    }
    record.before('read', join)
    record.before('look', join)
    await time.advance(3_000)
    t.is(leases.length, granted)
    t.deepEqual([...record.leases.keys()], ['a/1', 'a/2', 'a/3'])
  }))

test('what is given back while it is read is not taken for held', (t) =>
  living(t, async ({ time, record, leases, finish }) => {
    await time.advance(500)
    record.members.set('other', { _id: 'other', work: [], beat: 0 })
    const [first] = leases
    void first?.release()
    record.before('read', async () => {
      finish()
      await settled()
      const [mine] = record.leases.values()
      if (mine !== undefined)
        record.leases.set('a/2', { ...mine, _id: 'a/2', term: 2, owner: 'other', released: false })
    })
    await time.advance(3_000)
    t.deepEqual(
      leases.map(({ fencingToken }) => fencingToken),
      [1],
    )
  }))

test('what could not be marked as given back is marked with the next look', (t) =>
  living(t, async ({ time, record, leases, finish }) => {
    await time.advance(500)
    record.before('release', () => Promise.reject(new Error('away')))
    void leases[0]?.release()
    finish()
    await time.advance(0)
    t.false(record.leases.get('a/1')?.released)
    await time.advance(2_600)
    t.true(record.leases.get('a/1')?.released)
    t.deepEqual(
      leases.map(({ fencingToken }) => fencingToken),
      [1, 2],
    )
  }))
