import { delivery, type DeliveryCommand } from '../../../domain/delivery.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { DeliveryId } from '../../../domain/ids.js'
import type { Clock, CommandHandler, EventStore, Ids } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { streamOf } from '../../../domain/stream-name.js'
import type { Documents } from '../../ports.js'
import { errorOf } from '../../parking/final-failure.js'
import type { DeliveryDocument } from '../../read-models/deliveries.js'
import type { Backoff } from '../../subscriptions/retries/backoff.js'
import { guardedCommandHandler } from '../../subscriptions/lease-guard.js'
import type { LeasedFollower } from '../../subscriptions/leased-follower.js'
import { FailedForGood } from '../../subscriptions/retries/failed-for-good.js'
import { lastPositionOf } from '../../subscriptions/retries/retried-command.js'
import type { ExpectedKind, WebhookQueue } from '../queue/webhook-queue.js'

/** What the jobs need: reconciling a backlog, and carrying out a bulk resend. */
export type JobPorts = {
  readonly store: EventStore
  readonly documents: Documents
  readonly commandHandler: CommandHandler
  readonly clock: Clock
  readonly ids: Ids
  readonly deliveriesFollower: Pick<LeasedFollower, 'caughtUpTo'>
  readonly backoff: Backoff
  /** Called where the job made deliveries due, in a way that the read model shows. */
  readonly expect: (queue: WebhookQueue, kind: ExpectedKind) => void
  /**
   * Parks a delivery that can't be changed, and sets it aside.
   * @throws `error` where trying again may help
   */
  readonly setAside: (queue: WebhookQueue, id: DeliveryId, error: unknown) => Promise<unknown>
}

/** Deliveries that a job changes together, and that wait in a queue because of a job at most. */
export const batchSize = 32

/**
 * Executes a command on each delivery and waits until the read model shows what became of them; one that can't be
 * changed is set aside, and keeps no other. False where none changed: all were so already, are erased, or are set
 * aside.
 * @throws where the store fails, once the read model shows what became of the others
 */
export const executeOnBatch = async (
  ports: JobPorts,
  queue: WebhookQueue,
  batch: ReadonlyArray<DeliveryDocument>,
  commandFor: (index: number) => DeliveryCommand,
): Promise<boolean> => {
  const ends = await Promise.allSettled(
    batch.map(({ id }, index) =>
      execute(ports, queue, id, commandFor(index)).catch(async (error: unknown) => {
        await ports.setAside(queue, id, error)
        return undefined
      }),
    ),
  )
  let newest = beginning
  for (const end of ends)
    if (end.status === 'fulfilled' && end.value !== undefined && end.value > newest) newest = end.value
  if (newest !== beginning) await ports.deliveriesFollower.caughtUpTo(newest, queue.lease.ending)
  for (const end of ends) if (end.status === 'rejected') throw end.reason
  return newest !== beginning
}

/** @throws FailedForGood where its stream can't be read or never takes it, and what else it failed with */
const execute = async (
  { commandHandler, ids }: JobPorts,
  { lease }: WebhookQueue,
  id: DeliveryId,
  command: DeliveryCommand,
): Promise<Position | undefined> => {
  const envelope = { actor: 'delivery', cause: 'last-of-stream', eventId: ids.uuid } as const
  const done = await guardedCommandHandler(commandHandler, lease).execute(delivery, id, command, envelope)
  if (E.isRight(done)) return lastPositionOf(done.right)
  if (done.left.kind === 'delivery-erased') return undefined
  if (done.left.kind === 'corrupt') throw new FailedForGood(streamOf(delivery, id), done.left)
  throw errorOf('a delivery', done.left)
}
