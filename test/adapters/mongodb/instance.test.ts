import test, { type ExecutionContext } from 'ava'
import type { Share } from '../../../adapters/mongodb/leases/own-leases.js'
import type { LeaseRecord, LeaseRecords } from '../../../adapters/mongodb/leases/lease-records.js'
import { standardTiming } from '../../../adapters/mongodb/leases/liveness.js'
import { tryCatch } from '../../../adapters/mongodb/failure.js'
import { liveAs } from '../../../adapters/mongodb/leases/instance.js'
import type { InstanceRecord, Instances } from '../../../adapters/mongodb/leases/instances.js'
import { lifetimeOf } from '../../../adapters/node/lifetime.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { Lease } from '../../../projections/subscriptions/leases.js'
import { manualTime, type ManualTime } from '../../kit/time/manual-time.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { settled } from '../../kit/time/turns.js'

/** The records of instances and leases in memory, and what a test does between an operation on them and its answer. */
type Records = {
  readonly instances: Map<string, InstanceRecord>
  readonly leases: Map<string, LeaseRecord>
  /** Runs once, after the next operation of that name was carried out and before it is answered. */
  readonly beforeAnswer: (operation: Operation, run: () => Promise<void> | void) => void
}

type Operation = 'heartbeat' | 'read' | 'observe' | 'release'

type Lives = {
  readonly time: ManualTime
  readonly records: Records
  readonly leases: ReadonlyArray<Lease>
  /** Lets the work under the newest lease end, which is given back then. */
  readonly finish: () => void
  /** Stops the timers of the instance, though not what it has sent. */
  readonly freeze: () => void
  readonly thaw: () => void
  /** The machine is paused: its monotonic clock stands still, and the clock on the wall is set right afterwards. */
  readonly pause: (milliseconds: number) => void
}

/** One instance that lives as `me`, and whose work takes until `finish` to end. */
const living = async (t: ExecutionContext, check: (lives: Lives) => Promise<void>): Promise<void> => {
  const time = manualTime()
  const stopping = new AbortController()
  const instances = new Map<string, InstanceRecord>([['me', { _id: 'me', work: ['work'], heartbeat: 0 }]])
  const leases = new Map<string, LeaseRecord>()
  const hooks = new Map<Operation, () => Promise<void> | void>()
  const answer = async (operation: Operation): Promise<void> => {
    const run = hooks.get(operation)
    hooks.delete(operation)
    await run?.()
  }

  const instanceRecords: Instances = {
    join: () => Promise.resolve(),
    heartbeat: async (id, work) => {
      const before = instances.get(id)
      if (before !== undefined) instances.set(id, { ...before, work, heartbeat: before.heartbeat + 1 })
      await answer('heartbeat')
      return before !== undefined
    },
    remove: () => Promise.resolve(),
    observe: async () => {
      const all = [...instances.values()]
      await answer('observe')
      return { living: all, dead: [] }
    },
  }
  const leaseRecords: LeaseRecords = {
    read: async () => {
      const current = new Map<string, LeaseRecord>()
      for (const one of leases.values()) if (one.token > (current.get(one.name)?.token ?? 0)) current.set(one.name, one)
      await answer('read')
      return { current, superseded: [] }
    },
    acquire: (names, holder, { current }) => {
      for (const name of names) {
        const token = (current.get(name)?.token ?? 0) + 1
        const _id = `${name}/${token}`
        if (!leases.has(_id)) leases.set(_id, { _id, name, token, holder, released: false })
      }
      return Promise.resolve()
    },
    release: async (released) => {
      await answer('release')
      for (const one of released) leases.set(one._id, { ...one, released: true })
    },
    remove: () => Promise.resolve(),
  }
  const granted: Array<Lease> = []
  let finish = (): void => undefined
  const share: Share = {
    work: 'work',
    names: () => ['a'],
    begin: async (lease) => {
      granted.push(lease)
      const finished = new Promise<void>((resolve) => {
        finish = resolve
      })
      await finished
    },
  }
  const own = time.process()
  let paused = 0
  const lifetime = lifetimeOf(own.now, () => own.now() + paused)
  const life = liveAs(
    'me',
    { at: own.now(), inLife: lifetime() },
    {
      attempt: (operation) => tryCatch(() => operation(neverAborted)),
      instances: instanceRecords,
      leases: leaseRecords,
      shares: [share],
      stopping: stopping.signal,
      monotonic: own,
      lifetime,
      timing: standardTiming,
      logger: recordingLogger(),
    },
  )
  await check({
    time,
    records: { instances, leases, beforeAnswer: (operation, run) => hooks.set(operation, run) },
    leases: granted,
    finish: () => finish(),
    freeze: own.freeze,
    thaw: own.thaw,
    pause: (milliseconds) => (paused += milliseconds),
  })
  stopping.abort()
  await settled()
  finish()
  await time.advance(20_000)
  await life
  t.false(granted.some((lease) => lease.isValid()))
}

