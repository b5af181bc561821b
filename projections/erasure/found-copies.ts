import { fold, streamOf } from '../../domain/decider.js'
import { millisecondsOf, type Instant } from '../../domain/instant.js'
import type { MessageId } from '../../domain/ids.js'
import { message, type MessageEvent, type MessageState } from '../../domain/message.js'
import type { Cause, Clock, Logger, Time } from '../../domain/ports.js'
import { orThrow } from '../../domain/store-failed.js'
import { executedOrThrow } from '../parking/final-failure.js'
import type { ClosingPorts } from './closing.js'

type Sent = {
  readonly id: MessageId
  /** In E.164. */
  readonly to: string
  readonly text: string
  /** A sender of the account's own; undefined: the one that the accounts share. */
  readonly from: string | undefined
  readonly validUntil: undefined
}

type Settled = { readonly kind: 'accepted'; readonly providerId: string } | { readonly kind: 'absent' | 'unknown' }

/** Says what a provider has of a message that was tried since `since`. Never rejects. */
type Provider = {
  readonly settle: (message: Sent, since: Instant, known: ReadonlySet<string>) => Promise<Settled>
}

export type CopyPorts = ClosingPorts & {
  readonly messenger: Provider
  readonly clock: Pick<Clock, 'now'>
  readonly time: Pick<Time, 'sleep'>
  readonly logger: Logger
}

/** In milliseconds: a provider lists what it has just taken by then, and is asked again after as long where it does not answer. */
const settlingTime = 5_000

/** Its erasure, which has one of few places, waits for the answers. */
const mostAsked = 2

/**
 * Asks the provider whether it has a message that was closed while nobody knew that, as where the process ended between a try and its
 * answer: once its text and the contact's number are gone nobody can. What it has is recorded.
 * @throws StoreFailed, and when `stopping` aborts
 */
export const findCopy = async (
  ports: CopyPorts,
  id: MessageId,
  numberOf: () => Promise<string | undefined>,
  cause: Cause,
  stopping: AbortSignal,
): Promise<void> => {
  const { store, commandHandler, clock, time, logger } = ports
  const unsettled = unsettledIn(orThrow(await store.read(streamOf(message, id))).events as ReadonlyArray<MessageEvent>)
  const to = unsettled && (await numberOf())
  if (unsettled === undefined || to === undefined) return
  const { text, begunAt, sender: from, lost } = unsettled
  const age = millisecondsOf(clock.now()) - millisecondsOf(begunAt)
  if (age < settlingTime) await time.sleep(settlingTime - age, stopping)
  stopping.throwIfAborted()
  const outgoing = { id, to, text, from, validUntil: undefined }
  const found = await askedFor(ports, { outgoing, since: begunAt, known: new Set(lost) }, stopping)
  if (found.kind === 'unknown')
    logger.error({ message: id }, 'the provider did not say whether it has a message that was erased')
  if (found.kind !== 'accepted') return
  const report = { kind: 'taken', providerId: found.providerId } as const
  const command = { type: 'ReportMessage', report, retryAt: undefined } as const
  executedOrThrow('the copy of an erased message', await commandHandler.execute(message, id, command, cause))
}

type Tried = Extract<MessageState, { readonly attempt: number }>

/** As it was when it was closed, where a provider may have its last try. */
const unsettledIn = (events: ReadonlyArray<MessageEvent>): Tried | undefined => {
  const closed = events.findIndex(({ type }) => type === 'MessageErased')
  const state = fold(message, message.initial, events.slice(0, closed))
  if (!('attempt' in state) || state.providerId !== undefined) return undefined
  return state.kind === 'sending' || state.failure?.kind === 'unknown' ? state : undefined
}

const askedFor = async (
  { messenger, time }: CopyPorts,
  { outgoing, since, known }: { readonly outgoing: Sent; readonly since: Instant; readonly known: ReadonlySet<string> },
  stopping: AbortSignal,
): Promise<Settled> => {
  for (let asked = 1; ; asked += 1) {
    const found = await messenger.settle(outgoing, since, known)
    if (found.kind !== 'unknown') return found
    // A stop may have cut off the question, too.
    stopping.throwIfAborted()
    if (asked === mostAsked) return found
    await time.sleep(settlingTime, stopping)
    stopping.throwIfAborted()
  }
}
