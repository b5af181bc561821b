import { aborted } from '../../../domain/abortable.js'
import type { Logger, Time } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { tryCatch } from '../failure.js'
import { heldLeases, type Share } from './held-leases.js'
import type { LeaseRecords } from './lease-records.js'
import { livenessSince, type Timing } from './liveness.js'
import type { Members } from './members.js'
import { rebalancing } from './rebalancing.js'

export type MemberPorts = {
  readonly members: Members
  readonly leases: LeaseRecords
  readonly shares: ReadonlyArray<Share>
  readonly leaving: AbortSignal
  readonly time: Time
  readonly timing: Timing
  readonly logger: Logger
}

/**
 * Lives as one member from a join that was sent at `joinedAt` until it leaves or is lost, and all work under its leases has
 * ended.
 *
 * Why no name has two holders at any time. A member holds its leases until `lease - margin` after it sent the last heartbeat that
 * was acknowledged. Another one takes it for dead only after that heartbeat, or a later one, has not changed for `lease` by its own
 * clock: from an answer that came after the heartbeat was sent, to a heartbeat of its own that was acknowledged, after which it
 * read again. So nothing that the first one sent arrived in that time, and by its own clock its time is over. No clock is ever
 * compared with another one. The heartbeat of its own before each read rules out a primary that has lost its majority and
 * answers with an old state.
 *
 * Of the members that then insert the next token of the name one succeeds. Where that token was inserted, released and removed
 * meanwhile another insertion of it succeeds too, but below a higher token, for only lower ones are ever removed: so a lease
 * counts only once it was read back as the one with the highest token.
 */
export const liveAs = async (
  id: string,
  joinedAt: number,
  { members, leases, shares, leaving, time, timing, logger }: MemberPorts,
): Promise<void> => {
  const liveness = livenessSince(joinedAt, timing, time, (reason) =>
    logger.warn({ member: id, names: held.count(), reason }, 'this process lost its leases, and joins anew'),
  )
  const held = heldLeases(leases, liveness.isAlive)
  const isTaking = (): boolean => liveness.isAlive() && !leaving.aborted
  const rebalance = rebalancing({ member: id, members, leases, held, shares, isTaking })

  const heartbeat = async (sentAt: number): Promise<boolean> => {
    const work = shares.map((share) => share.work)
    const acknowledged = await tryCatch(() => members.heartbeat(id, work))
    // An answer that comes too late must not renew leases that others may hold by now.
    if (!liveness.isAlive() || E.isLeft(acknowledged)) return false
    if (acknowledged.right) liveness.renew(sentAt)
    else liveness.lose('it was taken for dead')
    return acknowledged.right
  }
  const rebalanceOrWarn = async (sentAt: number): Promise<void> => {
    const rebalanced = await tryCatch(() => rebalance(sentAt))
    if (E.isLeft(rebalanced))
      logger.warn({ member: id, reason: rebalanced.left.reason }, 'the leases could not be rebalanced')
  }
  /** Heartbeats go on while a rebalancing takes its time, and until all work has ended. */
  const heartbeats = async (): Promise<void> => {
    let rebalancingNow: Promise<void> | undefined
    let sentAt = joinedAt
    let isAcknowledged = true
    while (!liveness.over.aborted) {
      if (isAcknowledged) rebalancingNow ??= rebalanceOrWarn(sentAt).finally(() => (rebalancingNow = undefined))
      await time.sleep(timing.heartbeatEvery - (time.now() - sentAt), liveness.over)
      sentAt = time.now()
      isAcknowledged = liveness.isAlive() && (await heartbeat(sentAt))
    }
    await rebalancingNow
  }
  const ending = async (): Promise<void> => {
    await aborted(AbortSignal.any([leaving, liveness.over]))
    await held.giveUpAll()
    liveness.end()
  }

  await Promise.all([heartbeats(), liveness.expire(), ending()])
}
