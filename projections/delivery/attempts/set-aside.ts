import { delivery } from '../../../domain/delivery.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { DeliveryId, WebhookId } from '../../../domain/ids.js'
import { resend } from '../../../domain/resend.js'
import { idIn, idOf } from '../../../domain/stream-name.js'
import { webhook } from '../../../domain/webhook.js'
import { parkedWork, recordedBy, type ParkedWorkPorts } from '../../parking/parked-work.js'
import { FailedForGood, loadOrThrow } from '../../subscriptions/retries/failed-for-good.js'
import type { Attempt, AttemptEnd } from '../queue/attempts-in-flight.js'
import type { LeasedQueues } from '../queue/leased-queues.js'
import type { WebhookQueue } from '../queue/webhook-queue.js'

export type SetAsideWork = {
  /**
   * Makes an attempt as `attempt` does. Where it fails for good, or throws too often in a row, its delivery is set
   * aside, or its whole queue where the webhook can't be read.
   */
  readonly settingAside: (attempt: Attempt) => Attempt
  /**
   * Parks what an attempt or a job failed with for good, and sets it aside.
   * @throws `error` where trying again may help
   */
  readonly setAside: (queue: WebhookQueue, id: DeliveryId, error: unknown) => Promise<AttemptEnd>
  /**
   * Does a job as `work` does, unless the webhook is set aside. What it can't read is set aside, and it goes on without
   * that.
   */
  readonly settingAsideJob: (work: Job) => Job
  /**
   * The same for the job that tries whatever waits for no attempt: afterwards it is recorded how the retries of such
   * deliveries ended.
   */
  readonly recordingRetries: (work: Job) => Job
  /**
   * Releases what is set aside where the event says that somebody asked for its retry. Resolves with its queue.
   * @throws StoreFailed
   */
  readonly release: (event: RecordedEvent) => Promise<WebhookQueue | undefined>
}

type Job = (queue: WebhookQueue) => Promise<void>

type Ports = ParkedWorkPorts & { readonly queues: Pick<LeasedQueues, 'of'> }

/** Its parked events are stored under this name, so it stays as it is. */
export const deliveryWorkerName = 'delivery_worker'

export const setAsideWork = ({ queues, ...ports }: Ports): SetAsideWork => {
  const holderOf = (stream: string, first: RecordedEvent | undefined): WebhookQueue | undefined => {
    const isOfOne = first?.type === 'DeliveryDue' || first?.type === 'DeliveryErased' || first?.type === 'ResendStarted'
    const id = isOfOne ? first.data.webhook_id : (idIn(webhook, stream) as WebhookId | undefined)
    return id === undefined ? undefined : queues.of(id)
  }
  const worker = { name: deliveryWorkerName, actor: 'delivery', ...recordedBy(delivery), holderOf }
  const { finalFailure, failed, succeeded, release } = parkedWork<WebhookQueue>(worker, ports)

  const setAside: SetAsideWork['setAside'] = async (queue, id, error) => {
    const failure = finalFailure(queue, id, error)
    // Of a delivery, a webhook or a bulk resend.
    await failed(queue, idOf(failure.stream), failure)
    return { position: undefined, isStillDue: true }
  }

  const settingAsideJob: SetAsideWork['settingAsideJob'] = (work) => async (queue) => {
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

  /** Of what waits for an attempt it is recorded after that. */
  const recordRetry = async (queue: WebhookQueue, id: DeliveryId): Promise<void> => {
    const { state } = await loadOrThrow(ports.commandHandler, delivery, id)
    const isKnown = state.kind !== 'unknown' && state.kind !== 'erased'
    if (!isKnown || (state.kind !== 'due' && state.resend === undefined)) await succeeded(queue, id)
  }

  return {
    settingAside: (attempt) => async (queue, id, kind, answered) => {
      const end = await attempt(queue, id, kind, answered).catch((error: unknown) => setAside(queue, id, error))
      if (end.position !== undefined || !end.isStillDue) await succeeded(queue, id)
      return end
    },
    setAside,
    settingAsideJob,
    recordingRetries: (work) => async (queue) => {
      // What is asked for from now on is tried by the next run.
      const asked = [...queue.retried.keys()] as ReadonlyArray<DeliveryId>
      await settingAsideJob(work)(queue)
      for (const id of asked) await recordRetry(queue, id).catch((error: unknown) => setAside(queue, id, error))
    },
    release,
  }
}

const isReadByJobs = (stream: string): boolean =>
  [webhook, resend].some((decider) => idIn(decider, stream) !== undefined)
