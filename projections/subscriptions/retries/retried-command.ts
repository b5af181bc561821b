import type { Aggregate, CausingEvent } from '../../../domain/aggregate.js'
import type { Decider } from '../../../domain/decider.js'
import type { Position } from '../../../domain/event.js'
import type { DomainEvent } from '../../../domain/events.js'
import { StatedFailure } from '../../../domain/failure-reason.js'
import type { AnyCommand, CommandHandler, CommandResult, Ids, Logger } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { isTransient, StoreFailed } from '../../../domain/store-failed.js'
import { streamOf } from '../../../domain/stream-name.js'
import { guardedCommandHandler } from '../lease-guard.js'
import { isEnding, type Lease } from '../leases.js'
import { isLogged, type Backoff } from './backoff.js'
import { FailedForGood, isPermanent } from './failed-for-good.js'
import type { FailingWork } from './failing-work.js'

export type RetryPorts = {
  readonly commandHandler: CommandHandler
  readonly ids: Ids
  readonly logger: Logger
  readonly backoff: Backoff
  readonly failingWork: FailingWork
}

/** What records how something ended that was sent: the actor, and the aggregate as it was before it was sent. */
type Recording<State> = {
  readonly actor: string
  readonly lease: Lease
  readonly assumed?: Aggregate<State>
  /** What brought it about, where its stream begins with it; left out, it is the last event of the stream. */
  readonly cause?: CausingEvent
}

/**
 * Executes a command until the store takes it: what went out can't be called back, so its outcome is recorded however
 * long that takes. Once another process has taken over it is not: that one sends again, and its outcome counts. Left: a
 * refusal.
 * @throws where the lease is lost before it was recorded, and FailedForGood where it never can be
 */
export const executeWithRetry = async <
  State,
  Command extends AnyCommand,
  Event extends DomainEvent,
  Refusal extends { readonly kind: string },
>(
  { commandHandler, ids, logger, backoff, failingWork }: RetryPorts,
  { actor, lease, assumed, cause }: Recording<State>,
  decider: Decider<State, Command, Event, Refusal>,
  id: string,
  command: Command,
): Promise<Either<Refusal, CommandResult<State>>> => {
  const { execute } = guardedCommandHandler(commandHandler, lease)
  // Each event has the same on every try, so that it is written once.
  const eventIds: Array<string> = []
  const eventId = (index: number): string => (eventIds[index] ??= ids.uuid())
  const envelope = { actor, cause: cause ?? 'last-of-stream', eventId } as const
  const stream = streamOf(decider, id)
  try {
    for (let failures = 0; ; failures += 1) {
      const done = await execute(decider, id, command, envelope, failures === 0 ? assumed : undefined)
      if (E.isRight(done)) return done
      if (isPermanent(done.left)) throw new FailedForGood(stream, done.left)
      if (!isTransient(done.left)) return E.left(done.left)
      const { kind } = done.left
      if (isLogged(failures)) logger.warn({ [decider.category]: id, reason: kind }, 'an outcome waits to be recorded')
      if (isEnding(lease)) throw new StatedFailure(`the store was ${kind}`)
      if (done.left.kind === 'unavailable') failingWork.failed(lease, stream, new StoreFailed(done.left))
      await backoff(failures, lease.ending)
    }
  } finally {
    failingWork.ended(stream)
  }
}

/** As `executeWithRetry`, for a command that is refused where another process was first: then undefined. */
export const recordWithRetry = async <
  State,
  Command extends AnyCommand,
  Event extends DomainEvent,
  Refusal extends { readonly kind: string },
>(
  ports: RetryPorts,
  recording: Recording<State>,
  decider: Decider<State, Command, Event, Refusal>,
  id: string,
  command: Command,
): Promise<CommandResult<State> | undefined> => {
  const done = await executeWithRetry(ports, recording, decider, id, command)
  return E.isLeft(done) ? undefined : done.right
}

/** As `recordWithRetry`: where the last event of it stands, undefined where it recorded none. */
export const recordedPosition = async <
  State,
  Command extends AnyCommand,
  Event extends DomainEvent,
  Refusal extends { readonly kind: string },
>(
  ports: RetryPorts,
  recording: Recording<State>,
  decider: Decider<State, Command, Event, Refusal>,
  id: string,
  command: Command,
): Promise<Position | undefined> => lastPositionOf(await recordWithRetry(ports, recording, decider, id, command))

/** The position of the last event that a command recorded; undefined where it recorded none. */
export const lastPositionOf = (recorded: CommandResult<unknown> | undefined): Position | undefined =>
  recorded?.events.at(-1)?.position
