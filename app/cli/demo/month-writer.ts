import { randomIds } from '../../../adapters/node/ids.js'
import { jsonLogger } from '../../../adapters/node/logger.js'
import { monotonicClock } from '../../../adapters/node/monotonic-clock.js'
import type { Decider } from '../../../domain/decider.js'
import type { DomainEvent, RecordedEvent } from '../../../domain/events.js'
import { instantOf, type Instant } from '../../../domain/instant.js'
import type { AnyCommand, EnvelopeFacts } from '../../../domain/ports.js'
import { E, type Either } from '../../../domain/prelude.js'
import { isTransient, StoreFailed } from '../../../domain/store-failed.js'
import { commandSide } from '../../composition/command-side.js'
import type { Config } from '../../composition/config.js'
import { secretsFor } from '../../composition/start/secrets.js'
import type { Stores } from '../../composition/stores.js'

/** A sentence that says why no month can be made. */
export class Refused extends Error {}

export const right = <L, A>(result: Either<L, A>): A => {
  if (E.isLeft(result)) throw new Refused(`The rules refuse something: ${JSON.stringify(result.left)}.`)
  return result.right
}

/** Writes as the service does, by a clock that is set. */
export const monthWriter = (config: Config, stores: Stores, began: number) => {
  const secrets = secretsFor(config, undefined)
  if (E.isLeft(secrets)) throw new Refused(secrets.left)
  const { vault } = secrets.right
  let now = instantOf(began)
  const clock = {
    now: () => now,
    sleepUntil: () => Promise.resolve(),
    set: (instant: Instant): void => void (now = instant),
  }
  const ids = randomIds(clock)
  const logger = jsonLogger('silent')
  const { commandHandler, reactor } = commandSide(stores, { clock, logger, monotonic: monotonicClock })

  /**
   * Gives all events that come of it; none where it is refused: an engagement that has ended hears no more outcomes.
   * @throws StoreFailed
   */
  const run = async <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    command: Command,
    because: Pick<EnvelopeFacts, 'cause'> = {},
  ): Promise<ReadonlyArray<RecordedEvent>> => {
    const done = await commandHandler.execute(decider, id, command, { ...because, actor: 'demo', eventId: ids.uuid })
    if (E.isLeft(done)) return noneOrThrow(done.left)
    const { events, isPending } = await reactor.react(done.right.events)
    if (isPending) throw new StoreFailed({ kind: 'unavailable', reason: 'what follows from an event was not written' })
    return events
  }
  return { vault, clock, ids, run, load: commandHandler.load }
}

export type MonthWriter = ReturnType<typeof monthWriter>

/**
 * No events of what the rules refuse.
 * @throws StoreFailed where it was no refusal: then the month would lack something
 */
const noneOrThrow = (left: unknown): ReadonlyArray<RecordedEvent> => {
  const { kind, reason = kind } = left as { readonly kind: string; readonly reason?: string }
  if (kind === 'corrupt' || isTransient({ kind })) throw new StoreFailed({ kind: 'unavailable', reason })
  return []
}
