import type { Logger } from '../../../domain/ports.js'
import { isLogged, type Backoff } from '../../subscriptions/retries/backoff.js'
import { reasonOf } from '../../../domain/failure-reason.js'
import { isEnding } from '../../subscriptions/leases.js'
import type { FailingWork } from '../../subscriptions/retries/failing-work.js'
import type { WebhookQueue } from '../queue/webhook-queue.js'

/** Work beside the attempts that is done for one queue at a time, again and again. */
type ScheduledJob = {
  /**
   * Runs it for the queue. Where it runs already it runs once more afterwards: the run under way may have missed what
   * is new.
   */
  readonly run: (queue: WebhookQueue) => void
  /** Resolves once it does not run for the queue. */
  readonly ended: (queue: WebhookQueue) => Promise<void>
}

type Definition = {
  /** For the log. */
  readonly name: string
  /** Ends early where the lease of the queue is ending; rejects where a store fails, and then is retried. */
  readonly work: (queue: WebhookQueue) => Promise<void>
}

type Ports = { readonly logger: Logger; readonly backoff: Backoff; readonly failingWork: FailingWork }

type Run = { isWantedAgain: boolean; done: Promise<void> }

export const scheduledJob = ({ name, work }: Definition, { logger, backoff, failingWork }: Ports): ScheduledJob => {
  const running = new Map<WebhookQueue, Run>()

  const untilDone = async (queue: WebhookQueue, run: Run): Promise<void> => {
    const tried = `${name} of ${queue.webhookId}`
    let failures = 0
    while (run.isWantedAgain && !isEnding(queue.lease)) {
      run.isWantedAgain = false
      try {
        await work(queue)
        failingWork.ended(tried)
        failures = 0
      } catch (error) {
        if (isLogged(failures))
          logger.warn({ webhook: queue.webhookId, reason: reasonOf(error) }, `${name} failed and is retried`)
        run.isWantedAgain = true
        failingWork.failed(queue.lease, tried, error)
        await backoff(failures, queue.lease.ending)
        failures += 1
      }
    }
    running.delete(queue)
  }
  return {
    run: (queue) => {
      const already = running.get(queue)
      if (already !== undefined) {
        already.isWantedAgain = true
        return
      }
      const run: Run = { isWantedAgain: true, done: Promise.resolve() }
      running.set(queue, run)
      run.done = untilDone(queue, run)
    },
    ended: (queue) => running.get(queue)?.done ?? Promise.resolve(),
  }
}
