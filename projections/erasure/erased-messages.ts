import type { EngagementState } from '../../domain/engagement.js'
import type { MessageId } from '../../domain/ids.js'
import type { EventOf, RecordedEvent } from '../../domain/events.js'
import type { Instant } from '../../domain/instant.js'
import { message, type ErasedMessageEvent, type MessageIds } from '../../domain/message.js'
import type { EnvelopeFacts } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import { streamOf } from '../../domain/stream-name.js'
import type { Documents } from '../ports.js'
import { close } from './stream-closing.js'
import { messagesOf } from './contact-entries.js'
import { findCopy, type CopyPorts } from './found-copies.js'

type Ports = CopyPorts & { readonly documents: Pick<Documents, 'find'> }
type Requested = EventOf<'ErasureRequested'>['data']

/** Ports for erasing messages. `numberOf` gives the contact's number, undefined where nobody knows it any more. */
export type MessageErasure = {
  readonly envelopeOf: (what: string) => EnvelopeFacts
  readonly numberOf: () => Promise<string | undefined>
  readonly stopping: AbortSignal
}

/**
 * Takes away what a message says; a repeat changes nothing. `at` counts as its beginning where it has none.
 * @throws StoreFailed
 */
export const eraseMessage = async (
  ports: CopyPorts,
  of: MessageIds,
  at: Instant,
  { envelopeOf, numberOf, stopping }: MessageErasure,
): Promise<void> => {
  const { events } = orThrow(await ports.store.read(streamOf(message, of.message_id)))
  const beganAt = (events.find(({ type }) => type === 'MessageBegun') ?? events[0])?.time ?? at
  await close(ports, {
    decider: message,
    id: of.message_id,
    command: { type: 'EraseMessage', of, beganAt, history: events.map(told) } as const,
    by: 'MessageErased',
    envelope: envelopeOf(of.message_id),
    beforeTruncation: () => findCopy(ports, of.message_id, numberOf, envelopeOf(`${of.message_id}/copy`), stopping),
  })
}

const kept = ['purpose', 'step', 'segments', 'attempt', 'kind', 'meaning'] as const

/** An event of a message without a word of what it says. */
const told = ({ type, time, data }: RecordedEvent): ErasedMessageEvent => {
  const values: Readonly<Record<string, unknown>> = data
  return {
    type,
    at: time,
    ...Object.fromEntries(kept.flatMap((name) => (name in values ? [[name, values[name]]] : []))),
  }
}

/**
 * Closes all that was written to the contact and by it.
 * @throws StoreFailed
 */
export const eraseMessages = async (
  ports: Ports,
  { contact_id }: Requested,
  erasure: MessageErasure,
): Promise<void> => {
  for await (const page of messagesOf(ports.documents, contact_id, erasure.stopping)) {
    const closings = page.map(({ id: message_id, account_id, engagement_id, created_at }) =>
      eraseMessage(ports, { message_id, account_id, contact_id, engagement_id }, created_at, erasure),
    )
    await Promise.all(closings)
  }
}

/**
 * Closes the message of the step that was begun last. It may not be shown yet, or be about to begin: closed, it can't.
 * @throws StoreFailed
 */
export const eraseLastMessage = async (
  ports: Ports,
  state: EngagementState,
  at: Instant,
  erasure: MessageErasure,
): Promise<void> => {
  const id: MessageId | undefined = state.kind === 'started' ? state.followUp?.messageId : undefined
  if (id === undefined || state.kind !== 'started') return
  const { account_id, contact_id, engagement_id } = state.attribution
  await eraseMessage(ports, { message_id: id, account_id, contact_id, engagement_id }, at, erasure)
}
