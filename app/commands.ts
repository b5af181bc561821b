import type { Decider } from '../domain/decider.js'
import type { DomainEvent } from '../domain/domain-event.js'
import type { Position, Recorded } from '../domain/event.js'
import type { AnyCommand, Contended, Dispatch, EventStore, Ids, Outcome, StoreFailure } from '../domain/ports.js'
import { E, type Either } from '../domain/prelude.js'
import type { Following } from '../projections/follower.js'
import type { Reactor } from './reactor.js'

/** Executes the commands of clients so that their next request sees the result (design, section 3). */
export type Commands = {
  readonly run: <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    command: Command,
    actor: string,
  ) => Promise<Either<Refusal | StoreFailure | Contended, Outcome<State>>>
  /** Waits until what follows from an event that was written before can be read. */
  readonly caughtUpWith: (event: Recorded<DomainEvent>) => Promise<void>
}

type CommandPorts = {
  readonly dispatch: Dispatch
  readonly reactor: Reactor
  readonly store: EventStore
  readonly ids: Ids
  /** The read models that answer requests. */
  readonly readModels: ReadonlyArray<Following>
}

/** A read model that takes longer is not waited for: what was accepted stands, and a miss asks the stream. */
const longestWait = 1_000

export const commands = ({ dispatch, reactor, store, ids, readModels }: CommandPorts): Commands => {
  const projected = (position: Position): Promise<void> =>
    atMost(longestWait, Promise.all(readModels.map((readModel) => readModel.reached(position))))

  return {
    run: async (decider, id, command, actor) => {
      const outcome = await dispatch.execute(decider, id, command, { actor, eventId: ids.uuid })
      if (E.isRight(outcome)) await projected(await reactor.react(outcome.right.events))
      return outcome
    },
    caughtUpWith: async (event) => {
      await reactor.react([event])
      const head = await store.head()
      if (E.isRight(head)) await projected(head.right)
    },
  }
}

const atMost = (milliseconds: number, work: Promise<unknown>): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds)
    work.then(
      () => {
        clearTimeout(timer)
        resolve()
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error instanceof Error ? error : new Error('a read model failed'))
      },
    )
  })
