import { delivery, type DeliveryCommand } from '../../../domain/delivery.js'
import { beginning } from '../../../domain/event.js'
import type { Clock, CommandHandler, EventStore, Ids } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { DeliveryDocument } from '../../read-models/deliveries.js'
import { fencedCommandHandler } from '../../subscriptions/fencing.js'
import type { Backoff } from '../../subscriptions/backoff.js'
import type { Documents } from '../../ports.js'
import type { LeasedFollower } from '../../subscriptions/leased-follower.js'
import type { Lane } from '../queue/webhook-queue.js'

/** What work on a lane beside its attempts needs: settling a backlog, carrying out a resend. */
export type ChorePorts = {
  readonly store: EventStore
  readonly documents: Documents
  readonly commandHandler: CommandHandler
  readonly clock: Clock
  readonly ids: Ids
  /** Keeps the `deliveries` read model. */
  readonly projected: Pick<LeasedFollower, 'caughtUpTo'>
  readonly backoff: Backoff
}

/** Deliveries that are changed together, and that wait to be posted because of a chore at most. */
export const batch = 32

/**
 * Gives each delivery a command and waits until the read model shows what became of them; false where all was so already.
 * @throws where the store fails
 */
export const changed = async (
  { commandHandler, ids, projected }: ChorePorts,
  { lease }: Lane,
  all: ReadonlyArray<DeliveryDocument>,
  commandFor: (index: number) => DeliveryCommand,
): Promise<boolean> => {
  const { execute } = fencedCommandHandler(commandHandler, lease)
  const cause = { actor: 'delivery', event: 'last-of-stream', eventId: ids.uuid } as const
  let newest = beginning
  for (const done of await Promise.all(all.map(({ id }, index) => execute(delivery, id, commandFor(index), cause)))) {
    if (E.isLeft(done)) throw new Error(`a delivery was ${done.left.kind}`)
    for (const { position } of done.right.events) if (position > newest) newest = position
  }
  if (newest === beginning) return false
  await projected.caughtUpTo(newest, lease.lost)
  return true
}
