import { delivery, type AttemptOutcome, type DeliveryCommand, type KnownDelivery } from '../../domain/delivery.js'
import type { Position } from '../../domain/event.js'
import type { DeliveryId } from '../../domain/ids.js'
import type { Clock, Dispatch, Ids, Logger, Vault } from '../../domain/ports.js'
import { E } from '../../domain/prelude.js'
import { orThrow } from '../../domain/store-failed.js'
import { webhook, type KnownWebhook, type WebhookState } from '../../domain/webhook.js'
import { recordInsistently } from '../subscriptions/retried-command.js'
import { isOver } from '../subscriptions/leases.js'
import type { Lane } from './queue/webhook-queue.js'
import { paceAfter } from './queue/concurrency.js'
import { nextAttemptAt } from './retry-schedule.js'
import { unsealable, type WebhookResponse, type WebhookSender } from './sender.js'
import { signedRequest } from './signed-request.js'

export type AttemptPorts = {
  readonly dispatch: Dispatch
  readonly sender: WebhookSender
  readonly vault: Vault
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  /** In [0, 1): the jitter of a retry. */
  readonly random: () => number
  readonly pause: (signal: AbortSignal) => Promise<void>
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
  const { dispatch, sender, clock, logger, random, observe } = ports

  const post = async (lane: Lane, receiver: KnownWebhook, state: KnownDelivery) => {
    const request = signedRequest(ports, receiver, state.facts.delivery_id, state.facts.body)
    const response = E.isLeft(request) ? unsealable : await sender.send(request.right)
    observe(response)
    lane.pace = paceAfter(lane.pace, response)
    return { delivered: response.delivered, outcome: outcomeOf(response, state.attempts + 1, receiver.version) }
  }

  const record = async (lane: Lane, id: DeliveryId, command: DeliveryCommand): Promise<Ended> => {
    const done = await recordInsistently(ports, lane.lease, 'delivery', delivery, id, command)
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

  const receiverOf = async ({ webhookId }: Lane): Promise<WebhookState> =>
    orThrow(await dispatch.recent(webhook, webhookId, ({ kind }) => kind === 'on'))

  return {
    scheduled: async (lane, id) => {
      const state = orThrow(await dispatch.state(delivery, id))
      if (state.kind !== 'due') return nothing(false)
      // The read model may not show yet what another process did before this one took over.
      if (state.tries > 0 && state.dueAt > clock.now()) return nothing(true)
      const receiver = await receiverOf(lane)
      // Reading takes its time, and by now the webhook may be another's to post to.
      if (isOver(lane.lease)) return nothing(true)
      if (receiver.kind === 'off') return record(lane, id, { type: 'HoldDelivery', webhookVersion: receiver.version })
      if (receiver.kind !== 'on') return record(lane, id, { type: 'AbandonDelivery' })
      const posted = await post(lane, receiver, state)
      const next = nextAttemptAt(state.tries + 1, clock.now(), random())
      return record(lane, id, { type: 'RecordAttempt', ...posted, nextAttemptAt: next })
    },
    resent: async (lane, id) => {
      const state = orThrow(await dispatch.state(delivery, id))
      if (state.kind === 'unknown' || state.resend === undefined) return nothing(false)
      const receiver = await receiverOf(lane)
      if (isOver(lane.lease)) return nothing(true)
      if (receiver.kind !== 'on' && receiver.kind !== 'off') return record(lane, id, { type: 'AbandonDelivery' })
      const posted = await post(lane, receiver, state)
      return record(lane, id, { type: 'RecordResend', ...posted })
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
