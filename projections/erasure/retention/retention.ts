import { day, hour, minute } from '../../../domain/duration.js'
import { reasonOf } from '../../../domain/failure-reason.js'
import { later } from '../../../domain/instant.js'
import type { EventStore } from '../../../domain/ports.js'
import { orThrow } from '../../../domain/store-failed.js'
import type { ParkedWorkPorts } from '../../parking/parked-work.js'
import type { Documents, Json } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import type { Lease } from '../../subscriptions/leases.js'
import { backoffAfter, isLogged } from '../../subscriptions/retries/backoff.js'
import type { RetentionPolicy } from './policy.js'
import { removerOf, type RemoveAll } from './removal.js'
import { finish, sweep, type SweepPorts } from './sweep.js'

type RetentionPorts = ParkedWorkPorts &
  SweepPorts & {
    readonly store: Pick<EventStore, 'purge'>
    readonly documents: Pick<Documents, 'exists'>
  }

/** In milliseconds: between two looks for what has been kept for long enough. */
const pause = hour
const pauseWhileBuilt = 10 * 1_000

/**
 * The same after a look that failed, be it at one document alone: nothing is kept for an hour more because of one
 * hiccup.
 */
const pauseAfterFailure = { first: minute, longest: pause }

/**
 * In milliseconds: so far back the first look goes, since nobody knows what an earlier holder of the lease failed at.
 */
const firstReach = day

/** Removes what ended so many days ago, under a lease. */
export const retention = <Document extends Json>(
  ports: RetentionPorts,
  policy: RetentionPolicy<Document>,
  days: number,
) => ({
  run: async (lease: Lease): Promise<void> => {
    const remover = removerOf(ports, policy, lease)
    // An older process may have left some in the files.
    let isPurged = false
    let isFirst = true
    let failures = 0
    while (!lease.ending.aborted) {
      const now = ports.clock.now()
      const limit = later(now, -days * day)
      let next = pause
      let failed: ReadonlyArray<unknown> = []
      const removeAll: RemoveAll = async (page, remove) => {
        const done = await remover.removeAll(page, remove)
        failed = [...failed, ...done.failed].slice(0, 1)
        return done
      }
      try {
        const part = { ...ports, removeAll, unfinished: remover.unfinished }
        let erased = (await finish(part, policy, now, lease)) + (await sweep(part, policy, limit, lease))
        // After the sweep: what is closed and not shown as such yet is found by one of them, whenever that changes.
        if (isFirst) erased += await finish(part, policy, later(now, -firstReach), lease)
        if (erased > 0) ports.logger.info({ erased, before: limit }, `${policy.what} were removed`)
        if (erased > 0 || !isPurged) isPurged = orThrow(await ports.store.purge())
        // What is built is looked at when it is there.
        if (orThrow(await ports.documents.exists(collectionOf(policy.projection)))) isFirst = false
        else next = pauseWhileBuilt
      } catch (error) {
        failed = [error]
      }
      const [error] = failed
      if (failed.length === 0) {
        failures = 0
        ports.failingWork.ended(policy.name)
      } else {
        if (isLogged(failures))
          ports.logger.warn({ reason: reasonOf(error) }, `${policy.what} could not all be removed`)
        next = backoffAfter(pauseAfterFailure, failures)
        failures += 1
        ports.failingWork.failed(lease, policy.name, error)
      }
      await ports.clock.sleepUntil(later(ports.clock.now(), next), lease.ending)
    }
  },
})
