import type { ResendId } from '../../../domain/ids.js'
import { E } from '../../../domain/prelude.js'
import { resend, type ResendCommand } from '../../../domain/resend.js'
import { orThrow } from '../../../domain/store-failed.js'
import { deliveries, stateOf, type DeliveryDocument } from '../../read-models/deliveries.js'
import { fencedCommandHandler } from '../../subscriptions/fencing.js'
import { isOver } from '../../subscriptions/leases.js'
import type { Cursor } from '../../ports.js'
import { collectionOf } from '../../projection.js'
import { batch, changed, type ChorePorts } from './job.js'
import type { Lane } from '../queue/webhook-queue.js'

/**
 * Asks for each failed delivery of a period once, oldest first, and is complete when all are posted. Each delivery knows of
 * which resends it was part, so one that was interrupted begins anew and repeats none.
 */
export const carryOutResend = async (
  ports: ChorePorts,
  lane: Lane,
  id: ResendId,
  look: (lane: Lane) => void,
): Promise<void> => {
  const { store, documents, commandHandler, clock, ids, projected, backoff } = ports
  const collection = collectionOf(deliveries)

  const waiting = async (): Promise<number> =>
    orThrow(await documents.count(collection, { index: 'resends', equals: [lane.webhookId] }))

  const request = async (all: ReadonlyArray<DeliveryDocument>): Promise<void> => {
    const command = { type: 'RequestResend', resendId: id, dueAt: clock.now() } as const
    if (!(await changed(ports, lane, all, () => command))) return
    lane.rare.add('resend')
    look(lane)
  }

  const complete = async (): Promise<void> => {
    const command: ResendCommand = { type: 'CompleteResend' }
    const cause = { actor: 'delivery', event: 'last-of-stream', eventId: ids.uuid } as const
    const done = await fencedCommandHandler(commandHandler, lane.lease).execute(resend, id, command, cause)
    if (E.isLeft(done)) throw new Error(`a resend was ${done.left.kind}`)
  }

  // Until the read model shows what failed, and what was asked for, before this began.
  await projected.caughtUpTo(orThrow(await store.head()), lane.lease.lost)
  let after: Cursor | undefined
  while (!isOver(lane.lease)) {
    const state = orThrow(await commandHandler.load(resend, id)).state
    if (state.kind !== 'running') return
    const from = after ?? { value: state.from, key: '' }
    const part = { index: 'by_state', equals: [stateOf(lane.webhookId, 'failed')], upTo: state.to }
    const found = orThrow(await documents.find(collection, { ...part, after: from, limit: batch }))
    await request(found.map(({ document }) => document as DeliveryDocument))
    const last = found.at(-1)
    const isLast = last === undefined || found.length < batch
    const most = isLast ? 0 : batch - 1
    while ((await waiting()) > most && !isOver(lane.lease)) await backoff(0, lane.lease.lost)
    if (isLast) return isOver(lane.lease) ? undefined : complete()
    after = { key: last.key, value: last.document['created_at'] as string }
  }
}
