import { aborted } from '../../../domain/abortable.js'
import { setMaxListeners } from 'node:events'
import type { Logger } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Lease, Membership } from '../../../projections/subscriptions/leases.js'
import { tried } from '../failure.js'
import type { Beats, MemberRecord } from './members.js'
import type { LeaseRecord, LeaseRecords, Standing } from './lease-records.js'
import type { Time } from '../../../domain/ports.js'

/** All in milliseconds. */
export type Timing = {
  readonly beatEvery: number
  /** How long the others wait before they take a silent member for dead: longer than a webhook attempt lasts. */
  readonly lease: number
  /** How much earlier the member itself takes it that they may: for clocks of unlike speed, and for what is under way. */
  readonly margin: number
}

export const standardTiming: Timing = { beatEvery: 1_000, lease: 6_500, margin: 1_500 }

export type Share = {
  readonly work: string
  readonly names: Parameters<Membership['share']>[1]
  readonly begin: Parameters<Membership['share']>[2]
}

type Life = {
  readonly beats: Beats
  readonly leases: LeaseRecords
  readonly shares: ReadonlyArray<Share>
  readonly leaving: AbortSignal
  readonly time: Time
  readonly timing: Timing
  readonly logger: Logger
}

/** A name that is held, and the work under it. */
type Holding = { readonly share: Share; readonly lost: AbortController; readonly ended: Promise<void> }

/**
 * Lives as one member from a join that was sent at `joinedAt` until it leaves or is lost, and all work under its leases has
 * ended.
 *
 * Why no two hold a name at once. A member holds what it holds until `lease - margin` after it sent the last beat that was
 * acknowledged. Another takes it for dead only when it has seen that beat, or a later one, stand still for `lease`: from an
 * answer that came after the beat was sent, to a beat of its own that was acknowledged, and after which it looked again. So
 * nothing that the first sent is on record within that span, and it is over by its own clock. Nobody compares two clocks. A
 * beat of our own before each look keeps out a primary that has lost its majority and shows an old state.
 *
 * Of those who then insert the next term of the name one succeeds. Where the term was taken, given up and removed meanwhile
 * the insertion succeeds too, beside a higher term, for only lower ones are removed: so a lease counts only once it was read
 * back as the highest.
 */
