import { delivery, type DeliveryCommand } from '../../../domain/delivery.js'
import { beginning } from '../../../domain/event.js'
import { StatedFailure } from '../../../domain/failure-reason.js'
import type { Clock, CommandHandler, EventStore, Ids } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Documents } from '../../ports.js'
import type { DeliveryDocument } from '../../read-models/deliveries.js'
import type { Backoff } from '../../subscriptions/backoff.js'
import { guardedCommandHandler } from '../../subscriptions/lease-guard.js'
import type { LeasedFollower } from '../../subscriptions/leased-follower.js'
import type { ExpectedKind, WebhookQueue } from '../queue/webhook-queue.js'

/** What the jobs need: reconciling a backlog, and carrying out a bulk resend. */
export type JobPorts = {
  readonly store: EventStore
  readonly documents: Documents
  readonly commandHandler: CommandHandler
  readonly clock: Clock
  readonly ids: Ids
  /** Runs the `deliveries` read model. */
  readonly projected: Pick<LeasedFollower, 'caughtUpTo'>
  readonly backoff: Backoff
  /** Called where the job made deliveries due, in a way that the read model shows. */
  readonly expect: (queue: WebhookQueue, kind: ExpectedKind) => void
}

/** Deliveries that a job changes together, and that wait in a queue because of a job at most. */
export const batchSize = 32

/**
 * Executes a command on each delivery and waits until the read model shows what became of them. False where none changed: all
 * were so already, or are erased.
 * @throws where the store fails
 */
export const executeOnBatch = async (
  { commandHandler, ids, projected }: JobPorts,
  { lease }: WebhookQueue,
  batch: ReadonlyArray<DeliveryDocument>,
  commandFor: (index: number) => DeliveryCommand,
): Promise<boolean> => {
  const { execute } = guardedCommandHandler(commandHandler, lease)
  const cause = { actor: 'delivery', event: 'last-of-stream', eventId: ids.uuid } as const
  let newest = beginning
  for (const done of await Promise.all(batch.map(({ id }, index) => execute(delivery, id, commandFor(index), cause)))) {
    if (E.isLeft(done)) {
      if (done.left.kind === 'delivery-erased') continue
      throw new StatedFailure(`a delivery was ${done.left.kind}`)
    }
    for (const { position } of done.right.events) if (position > newest) newest = position
  }
  if (newest === beginning) return false
  await projected.caughtUpTo(newest, lease.ending)
  return true
}
