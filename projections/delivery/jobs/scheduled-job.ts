import { isEnding } from '../../subscriptions/leases.js'
import { workWithRetry, type RetriedWorkPorts } from '../../subscriptions/retries/retried-work.js'
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

type Run = { isWantedAgain: boolean; done: Promise<void> }

export const scheduledJob = ({ name, work }: Definition, ports: RetriedWorkPorts): ScheduledJob => {
  const running = new Map<WebhookQueue, Run>()

  const untilDone = async (queue: WebhookQueue, run: Run): Promise<void> => {
    const { lease, webhookId } = queue
    const retried = {
      lease,
      name: `${name} of ${webhookId}`,
      message: `${name} failed and is retried`,
      fields: { webhook: webhookId },
    }
    while (run.isWantedAgain && !isEnding(lease))
      await workWithRetry(ports, retried, () => {
        run.isWantedAgain = false
        return work(queue)
      })
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
