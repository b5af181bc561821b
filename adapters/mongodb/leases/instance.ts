import { aborted } from '../../../domain/abortable.js'
import type { Logger, MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Attempt } from '../client/attempt.js'
import { ownLeases, type Share } from './own-leases.js'
import type { LeaseRecords } from './lease-records.js'
import { livenessSince, type Timing } from './liveness.js'
import type { Instances } from './instances.js'
import { releasesBy } from './releases.js'
import { rebalancing } from './rebalancing.js'

type InstancePorts = {
  readonly attempt: Attempt
  readonly instances: Instances
  readonly leases: LeaseRecords
  readonly shares: ReadonlyArray<Share>
  readonly stopping: AbortSignal
  readonly monotonic: MonotonicClock
  readonly lifetime: () => number
  readonly timing: Timing
  readonly logger: Logger
}

/** When something was sent, by the clock by which others are observed and by that of our own life. */
type Sent = { readonly at: number; readonly inLife: number }

/**
 * Lives as one instance from a join that was `joined` until it leaves or is lost, and all work under its leases has
 * ended.
 *
 * Why a name never has two holders:
 *
 * - An instance works under its leases until `lease - margin` after it sent the last heartbeat that was acknowledged.
 * - Another instance takes it for dead only when its heartbeat did not change for `lease`. That time begins with a read
 *   that showed the heartbeat, so after it was sent; it ends when the other sends a heartbeat of its own, after which
 *   it reads again. So the first instance's own time is over before. Only durations are compared, each by one clock,
 *   never the clocks of two instances. A clock that stands still while the machine is paused would serve the second
 *   only: the first instance's time goes on then (`lifetime`).
 * - The other's heartbeat must be acknowledged before it reads: so it does not read from a primary that has lost its
 *   majority.
 * - Of the instances that then insert the next token one succeeds. If that token was inserted, released and removed in
 *   between, a late insertion of it succeeds too. But only tokens below the highest are ever removed, so it stands
 *   below a higher one: a lease counts only once it was read back as the one with the highest token.
 */
export const liveAs = async (
  id: string,
  joined: Sent,
  { attempt, instances, leases, shares, stopping, monotonic, lifetime, timing, logger }: InstancePorts,
): Promise<void> => {
  const liveness = livenessSince(joined.inLife, timing, { now: lifetime, sleep: monotonic.sleep }, (reason) =>
    logger.warn({ instance: id, names: own.count(), reason }, 'this process lost its leases, and joins anew'),
  )
  const own = ownLeases(releasesBy(attempt, leases), liveness)
  const mayAcquire = (): boolean => liveness.isAlive() && !stopping.aborted
  const rebalance = rebalancing({ instance: id, instances, leases, own, shares, mayAcquire })

  const heartbeat = async (sent: Sent): Promise<boolean> => {
    const work = shares.map((share) => share.work)
    const acknowledged = await attempt(() => instances.heartbeat(id, work))
    // An answer that comes too late must not renew leases that others may hold by now.
    if (!liveness.isAlive() || E.isLeft(acknowledged)) return false
    if (acknowledged.right) liveness.renew(sent.inLife)
    else liveness.lose('it was taken for dead')
    return acknowledged.right
  }
  const rebalanceOrWarn = async (sentAt: number): Promise<void> => {
    const rebalanced = await attempt(() => rebalance(sentAt))
    if (E.isLeft(rebalanced))
      logger.warn({ instance: id, reason: rebalanced.left.reason }, 'the leases could not be rebalanced')
  }
  /** Heartbeats go on while a rebalancing takes its time, and until all work has ended. */
  const heartbeats = async (): Promise<void> => {
    let rebalancingNow: Promise<void> | undefined
    let sent = joined
    let isAcknowledged = true
    while (!liveness.ended.aborted) {
      if (isAcknowledged) rebalancingNow ??= rebalanceOrWarn(sent.at).finally(() => (rebalancingNow = undefined))
      await monotonic.sleep(timing.heartbeatEvery - (monotonic.now() - sent.at), liveness.ended)
      sent = { at: monotonic.now(), inLife: lifetime() }
      isAcknowledged = liveness.isAlive() && (await heartbeat(sent))
    }
    await rebalancingNow
  }
  const giveUpWhenStopping = async (): Promise<void> => {
    await aborted(AbortSignal.any([stopping, liveness.ended]))
    await own.giveUpAll()
    liveness.end()
  }

  await Promise.all([heartbeats(), liveness.expire(), giveUpWhenStopping()])
}
