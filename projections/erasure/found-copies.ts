import { foldStream } from '../../domain/aggregate.js'
import type { DomainEvent } from '../../domain/events.js'
import { millisecondsOf, type Instant } from '../../domain/instant.js'
import type { MessageId } from '../../domain/ids.js'
import { isOutbound, message, type OutboundMessage } from '../../domain/message.js'
import { settlingTime, type Messenger, type OutgoingMessage, type Settled } from '../../domain/messenger.js'
import type { Clock, EnvelopeFacts, Logger, MonotonicClock } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import { streamOf } from '../../domain/stream-name.js'
import { executedOrThrow } from '../parking/final-failure.js'
import type { ClosingPorts } from './stream-closing.js'

export type CopyPorts = ClosingPorts & {
  readonly messenger: Pick<Messenger, 'settle'>
  readonly clock: Pick<Clock, 'now'>
  readonly monotonic: Pick<MonotonicClock, 'sleep'>
  readonly logger: Logger
}

/** Questions about a message: its erasure waits for the answers, and takes one of few places meanwhile. */
const mostAsked = 2

/**
 * Asks the provider whether it has a message that was closed while nobody knew whether it was sent, as where the
 * process ended between an attempt and its answer. Once its text and the contact's number are gone nobody can ask. What
 * the provider has is recorded.
 * @throws StoreFailed, and when `stopping` aborts
 */
export const findCopy = async (
  ports: CopyPorts,
  id: MessageId,
  numberOf: () => Promise<string | undefined>,
  envelope: EnvelopeFacts,
  stopping: AbortSignal,
): Promise<void> => {
  const { store, commandHandler, clock, monotonic, logger } = ports
  const unsettled = unsettledIn(orThrow(await store.read(streamOf(message, id))).events)
  const to = unsettled && (await numberOf())
  if (unsettled === undefined || to === undefined) return
  const { text, begunAt, sender: from, lost } = unsettled
  const age = millisecondsOf(clock.now()) - millisecondsOf(begunAt)
  if (age < settlingTime) await monotonic.sleep(settlingTime - age, stopping)
  stopping.throwIfAborted()
  const outgoing = { id, to, text, from, validUntil: undefined }
  const found = await askedFor(ports, { outgoing, since: begunAt, known: new Set(lost) }, stopping)
  if (found.kind === 'unknown')
    logger.error({ message: id }, 'the provider did not say whether it has a message that was erased')
  if (found.kind !== 'accepted') return
  const report = { kind: 'taken', providerId: found.providerId } as const
  const command = { type: 'ReportMessage', report, retryAt: undefined } as const
  executedOrThrow('the copy of an erased message', await commandHandler.execute(message, id, command, envelope))
}

/** As it was when it was closed, where a provider may have its last attempt. */
const unsettledIn = (events: ReadonlyArray<DomainEvent>): OutboundMessage | undefined => {
  const closed = events.findIndex(({ type }) => type === 'MessageErased')
  const state = foldStream(message, events.slice(0, closed))
  if (!isOutbound(state) || state.providerId !== undefined) return undefined
  return state.kind === 'sending' || state.failure?.kind === 'unknown' ? state : undefined
}

/** `known`: the provider's ids of its lost attempts. */
type Question = {
  readonly outgoing: OutgoingMessage
  readonly since: Instant
  readonly known: ReadonlySet<string>
}

const askedFor = async (
  { messenger, monotonic }: CopyPorts,
  { outgoing, since, known }: Question,
  stopping: AbortSignal,
): Promise<Settled> => {
  for (let asked = 1; ; asked += 1) {
    const found = await messenger.settle(outgoing, since, known)
    if (found.kind !== 'unknown') return found
    // A stop may have cut off the question, too.
    stopping.throwIfAborted()
    if (asked === mostAsked) return found
    await monotonic.sleep(settlingTime, stopping)
    stopping.throwIfAborted()
  }
}
