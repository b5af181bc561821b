import { START, streamNameFilter, type AllStreamSubscription, type ResolvedEvent } from '@eventstore/db-client'
import { beginning, type Position } from '../../domain/event.js'
import type { EntryBatch, LogEntry } from '../in-process/log-tail.js'
import { meaningOf } from './failure.js'
import type { HealingClient } from './healing-client.js'
import { recordedOf } from './recorded.js'

/** A batch, and whether the end of the log was reached with it. */
export type Arrival = EntryBatch & { readonly isLive: boolean }

/** A subscription that the server or the network ended. */
export class Dropped extends Error {}

/** Events in one batch at most. */
const pageSize = 500

/** Events that the driver holds for us: then it stops reading, and the server stops sending. */
const buffered = 2_000

/** Other streams' events that the server passes over between two checkpoints. */
const searchWindow = 250

/** A checkpoint, or the end of the history: it holds once `after` events were taken. */
type Mark = { readonly after: number; readonly position: Position; readonly isLive: boolean }

/**
 * One subscription to the streams with these prefixes after a position, until it is dropped. A checkpoint reaches the
 * driver's callback before the events in front of it were taken (reference 0.1), so it counts only once they were.
 * @throws Dropped
 */
export async function* catchUp(
  client: HealingClient,
  from: Position,
  prefixes: Array<string>,
  signal: AbortSignal,
): AsyncGenerator<Arrival> {
  let taken = 0
  let reached = from
  let marks: Array<Mark> = []
  let failure: unknown
  const ended = { isOver: false }
  let wake = (): void => undefined
  const ahead = (): number => taken + subscription.readableLength
  const mark = (position: Position, isLive: boolean): void => {
    marks.push({ after: ahead(), position, isLive })
    wake()
  }
  const end = (error?: unknown): void => {
    failure ??= error
    ended.isOver = true
    wake()
  }
  const subscription: AllStreamSubscription = client.now().subscribeToAll(
    {
      fromPosition: from === beginning ? START : { commit: from, prepare: from },
      filter: streamNameFilter({
        prefixes,
        checkpointInterval: 1,
        maxSearchWindow: searchWindow,
        checkpointReached: (_subscription, position) => {
          mark(position.commit, false)
        },
      }),
    },
    { highWaterMark: buffered },
  )
  const stop = (): void => end()
  subscription
    .on('error', end)
    .on('end', stop)
    .on('close', stop)
    .on('readable', () => wake())
    .on('confirmation', client.answered)
    .on('caughtUp', () => mark(beginning, true))
  signal.addEventListener('abort', stop, { once: true })

  /** The driver hands over a few events a turn of the loop: a batch is taken once a turn brings no more, or it is full. */
  const gathered = async (): Promise<void> => {
    let before = -1
    while (subscription.readableLength > before && subscription.readableLength < pageSize) {
      before = subscription.readableLength
      await new Promise(setImmediate)
    }
  }
  const isUnwanted = (): boolean => signal.aborted
  const take = (): Arrival | undefined => {
    const entries: Array<LogEntry> = []
    const before = taken
    while (taken - before < pageSize) {
      const resolved = subscription.read() as ResolvedEvent | null
      if (resolved === null) break
      taken += 1
      reached = resolved.event?.position?.commit ?? reached
      const entry = recordedOf(resolved)
      if (entry !== undefined) entries.push(entry)
    }
    const passed = marks.filter(({ after }) => after <= taken)
    marks = marks.filter(({ after }) => after > taken)
    if (taken === before && passed.length === 0) return undefined
    for (const { position } of passed) if (position > reached) reached = position
    return { entries, position: reached, isLive: passed.some(({ isLive }) => isLive) }
  }

  try {
    for (;;) {
      const woken = new Promise<void>((resolve) => {
        wake = resolve
      })
      const arrival = take()
      if (isUnwanted()) return
      if (arrival !== undefined) yield arrival
      else if (ended.isOver) throw new Dropped(reasonOf(failure))
      else {
        await woken
        await gathered()
      }
    }
  } finally {
    signal.removeEventListener('abort', stop)
    // Leaving an iteration alone would leave the call open on the server (reference 0.11).
    void subscription.unsubscribe().catch(() => undefined)
    subscription.destroy()
    if (failure !== undefined) client.failed(meaningOf(failure))
  }
}

const reasonOf = (failure: unknown): string => {
  const meaning = failure === undefined ? undefined : meaningOf(failure)
  return meaning?.kind === 'again' ? meaning.reason : 'the event store ended a subscription'
}
