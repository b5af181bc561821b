import { START, streamNameFilter, type AllStreamSubscription, type ResolvedEvent } from '@eventstore/db-client'
import { abortable } from '../../../domain/abortable.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { EntryBatch, LogEntry, Truncation } from '../../in-process/log-tail.js'
import { classify } from '../client/error-classification.js'
import { ofLeader } from '../client/connection.js'
import { decodeEvent, decodeTruncation, positionFrom } from '../event-codec.js'
import { PendingCheckpoints } from './pending-checkpoints.js'
import type { ReconnectingClient } from '../client/reconnecting-client.js'

/** A batch of the log, which truncations were made in this part of it, and whether its end was reached with it. */
export type CatchUpBatch = EntryBatch & {
  readonly truncations: ReadonlyArray<Truncation>
  readonly isCaughtUp: boolean
}

/** The server or the network ended a subscription: the driver never subscribes again by itself. */
export class SubscriptionDropped extends Error {}

/** Events in one batch at most. */
const pageSize = 500

/** Events that the driver may buffer: then it stops reading, and the server stops sending. */
const bufferSize = 2_000

/**
 * Events that pass between two checkpoints, ours or not. One checkpoint for so many costs nothing that can be measured,
 * while a multiple of it (`checkpointInterval`) would make whoever follows live lag by as many events of others.
 */
const searchWindow = 250

/**
 * One subscription to the streams with these prefixes after a position, until it is dropped.
 * @throws SubscriptionDropped
 */
export async function* catchUp(
  client: ReconnectingClient,
  from: Position,
  prefixes: ReadonlyArray<string>,
  signal: AbortSignal,
): AsyncGenerator<CatchUpBatch> {
  const subscription = new CatchUpSubscription(client, from, prefixes)
  const isAborted = (): boolean => signal.aborted
  try {
    for (;;) {
      const batch = subscription.take()
      if (isAborted()) return
      if (batch !== undefined) yield batch
      else if (subscription.isEnded) throw new SubscriptionDropped(subscription.endReason)
      else await subscription.arrival(signal)
    }
  } finally {
    subscription.close()
  }
}

/** The driver's subscription, and how many of its events were consumed. */
class CatchUpSubscription {
  readonly #client: ReconnectingClient
  readonly #subscription: AllStreamSubscription
  readonly #checkpoints = new PendingCheckpoints()
  #takenEvents = 0
  #position: Position
  #isEnded = false
  #failure: unknown
  /** Whether anything arrived since the last `take`. */
  #hasArrived = false
  #wake = (): void => undefined

  constructor(client: ReconnectingClient, from: Position, prefixes: ReadonlyArray<string>) {
    this.#client = client
    this.#position = from
    const end = (error?: unknown): void => this.#end(error)
    this.#subscription = client
      .current()
      .subscribeToAll(
        {
          ...ofLeader,
          fromPosition: from === beginning ? START : { commit: from, prepare: from },
          filter: streamNameFilter({
            prefixes: [...prefixes],
            checkpointInterval: 1,
            maxSearchWindow: searchWindow,
            // An error in here would be an unhandled rejection and stall the subscription for ever.
            checkpointReached: (_subscription, named) => this.#addCheckpoint(positionFrom(named), false),
          }),
        },
        { highWaterMark: bufferSize },
      )
      .on('error', end)
      .on('end', () => end())
      .on('close', () => end())
      .on('readable', () => this.#notify())
      .on('confirmation', client.answered)
      .on('caughtUp', () => this.#addCheckpoint(beginning, true))
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  get endReason(): string {
    const error = this.#failure === undefined ? undefined : classify(this.#failure)
    return error?.kind === 'retryable' ? error.reason : 'the event store ended a subscription'
  }

  /** What has arrived, one page at most; undefined when nothing has. */
  take(): CatchUpBatch | undefined {
    this.#hasArrived = false
    const entries: Array<LogEntry> = []
    const truncations: Array<Truncation> = []
    const before = this.#takenEvents
    while (this.#takenEvents - before < pageSize) {
      const resolved = this.#subscription.read() as ResolvedEvent | null
      if (resolved === null) break
      this.#takenEvents += 1
      this.#moveTo(positionFrom(resolved.event?.position))
      const entry = decodeEvent(resolved)
      const truncation = decodeTruncation(resolved)
      if (entry !== undefined) entries.push(entry)
      if (truncation !== undefined) truncations.push(truncation)
    }
    const reached = this.#checkpoints.takeReached(this.#takenEvents)
    if (this.#takenEvents === before && reached.length === 0) return undefined
    for (const { position } of reached) this.#moveTo(position)
    const isCaughtUp = reached.some((one) => one.isCaughtUp)
    return { entries, truncations, position: this.#position, isCaughtUp }
  }

  /**
   * Resolves when something has arrived since the last `take`, or when `signal` aborts. The driver hands over only a
   * few events in each turn of the event loop: so this waits for more turns until one brings no more events, or a page
   * is full.
   */
  async arrival(signal: AbortSignal): Promise<void> {
    if (!this.#hasArrived) {
      await abortable(signal, (done) => {
        this.#wake = done
        return undefined
      })
    }
    let before = -1
    while (this.#subscription.readableLength > before && this.#subscription.readableLength < pageSize) {
      before = this.#subscription.readableLength
      await new Promise(setImmediate)
    }
  }

  close(): void {
    // To destroy it alone would leave the call open on the server.
    void this.#subscription.unsubscribe().catch(() => undefined)
    this.#subscription.destroy()
    if (this.#failure !== undefined) this.#client.failed(classify(this.#failure))
  }

  /** A checkpoint may lie before events that were taken, and what has no position is said to be at the beginning. */
  #moveTo(position: Position): void {
    if (position > this.#position) this.#position = position
  }

  #addCheckpoint(position: Position, isCaughtUp: boolean): void {
    const afterEvents = this.#takenEvents + this.#subscription.readableLength
    this.#checkpoints.add({ afterEvents, position, isCaughtUp })
    this.#notify()
  }

  #end(failure: unknown): void {
    this.#failure ??= failure
    this.#isEnded = true
    this.#notify()
  }

  #notify(): void {
    this.#hasArrived = true
    this.#wake()
  }
}
