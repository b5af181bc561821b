import type { DomainEvent } from '../../domain/domain-event.js'
import type { Position, Recorded } from '../../domain/event.js'
import type { EventBatch } from '../../domain/ports.js'

/** How many events the live subscriptions find in memory before they go to the disk. */
const capacity = 1024

/**
 * The end of the log as this process wrote it, from `head` on, so that a live subscription neither reads nor parses
 * again. Positions follow each other without a gap.
 */
export const recentEvents = (head: Position) => {
  let before = head
  let events: Array<Recorded<DomainEvent>> = []
  let waiting: Array<() => void> = []

  const add = (added: ReadonlyArray<Recorded<DomainEvent>>): void => {
    const first = added[0]
    if (first === undefined) return
    // A commit whose answer was lost leaves a gap here, which only the disk can fill.
    if (first.position !== before + BigInt(events.length) + 1n) forget(first.position - 1n)
    events.push(...added)
    if (events.length > 2 * capacity) {
      before += BigInt(events.length - capacity)
      events = events.slice(-capacity)
    }
    const woken = waiting
    waiting = []
    for (const wake of woken) wake()
  }

  const forget = (position: Position): void => {
    before = position
    events = []
  }

  /** Undefined when `position` lies before what is remembered. */
  const after = (
    position: Position,
    isWanted: (event: Recorded<DomainEvent>) => boolean,
    limit: number,
  ): EventBatch | undefined => {
    if (position < before) return undefined
    const start = Number(position - before)
    const slice = events.slice(start, start + limit)
    return { events: slice.filter(isWanted), position: slice.at(-1)?.position ?? position }
  }

  /** Resolves at the next `add`, or when `signal` aborts. */
  const changed = (signal: AbortSignal): Promise<void> =>
    new Promise((resolve) => {
      if (signal.aborted) {
        resolve()
        return
      }
      const wake = (): void => {
        signal.removeEventListener('abort', wake)
        resolve()
      }
      waiting.push(wake)
      signal.addEventListener('abort', wake, { once: true })
    })

  return { add, after, changed }
}