export const liveAs = async (
  id: string,
  joinedAt: number,
  { beats, leases, shares, leaving, time, timing, logger }: Life,
): Promise<void> => {
  const over = new AbortController()
  const held = new Map<string, Holding>()
  /** The last term of each name that was given back here: what was read before may still show it as held. */
  const givenBack = new Map<string, number>()
  let until = joinedAt + timing.lease - timing.margin
  let looking: Promise<void> | undefined

  /** By the clock and not by a timer: a process that was paused knows it before any timer runs. */
  const isAlive = (): boolean => !over.signal.aborted && time.now() < until
  const isTaking = (): boolean => isAlive() && !leaving.aborted

  const lose = (reason: string): void => {
    if (over.signal.aborted) return
    logger.warn(
      { member: id, names: held.size, reason },
      'this process gave up its share of the work, and takes one anew',
    )
    over.abort()
  }
  const beat = async (sentAt: number): Promise<boolean> => {
    const told = await tried(() =>
      beats.beat(
        id,
        shares.map(({ work }) => work),
      ),
    )
    // An answer that comes too late must not bring back to life what others may hold by now.
    if (!isAlive() || E.isLeft(told)) return false
    if (!told.right) lose('it was taken for dead')
    else until = sentAt + timing.lease - timing.margin
    return told.right
  }
  /** Beats go on while a look takes its time. */
  const beating = async (): Promise<void> => {
    let sentAt = joinedAt
    let isTold = true
    while (!over.signal.aborted) {
      if (isTold) looking ??= look(sentAt).finally(() => (looking = undefined))
      await time.sleep(timing.beatEvery - (time.now() - sentAt), over.signal)
      sentAt = time.now()
      isTold = isAlive() && (await beat(sentAt))
    }
    await looking
  }
  const expiring = async (): Promise<void> => {
    while (!over.signal.aborted) {
      if (isAlive()) await time.sleep(until - time.now(), over.signal)
      else lose('no beat was acknowledged in time')
    }
  }
  /** Beats go on until the work under the leases has ended. */
  const ending = async (): Promise<void> => {
    await aborted(AbortSignal.any([leaving, over.signal]))
    const all = [...held.values()]
    for (const { lost } of all) lost.abort()
    await Promise.all(all.map(({ ended }) => ended))
    over.abort()
  }

  /** The leases first: their owners had joined before, so an owner whom the members then lack has gone. */
  const survey = async (sentAt: number) => {
    const standing = await leases.read()
    return { standing, ...(await beats.look(sentAt)) }
  }
  /** One that fails is made again with the next beat. */
  const look = async (sentAt: number): Promise<void> => {
    const looked = await tried(() => shareOut(sentAt))
    if (E.isLeft(looked)) logger.warn({ member: id, reason: looked.left.reason }, 'the work could not be shared out')
  }
  const shareOut = async (sentAt: number): Promise<void> => {
    let seen = await survey(sentAt)
    for (;;) {
      adopt(seen.standing)
      const wanted = wantedOf(seen.standing, seen.living)
      if (wanted.length === 0 || !isTaking()) break
      await leases.take(wanted, id, seen.standing)
      seen = await survey(sentAt)
    }
    giveUpSurplus(seen.living)
    await settle(seen.standing)
    await beats.remove(seen.dead)
  }

  /** Begins the work under what is ours. It may be so since a try whose answer was lost. */
  const adopt = ({ highest }: Standing): void => {
    for (const record of highest.values()) {
      const { name, term } = record
      const isNew = record.owner === id && !record.released && !held.has(name) && term > (givenBack.get(name) ?? 0)
      const share = shares.find(({ names }) => names().includes(name))
      if (isNew && share !== undefined && isTaking()) held.set(name, hold(record, share))
    }
  }
  const hold = (record: LeaseRecord, share: Share): Holding => {
    const { name, term } = record
    const lost = new AbortController()
    // All the work under a lease listens to it.
    setMaxListeners(0, lost.signal)
    let isOver = false
    const work = async (lease: Lease): Promise<void> => {
      await share.begin(lease)
      isOver = true
      lost.abort()
      givenBack.set(name, term)
      // What could not be marked is marked with the next look.
      if (isAlive()) await tried(() => leases.release(record))
      held.delete(name)
    }
    const release = async (): Promise<void> => {
      lost.abort()
      await ended
    }
    const ended = work({ name, fencingToken: term, isHeld: () => isAlive() && !isOver, lost: lost.signal, release })
    return { share, lost, ended }
  }

  const mine = (share: Share): ReadonlyArray<string> =>
    [...held].filter(([, one]) => one.share === share && !one.lost.signal.aborted).map(([name]) => name)

  /** How many names each of those has who do the work, at most. */
  const fair = ({ work, names }: Share, living: ReadonlyArray<MemberRecord>): number => {
    const others = living.filter((member) => member._id !== id && member.work.includes(work))
    return Math.ceil(names().length / (others.length + 1))
  }
  const wantedOf = ({ highest }: Standing, living: ReadonlyArray<MemberRecord>): ReadonlyArray<string> => {
    const alive = new Set(living.map(({ _id }) => _id))
    const isFree = (name: string): boolean => {
      const record = highest.get(name)
      if (held.has(name)) return false
      return record === undefined || record.released || !alive.has(record.owner)
    }
    return shares.flatMap((share) => {
      const free = share.names().filter(isFree)
      // Each begins elsewhere, so that members who take over at once seldom want the same.
      const order = living.filter(({ work }) => work.includes(share.work)).map(({ _id }) => _id)
      const first = Math.floor((Math.max(0, order.sort().indexOf(id)) * free.length) / Math.max(1, order.length))
      const missing = Math.max(0, fair(share, living) - mine(share).length)
      return [...free.slice(first), ...free.slice(0, first)].slice(0, missing)
    })
  }
  const giveUpSurplus = (living: ReadonlyArray<MemberRecord>): void => {
    for (const share of shares) {
      const names = share.names()
      const named = mine(share).filter((name) => names.includes(name))
      const others = mine(share).filter((name) => !names.includes(name))
      for (const name of [...others, ...named.slice(fair(share, living))]) held.get(name)?.lost.abort()
    }
  }
  /** Marks what is ours and not held, and removes the terms that the ones held here have followed. */
  const settle = async ({ highest, passed }: Standing): Promise<void> => {
    for (const record of highest.values()) {
      if (record.owner === id && !record.released && !held.has(record.name)) await leases.release(record)
    }
    await leases.remove(passed.filter(({ name }) => highest.get(name)?.owner === id))
  }

  await Promise.all([beating(), expiring(), ending()])
}