const gate = (): { readonly opened: Promise<void>; readonly open: () => void } => {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { opened, open: () => open() }
}

test('a heartbeat whose acknowledgement comes too late renews no lease', (t) =>
  living(t, async ({ time, records, leases, finish, freeze, thaw }) => {
    await time.advance(500)
    const { opened, open } = gate()
    records.beforeAnswer('heartbeat', () => opened)
    await time.advance(600)
    // The heartbeat of 1,000 is in flight, and the one before it holds until 5,000.
    freeze()
    await time.advance(3_800)
    t.true(leases[0]?.isValid())
    await time.advance(200)
    t.false(leases[0]?.isValid())
    open()
    await settled()
    t.false(leases[0]?.isValid())
    thaw()
    await time.advance(0)
    t.true(leases[0]?.ending.aborted)
    finish()
  }))

test('an instance whose machine was paused for longer than its lease holds nothing, before any timer fires', (t) =>
  living(t, async ({ time, leases, finish, pause }) => {
    await time.advance(1_500)
    pause(3_000)
    t.true(leases[0]?.isValid())
    pause(2_000)
    t.false(leases[0]?.isValid())
    await time.advance(6_000)
    t.true(leases[0]?.ending.aborted)
    finish()
  }))

test('a heartbeat that is acknowledged late, but in time, counts from when it was sent', (t) =>
  living(t, async ({ time, records, leases }) => {
    await time.advance(500)
    const { opened, open } = gate()
    records.beforeAnswer('heartbeat', () => opened)
    await time.advance(4_400)
    const again = gate()
    records.beforeAnswer('heartbeat', () => again.opened)
    open()
    // Acknowledged at 4,900, sent at 1,000: that lasts until 6,000, whatever becomes of the next one.
    await time.advance(1_000)
    t.true(leases[0]?.isValid())
    await time.advance(200)
    t.false(leases[0]?.isValid())
    again.open()
  }))

test('an instance that joins and acquires a lease between the two reads does not count as gone', (t) =>
  living(t, async ({ time, records, leases, finish }) => {
    await time.advance(0)
    const [mine] = records.leases.values()
    if (mine === undefined) return t.fail()
    records.leases.set(mine._id, { ...mine, released: true })
    records.instances.set('other', { _id: 'other', work: [], heartbeat: 0 })
    records.leases.set('a/2', { ...mine, _id: 'a/2', token: 2, holder: 'gone' })
    const granted = leases.length
    finish()
    const join = (): void => {
      records.instances.set('late', { _id: 'late', work: [], heartbeat: 0 })
      records.leases.set('a/3', { ...mine, _id: 'a/3', token: 3, holder: 'late' })
    }
    records.beforeAnswer('read', join)
    records.beforeAnswer('observe', join)
    await time.advance(3_000)
    t.is(leases.length, granted)
    t.deepEqual([...records.leases.keys()], ['a/1', 'a/2', 'a/3'])
  }))

test('a lease that is given back while it is read is not begun again', (t) =>
  living(t, async ({ time, records, leases, finish }) => {
    await time.advance(500)
    records.instances.set('other', { _id: 'other', work: [], heartbeat: 0 })
    records.beforeAnswer('read', async () => {
      finish()
      await settled()
      const [mine] = records.leases.values()
      if (mine !== undefined)
        records.leases.set('a/2', { ...mine, _id: 'a/2', token: 2, holder: 'other', released: false })
    })
    await time.advance(3_000)
    t.is(leases.length, 1)
  }))

test('a lease whose release failed is released by the next rebalancing', (t) =>
  living(t, async ({ time, records, leases, finish }) => {
    await time.advance(500)
    records.beforeAnswer('release', () => Promise.reject(new Error('away')))
    finish()
    await time.advance(0)
    t.false(records.leases.get('a/1')?.released)
    await time.advance(2_600)
    t.true(records.leases.get('a/1')?.released)
    t.is(leases.length, 2)
    t.is(records.leases.get('a/2')?.holder, 'me')
  }))
