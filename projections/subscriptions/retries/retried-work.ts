import { reasonOf } from '../../../domain/failure-reason.js'
import type { Logger } from '../../../domain/ports.js'
import { isEnding, type Lease } from '../leases.js'
import { isLogged, type Backoff } from './backoff.js'
import type { FailingWork } from './failing-work.js'

export type RetriedWorkPorts = {
  readonly logger: Pick<Logger, 'warn'>
  readonly backoff: Backoff
  readonly failingWork: FailingWork
}

type RetriedWork = {
  readonly lease: Lease
  /** Names it in `FailingWork`. */
  readonly name: string
  /** What the log says where it fails, beside the reason. */
  readonly message: string
  readonly fields?: Readonly<Record<string, string>>
}

/**
 * Does some work under a lease. Where it throws, the log and health tell of it, and it is tried again with backoff,
 * until it is done or its lease is ending.
 */
export const workWithRetry = async (
  { logger, backoff, failingWork }: RetriedWorkPorts,
  { lease, name, message, fields }: RetriedWork,
  work: () => Promise<void>,
): Promise<void> => {
  for (let failures = 0; !isEnding(lease); failures += 1) {
    try {
      await work()
      break
    } catch (error) {
      if (isLogged(failures)) logger.warn({ ...fields, reason: reasonOf(error) }, message)
      failingWork.failed(lease, name, error)
      await backoff(failures, lease.ending)
    }
  }
  failingWork.ended(name)
}
