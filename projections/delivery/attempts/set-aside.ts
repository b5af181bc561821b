import { idIn } from '../../../domain/decider.js'
import { delivery } from '../../../domain/delivery.js'
import { idOf } from '../../../domain/events.js'
import type { DeliveryId, WebhookId } from '../../../domain/ids.js'
import { resend } from '../../../domain/resend.js'
import { webhook } from '../../../domain/webhook.js'
import { parkedWork, recordedBy, type ParkedWorkPorts } from '../../parking/parked-work.js'
import type { ProjectedEvent } from '../../projection.js'
import { isEnding } from '../../subscriptions/leases.js'
import { FailedForGood, loadOrThrow } from '../../subscriptions/retries/retried-command.js'
import type { Attempt, AttemptEnd } from '../queue/attempts-in-flight.js'
import type { LeasedQueues } from '../queue/leased-queues.js'
import type { WebhookQueue } from '../queue/webhook-queue.js'

export type SetAside = {
  /**
   * Makes an attempt as `attempt` does. Where it fails for good, or throws too often in a row, its delivery is set
   * aside, or its whole queue where the webhook can't be read.
   */
  readonly guarded: (attempt: Attempt) => Attempt
  /**
   * Parks what an attempt or a job failed with for good, and sets it aside.
   * @throws `error` where trying again may help
   */
  readonly set: (queue: WebhookQueue, id: DeliveryId, error: unknown) => Promise<AttemptEnd>
  /**
   * Does a job as `work` does, unless the webhook is set aside. What it can't read is set aside, and it goes on without
   * that.
   */
  readonly guardedJob: (work: Job) => Job
  /**
   * The same for the job that tries whatever waits for no attempt: afterwards the retries of such deliveries are
   * answered.
   */
  readonly answeringJob: (work: Job) => Job
  /**
   * Resolves with the queue of what is no longer set aside, since somebody asked for its retry.
   * @throws StoreFailed
   */
  readonly learn: (event: ProjectedEvent) => Promise<WebhookQueue | undefined>
}

type Job = (queue: WebhookQueue) => Promise<void>

type Ports = ParkedWorkPorts & { readonly queues: Pick<LeasedQueues, 'of'> }

export const deliveryWorkerName = 'delivery_worker'

export const setAside = ({ queues, ...ports }: Ports): SetAside => {
  const holderOf = (stream: string, first: ProjectedEvent | undefined): WebhookQueue | undefined => {
    const isOfOne = first?.type === 'DeliveryDue' || first?.type === 'DeliveryErased' || first?.type === 'ResendStarted'
    const id = isOfOne ? first.data.webhook_id : (idIn(webhook, stream) as WebhookId | undefined)
    return id === undefined ? undefined : queues.of(id)
  }
  const worker = { name: deliveryWorkerName, actor: 'delivery', ...recordedBy(delivery), holderOf }
  const { finalFailure, failed, succeeded, learn } = parkedWork<WebhookQueue>(worker, ports)

  const set: SetAside['set'] = async (queue, id, error) => {
    if (!(error instanceof FailedForGood) && isEnding(queue.lease)) throw error
    const failure = finalFailure(id, error)
    // Of a delivery, a webhook or a bulk resend.
    await failed(queue, idOf(failure.stream), failure)
    return { position: undefined, isStillDue: true }
  }

  const guardedJob: SetAside['guardedJob'] = (work) => async (queue) => {
    while (!queue.setAside.has(queue.webhookId)) {
      try {
        await work(queue)
        return
      } catch (error) {
        if (!(error instanceof FailedForGood) || !isReadByJobs(error.stream)) throw error
        await failed(queue, idOf(error.stream), error)
      }
    }
  }

  /** What waits for an attempt is answered by that. */
  const answer = async (queue: WebhookQueue, id: DeliveryId): Promise<void> => {
    const { state } = await loadOrThrow(ports.commandHandler, delivery, id)
    const isKnown = state.kind !== 'unknown' && state.kind !== 'erased'
    if (!isKnown || (state.kind !== 'due' && state.resend === undefined)) await succeeded(queue, id)
  }

  return {
    guarded: (attempt) => async (queue, id, kind) => {
      const end = await attempt(queue, id, kind).catch((error: unknown) => set(queue, id, error))
      if (end.position !== undefined || !end.isStillDue) await succeeded(queue, id)
      return end
    },
    set,
    guardedJob,
    answeringJob: (work) => async (queue) => {
      // What is asked for from now on is tried by the next run.
      const asked = [...queue.retried.keys()] as ReadonlyArray<DeliveryId>
      await guardedJob(work)(queue)
      for (const id of asked) await answer(queue, id).catch((error: unknown) => set(queue, id, error))
    },
    learn,
  }
}

const isReadByJobs = (stream: string): boolean =>
  [webhook, resend].some((decider) => idIn(decider, stream) !== undefined)
