import type { Aggregate } from '../../domain/aggregate.js'
import {
  delivery,
  type AttemptOutcome,
  type DeliveryCommand,
  type DeliveryState,
  type KnownDelivery,
} from '../../domain/delivery.js'
import type { Position } from '../../domain/event.js'
import type { DeliveryId, WebhookId } from '../../domain/ids.js'
import type { Clock, CommandHandler, Ids, Logger, StoreFailure, Vault } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import type { KnownWebhook, WebhookState } from '../../domain/webhook.js'
import { executeWithRetry } from '../subscriptions/retried-command.js'
import { isOver } from '../subscriptions/leases.js'
import type { Backoff } from '../subscriptions/backoff.js'
import type { Lane } from './queue/webhook-queue.js'
import { paceAfter } from './queue/concurrency.js'
import { nextAttemptAt } from './retry-schedule.js'
import { unsealable, type WebhookResponse, type WebhookSender } from './sender.js'
import { signedRequest } from './signed-request.js'

export type AttemptPorts = {
  readonly commandHandler: CommandHandler
  readonly sender: WebhookSender
  /** The webhook as it is; one that is on may have been so a second ago. */
  readonly currentWebhook: (id: WebhookId) => Promise<Either<StoreFailure, WebhookState>>
  readonly vault: Vault
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** In [0, 1): the jitter of a retry. */
  readonly random: () => number
  readonly backoff: Backoff
  readonly observe: (response: WebhookResponse) => void
}

/** What an attempt left in the log; `position` is undefined where there was nothing to record. */
export type Ended = { readonly position: Position | undefined; readonly comesAgain: boolean }

export type Attempts = {
  /** The next attempt of the schedule. */
  readonly scheduled: (lane: Lane, id: DeliveryId) => Promise<Ended>
  /** The one that somebody asked for, which counts for nothing and goes to a webhook that is off too. */
  readonly resent: (lane: Lane, id: DeliveryId) => Promise<Ended>
}

const nothing = (comesAgain: boolean): Ended => ({ position: undefined, comesAgain })

/** Posts a delivery once and records how that ended. At least once: a crash in between repeats the post. */
export const attempts = (ports: AttemptPorts): Attempts => {
  const { commandHandler, currentWebhook, sender, clock, logger, random, observe } = ports

  const post = async (lane: Lane, receiver: KnownWebhook, state: KnownDelivery) => {
    const request = signedRequest(ports, receiver, state.facts.delivery_id, state.facts.body)
    const response = E.isLeft(request) ? unsealable : await sender.send(request.right)
    observe(response)
    lane.pace = paceAfter(lane.pace, response)
    return { delivered: response.delivered, outcome: outcomeOf(response, state.attempts + 1, receiver.version) }
  }

  const record = async (
    lane: Lane,
    id: DeliveryId,
    assumed: Aggregate<DeliveryState>,
    command: DeliveryCommand,
  ): Promise<Ended> => {
    const done = await executeWithRetry(ports, { actor: 'delivery', lease: lane.lease, assumed }, delivery, id, command)
    if (E.isLeft(done)) return nothing(false)
    const last = done.right.events.at(-1)
    if (last?.type === 'DeliveryAbandoned' && last.data.why === 'retries-exhausted') {
      const { webhook_id, outcome } = last.data
      logger.warn(
        { webhook: webhook_id, delivery: id, reason: outcome?.reason },
        'the retries of a delivery are exhausted',
      )
    }
    return { position: last?.position, comesAgain: done.right.state.kind === 'due' }
  }

  const receiverOf = async ({ webhookId }: Lane): Promise<WebhookState> => orThrow(await currentWebhook(webhookId))

  return {
    scheduled: async (lane, id) => {
      const loaded = orThrow(await commandHandler.load(delivery, id))
      const { state } = loaded
      if (state.kind !== 'due') return nothing(false)
      // The read model may not show yet what another process did before this one took over.
      if (state.tries > 0 && state.dueAt > clock.now()) return nothing(true)
      const receiver = await receiverOf(lane)
      // Reading takes its time, and by now the webhook may be another's to post to.
      if (isOver(lane.lease)) return nothing(true)
      if (receiver.kind === 'off')
        return record(lane, id, loaded, { type: 'HoldDelivery', webhookVersion: receiver.version })
      if (receiver.kind !== 'on') return record(lane, id, loaded, { type: 'AbandonDelivery' })
      const posted = await post(lane, receiver, state)
      const next = nextAttemptAt(state.tries + 1, clock.now(), random())
      return record(lane, id, loaded, { type: 'RecordAttempt', ...posted, nextAttemptAt: next })
    },
    resent: async (lane, id) => {
      const loaded = orThrow(await commandHandler.load(delivery, id))
      const { state } = loaded
      if (state.kind === 'unknown' || state.resend === undefined) return nothing(false)
      const receiver = await receiverOf(lane)
      if (isOver(lane.lease)) return nothing(true)
      if (receiver.kind !== 'on' && receiver.kind !== 'off')
        return record(lane, id, loaded, { type: 'AbandonDelivery' })
      const posted = await post(lane, receiver, state)
      return record(lane, id, loaded, { type: 'RecordResend', ...posted })
    },
  }
}

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

const shown = ({ firstByte, ...times }: NonNullable<WebhookResponse['times']>) => ({ ...times, first_byte: firstByte })
