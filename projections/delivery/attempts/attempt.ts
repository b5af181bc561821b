import type { Aggregate } from '../../../domain/aggregate.js'
import type { AttemptOutcome } from '../../../domain/attempt-outcome.js'
import { delivery, type DeliveryCommand, type DeliveryState, type KnownDelivery } from '../../../domain/delivery.js'
import type { AccountId, DeliveryId, WebhookId } from '../../../domain/ids.js'
import type { Clock, StoreFailure, Vault } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { nextDeliveryAttemptAt } from '../../../domain/retry-schedule.js'
import { streamOf } from '../../../domain/stream-name.js'
import { webhook, type KnownWebhook, type WebhookState } from '../../../domain/webhook.js'
import { isEnding } from '../../subscriptions/leases.js'
import { loadOrThrow, readOrThrow } from '../../subscriptions/retries/failed-for-good.js'
import { recordWithRetry, type RetryPorts } from '../../subscriptions/retries/retried-command.js'
import type { Attempt, AttemptEnd } from '../queue/attempts-in-flight.js'
import { limitAfter } from '../queue/concurrency.js'
import type { WebhookQueue } from '../queue/webhook-queue.js'
import { unsealable, type WebhookResponse, type WebhookClient } from '../webhook-client.js'
import type { NewDeliveries } from './new-deliveries.js'
import { signedRequest } from './signed-request.js'

export type AttemptPorts = RetryPorts & {
  readonly webhookClient: WebhookClient
  /** The webhook as it is now. One that it gives as on may have been turned off or removed within the last second. */
  readonly currentWebhook: (id: WebhookId) => Promise<Either<StoreFailure, WebhookState>>
  /** Whether a contact of the account was ever erased. May reject where a store fails. */
  readonly hasErasures: (id: AccountId) => Promise<boolean>
  readonly vault: Vault
  readonly clock: Clock
  /** In [0, 1): the jitter of a retry. */
  readonly random: () => number
  readonly observe: (response: WebhookResponse) => void
}

/**
 * Posts a delivery once and records how that ended, as the next attempt of its schedule or as a resend. At least once:
 * after a crash between the two it is posted again.
 */
export const attemptWith = (ports: AttemptPorts, newDeliveries: Pick<NewDeliveries, 'take'>): Attempt => {
  const { commandHandler, currentWebhook, hasErasures, webhookClient, clock, logger, random, observe } = ports

  const post = async (queue: WebhookQueue, receiver: KnownWebhook, state: KnownDelivery, answered: () => void) => {
    const request = signedRequest(ports, receiver, state.facts.delivery_id, state.facts.body)
    // Another process posts to the webhook as soon as the lease is lost: what is open then would come beside its
    // requests.
    const response = E.isLeft(request) ? unsealable : await webhookClient.send(request.right, queue.lease.lost)
    observe(response)
    queue.limit = limitAfter(queue.limit, response)
    answered()
    return { delivered: response.delivered, outcome: outcomeOf(response, state.attempts + 1, receiver.version) }
  }

  const record = async (
    { lease }: WebhookQueue,
    id: DeliveryId,
    assumed: Aggregate<DeliveryState>,
    command: DeliveryCommand,
  ): Promise<AttemptEnd> => {
    const done = await recordWithRetry(ports, { actor: 'delivery', lease, assumed }, delivery, id, command)
    if (done === undefined) return unrecorded(false)
    const last = done.events.at(-1)
    if (last?.type === 'DeliveryAbandoned' && last.data.why === 'retries-exhausted') {
      const { webhook_id, outcome } = last.data
      logger.warn(
        { webhook: webhook_id, delivery: id, reason: outcome?.reason },
        'the retries of a delivery are exhausted',
      )
    }
    return { position: last?.position, isStillDue: done.state.kind === 'due' }
  }

  const receiverOf = async ({ webhookId }: WebhookQueue): Promise<WebhookState> =>
    readOrThrow(streamOf(webhook, webhookId), await currentWebhook(webhookId))

  const load = (id: DeliveryId): Promise<Aggregate<DeliveryState>> => loadOrThrow(commandHandler, delivery, id)

  /** What became due here. Where contacts were erased since, the stream says whether it was dropped. */
  const takenUnlessErased = async (id: DeliveryId): Promise<Aggregate<DeliveryState> | undefined> => {
    const taken = newDeliveries.take(id)
    return taken?.state.kind === 'due' && (await hasErasures(taken.state.facts.account_id)) ? undefined : taken
  }

  /** The next attempt of the schedule. */
  const postScheduled = async (queue: WebhookQueue, id: DeliveryId, answered: () => void): Promise<AttemptEnd> => {
    const receiver = await receiverOf(queue)
    const loaded = (await takenUnlessErased(id)) ?? (await load(id))
    const { state } = loaded
    if (state.kind !== 'due') return unrecorded(false)
    // The read model may not show yet what another process did before this one took over.
    if (state.attemptsOfSchedule > 0 && state.dueAt > clock.now()) return unrecorded(true)
    // The lease may have been lost while the streams were read, and then another process posts to the webhook.
    if (isEnding(queue.lease)) return unrecorded(true)
    if (receiver.kind === 'off')
      return record(queue, id, loaded, { type: 'HoldDelivery', webhookVersion: receiver.version })
    if (receiver.kind !== 'on') return record(queue, id, loaded, { type: 'AbandonDelivery' })
    const posted = await post(queue, receiver, state, answered)
    const next = nextDeliveryAttemptAt(state.attemptsOfSchedule + 1, clock.now(), random())
    return record(queue, id, loaded, { type: 'RecordAttempt', ...posted, nextAttemptAt: next })
  }

  /** The attempt that somebody asked for: it does not count in the schedule, and goes to a webhook that is off too. */
  const postResend = async (queue: WebhookQueue, id: DeliveryId, answered: () => void): Promise<AttemptEnd> => {
    const receiver = await receiverOf(queue)
    const loaded = await load(id)
    const { state } = loaded
    if (state.kind === 'unknown' || state.kind === 'erased' || state.resend === undefined) return unrecorded(false)
    if (isEnding(queue.lease)) return unrecorded(true)
    if (receiver.kind !== 'on' && receiver.kind !== 'off') return record(queue, id, loaded, { type: 'AbandonDelivery' })
    const posted = await post(queue, receiver, state, answered)
    return record(queue, id, loaded, { type: 'RecordResend', ...posted })
  }

  return (queue, id, kind, answered) =>
    kind === 'resend' ? postResend(queue, id, answered) : postScheduled(queue, id, answered)
}

const unrecorded = (isStillDue: boolean): AttemptEnd => ({ position: undefined, isStillDue })

const outcomeOf = (
  { status, reason, durationMs, times, excerpt }: WebhookResponse,
  attempt: number,
  version: number,
): AttemptOutcome => ({
  attempt,
  status,
  reason,
  duration_ms: durationMs,
  ...(times === undefined ? {} : { times: shown(times) }),
  ...(excerpt === undefined || excerpt === null ? {} : { excerpt }),
  webhook_version: version,
})

const shown = ({ dns, connect, tls, total, firstByte }: NonNullable<WebhookResponse['times']>) => ({
  dns,
  connect,
  tls,
  total,
  first_byte: firstByte,
})
