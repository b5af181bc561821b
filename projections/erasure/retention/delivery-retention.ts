import { delivery } from '../../../domain/delivery.js'
import type { Ids } from '../../../domain/ports.js'
import { streamOf } from '../../../domain/stream-name.js'
import { deliveries, type DeliveryDocument } from '../../read-models/deliveries.js'
import { guardedCommandHandler } from '../../subscriptions/lease-guard.js'
import { eraseDelivery, type DeliveryErasurePorts } from '../erased-deliveries.js'
import type { RetentionPolicy } from './policy.js'

type Ports = DeliveryErasurePorts & { readonly ids: Pick<Ids, 'uuid'> }

const name = 'retention'

/** The bodies of deliveries, and what receivers answered. */
export const deliveryRetention = (ports: Ports): RetentionPolicy<DeliveryDocument> => ({
  name,
  what: 'bodies of deliveries',
  projection: deliveries,
  streamOf: (id) => streamOf(delivery, id),
  closedBy: 'DeliveryErased',
  ended: ['succeeded', 'failed', 'skipped', 'abandoned'],
  removed: 'bodies_removed',
  remove: async ({ id }, lease) => {
    const guarded = { ...ports, commandHandler: guardedCommandHandler(ports.commandHandler, lease) }
    const envelopeOf = () => ({ actor: name, cause: 'last-of-stream', eventId: ports.ids.uuid }) as const
    const why = { why: 'retention', envelopeOf, stopping: lease.ending } as const
    return (await eraseDelivery(guarded, id, why)) !== undefined
  },
})
