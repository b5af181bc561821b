import type { Decider } from '../../domain/decider.js'
import type { DomainEvent } from '../../domain/events.js'
import type { AnyCommand, Contended, Dispatch, Ids, Logger, Outcome, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { fencedDispatch } from './fencing.js'
import { isOver, type Lease } from './leases.js'

export type InsistPorts = {
  readonly dispatch: Dispatch
  readonly ids: Ids
  readonly logger: Logger
  readonly pause: (signal: AbortSignal) => Promise<void>
}

/**
 * What went out can't be called back, so its outcome is recorded however long the store takes. Once another process has taken
 * over it is not: that one sends again, and its outcome counts. Gives the refusal where there is nothing to record it of.
 * @throws where the lease is lost before it was recorded
 */
export const recordInsistently = async <
  State,
  Command extends AnyCommand,
  Event extends DomainEvent,
  Refusal extends { readonly kind: string },
>(
  { dispatch, ids, logger, pause }: InsistPorts,
  lease: Lease,
  actor: string,
  decider: Decider<State, Command, Event, Refusal>,
  id: string,
  command: Command,
): Promise<Either<Refusal, Outcome<State>>> => {
  const { execute } = fencedDispatch(dispatch, lease)
  // The same on every try, so that it is written once.
  const event = ids.uuid()
  for (;;) {
    const done = await execute(decider, id, command, { actor, event: 'last-of-stream', eventId: () => event })
    if (E.isRight(done)) return done
    if (!isPassing(done.left)) return E.left(done.left)
    const { kind } = done.left
    logger.warn({ [decider.category]: id, reason: kind }, 'an outcome waits to be recorded')
    if (isOver(lease)) throw new Error(`the store was ${kind}`)
    await pause(lease.lost)
  }
}

const isPassing = (failure: { readonly kind: string }): failure is StoreFailure | Contended =>
  ['unavailable', 'corrupt', 'contended'].includes(failure.kind)
