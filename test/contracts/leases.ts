import { aborted } from '../../domain/abortable.js'
import { E } from '../../domain/prelude.js'
import type { Lease, Membership } from '../../projections/subscriptions/leases.js'
import { behaviourOf } from './behaviour.js'

type OpenMembership = {
  /** The only one. */
  readonly membership: Membership
  /** Goes on by so many milliseconds of its time. */
  readonly advance: (milliseconds: number) => Promise<void>
  readonly close: () => Promise<void>
}

/** What every `Membership` does (projections/subscriptions/leases.ts). */
export const leasesContract = (name: string, open: () => Promise<OpenMembership>): void => {
  const behaviour = behaviourOf(name, open)

  behaviour('an instance that is alone gets every name at once, and each once', async (t, { membership, advance }) => {
    const { leases, begin } = worker()
    membership.share('work', () => ['a', 'b', 'c'], begin)
    await advance(0)
    t.deepEqual(namesOf(leases), ['a', 'b', 'c'])
    await advance(20_000)
    t.deepEqual(namesOf(leases), ['a', 'b', 'c'])
    await membership.leave()
  })

  behaviour('a lease that was granted stays valid', async (t, { membership, advance }) => {
    const { leases, begin } = worker()
    membership.share('work', () => ['a', 'b'], begin)
    for (const milliseconds of [0, 20_000]) {
      await advance(milliseconds)
      t.true(leases.every((lease) => lease.isValid() && !lease.ending.aborted))
    }
    t.is(leases.length, 2)
    await membership.leave()
  })

  behaviour('what nobody does is done by no other instance', async (t, { membership }) => {
    t.deepEqual(await membership.isDoneElsewhere('work'), E.right(false))
  })

  behaviour('several kinds of work are shared side by side', async (t, { membership, advance }) => {
    const [one, other] = [worker(), worker()]
    membership.share('one', () => ['a'], one.begin)
    membership.share('other', () => ['b', 'c'], other.begin)
    membership.share('nothing', () => [], one.begin)
    await advance(0)
    t.deepEqual([namesOf(one.leases), namesOf(other.leases)], [['a'], ['b', 'c']])
    await membership.leave()
  })

  behaviour('work that is shared later is granted too', async (t, { membership, advance }) => {
    const [one, other] = [worker(), worker()]
    membership.share('one', () => ['a'], one.begin)
    await advance(5_000)
    membership.share('other', () => ['b'], other.begin)
    await advance(1_500)
    t.deepEqual([namesOf(one.leases), namesOf(other.leases)], [['a'], ['b']])
    await membership.leave()
  })

  behaviour(
    'an instance that leaves ends all work first, and holds its leases until then',
    async (t, { membership, advance }) => {
      const { leases, begin, finish } = worker({ isSlow: true })
      membership.share('work', () => ['a', 'b'], begin)
      await advance(0)
      const leaving = flagged(membership.leave())
      await advance(10_000)
      t.true(leases.every((lease) => lease.ending.aborted && !lease.lost.aborted && lease.isValid()))
      t.false(leaving.isOver())
      finish()
      await leaving.done
      t.false(leases.some((lease) => lease.isValid()))
    },
  )

  behaviour('a lease is given back once the work under it has ended', async (t, { membership, advance }) => {
    const [ending, lasting] = [worker(), worker()]
    const over = new AbortController()
    membership.share(
      'work',
      () => ['a', 'b'],
      async (lease) => {
        if (lease.name === 'b') return lasting.begin(lease)
        await Promise.race([ending.begin(lease), aborted(over.signal)])
      },
    )
    await advance(0)
    const [first] = ending.leases
    const [second] = lasting.leases
    if (first === undefined || second === undefined) return t.fail()
    await advance(3_000)
    t.true(first.isValid())
    over.abort()
    await advance(0)
    t.false(first.isValid())
    t.true(second.isValid() && !second.ending.aborted)
    await membership.leave()
  })

  behaviour('an instance that has left can leave again, and gets no lease back', async (t, { membership, advance }) => {
    const { leases, begin } = worker()
    membership.share('work', () => ['a'], begin)
    await advance(0)
    await membership.leave()
    await membership.leave()
    await advance(20_000)
    t.deepEqual(
      leases.map((lease) => lease.isValid()),
      [false],
    )
  })
}

type Worker = {
  readonly leases: ReadonlyArray<Lease>
  readonly begin: (lease: Lease) => Promise<void>
  /** Lets slow work end. */
  readonly finish: () => void
}

/** Works until its lease is ending, and when it is slow until it is told to finish. */
const worker = ({ isSlow = false } = {}): Worker => {
  const leases: Array<Lease> = []
  const finishing = new AbortController()
  if (!isSlow) finishing.abort()
  return {
    leases,
    begin: async (lease) => {
      leases.push(lease)
      await aborted(lease.ending)
      await aborted(finishing.signal)
    },
    finish: () => {
      finishing.abort()
    },
  }
}

const flagged = (done: Promise<void>): { readonly done: Promise<void>; readonly isOver: () => boolean } => {
  let isOver = false
  return {
    done: done.then(() => {
      isOver = true
    }),
    isOver: () => isOver,
  }
}

const namesOf = (leases: ReadonlyArray<Lease>): ReadonlyArray<string> => leases.map((lease) => lease.name).sort()
