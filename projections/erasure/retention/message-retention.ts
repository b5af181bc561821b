import { contact } from '../../../domain/contact.js'
import { engagement } from '../../../domain/engagement.js'
import { erasure } from '../../../domain/erasure.js'
import { message } from '../../../domain/message.js'
import type { Ids } from '../../../domain/ports.js'
import { streamOf } from '../../../domain/stream-name.js'
import { messages, type MessageDocument } from '../../read-models/messages.js'
import { guardedCommandHandler } from '../../subscriptions/lease-guard.js'
import { loadOrThrow } from '../../subscriptions/retries/failed-for-good.js'
import { eraseMessage } from '../erased-messages.js'
import type { CopyPorts } from '../found-copies.js'
import type { RetentionPolicy } from './policy.js'

type Ports = CopyPorts & { readonly ids: Pick<Ids, 'uuid'> }

const name = 'message_retention'

/**
 * What was written to contacts and by them. While its engagement goes on, the message of a step tells when the next one
 * is due.
 */
export const messageRetention = (ports: Ports): RetentionPolicy<MessageDocument> => ({
  name,
  what: 'texts of messages',
  projection: messages,
  streamOf: (id) => streamOf(message, id),
  closedBy: 'MessageErased',
  ended: ['sent', 'delivered', 'failed', 'unknown', 'received'],
  removed: 'texts_removed',
  remove: async ({ id: message_id, account_id, contact_id, engagement_id, created_at }, lease) => {
    const commandHandler = guardedCommandHandler(ports.commandHandler, lease)
    const { state } = await loadOrThrow(commandHandler, engagement, engagement_id)
    if (state.kind === 'started' && !state.ended) return false
    const envelope = { actor: name, cause: 'last-of-stream', eventId: ports.ids.uuid } as const
    const ids = { message_id, account_id, contact_id, engagement_id }
    // Before the message is closed: the contact may be erased meanwhile, and then only its leads know the number, for
    // its eraser.
    const { state: person } = await loadOrThrow(commandHandler, contact, contact_id)
    if (person.kind === 'erased') {
      const { state: requested } = await loadOrThrow(commandHandler, erasure, person.erasureId)
      if (requested.kind === 'requested') return false
    }
    const number = person.kind === 'known' ? person.details.phone : undefined
    const how = { envelopeOf: () => envelope, numberOf: () => Promise.resolve(number), stopping: lease.ending }
    await eraseMessage({ ...ports, commandHandler }, ids, created_at, how)
    return true
  },
})
