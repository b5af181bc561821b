import { E } from '../../../domain/prelude.js'
import { semaphore } from '../../../domain/semaphore.js'
import type { Documents } from '../../ports.js'
import { isEnding, type Lease } from '../../subscriptions/leases.js'

export type FollowUpReads = Pick<Documents, 'find' | 'get' | 'count'>

export type BoundedReads = {
  /** What is due. Once the lease is ending nothing is found: nothing is begun under it any more. */
  readonly ofDue: Pick<Documents, 'find'>
  /** For tasks, which may have to end after that, and for what waits for accounts: then they wait for no other read. */
  readonly ofTasks: FollowUpReads
}

/**
 * Reads that a process has open for its follow-ups. Were what is due read for all shards at once, a slow store would
 * answer none in time, be asked again, and answer none for ever.
 */
const mostConcurrentReads = 4

/** Reads under leases, which share the bound of the process. */
export const boundedReads = ({ find, get, count }: FollowUpReads): ((lease: Lease) => BoundedReads) => {
  const limited = semaphore(mostConcurrentReads)
  return (lease) => ({
    ofDue: {
      find: (...of) => limited(async () => (isEnding(lease) ? E.right([]) : find(...of)), lease.ending),
    },
    ofTasks: {
      find: (...of) => limited(() => find(...of), lease.ending),
      get: (...of) => limited(() => get(...of), lease.ending),
      count: (...of) => limited(() => count(...of), lease.ending),
    },
  })
}
