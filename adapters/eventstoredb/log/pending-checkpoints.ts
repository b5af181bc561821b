import type { Position } from '../../../domain/event.js'

/** `position` is reached once `afterEvents` events of the subscription were consumed. */
export type ServerCheckpoint = {
  readonly afterEvents: number
  readonly position: Position
  /** Whether it stands at the end of the history. */
  readonly isCaughtUp: boolean
}

/**
 * Checkpoints of a subscription, in their order. The driver reports one as soon as it arrives, while events in front of
 * it are still in its buffer: whoever stored its position then would lose those events in a crash.
 */
export class PendingCheckpoints {
  #pending: Array<ServerCheckpoint> = []

  add(checkpoint: ServerCheckpoint): void {
    this.#pending.push(checkpoint)
  }

  /** Removes and returns the checkpoints that hold once so many events were taken. */
  takeReached(events: number): ReadonlyArray<ServerCheckpoint> {
    const reached = this.#pending.filter(({ afterEvents }) => afterEvents <= events)
    if (reached.length > 0) this.#pending = this.#pending.slice(reached.length)
    return reached
  }
}
