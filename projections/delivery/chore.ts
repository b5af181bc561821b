import type { Clock, Dispatch, EventStore, Ids } from '../../domain/ports.js'
import type { Documents } from '../ports.js'
import type { Shift } from '../shift.js'

/** What work on a lane beside its attempts needs: settling a backlog, carrying out a resend. */
export type ChorePorts = {
  readonly store: EventStore
  readonly documents: Documents
  readonly dispatch: Dispatch
  readonly clock: Clock
  readonly ids: Ids
  /** Keeps the `deliveries` read model. */
  readonly projected: Pick<Shift, 'reached'>
  readonly pause: (signal: AbortSignal) => Promise<void>
}

/** Deliveries that are changed together, and that wait to be posted because of a chore at most. */
export const batch = 32
