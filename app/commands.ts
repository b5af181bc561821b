import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import type { Decider } from '../domain/decider.js'
import type { DomainEvent } from '../domain/domain-event.js'
import { beginning, type Position, type Recorded } from '../domain/event.js'
import type { AnyCommand, Contended, Dispatch, Ids, Outcome, StoreFailure } from '../domain/ports.js'
import { E, type Either } from '../domain/prelude.js'
import type { AnyProjection } from '../projections/projection.js'
import type { Shift } from '../projections/shift.js'
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

/** A read model that answers requests, and the shift that keeps it. */
export type ShownIn = { readonly projection: AnyProjection; readonly shift: Shift }

type CommandPorts = {
  readonly dispatch: Dispatch
  readonly reactor: Reactor
  readonly ids: Ids
  readonly readModels: ReadonlyArray<ShownIn>
  /** Resolves once this process saw the log up to a position, as those beside it will have within moments. */
  readonly seen: (position: Position) => Promise<void>
}

/** In milliseconds. A read model that takes longer is not waited for: what was accepted stands, and a miss asks the stream. */
const longestWait = 1_000

/** In milliseconds: after a wait in vain nobody waits for so long, so that read models that are away slow no lead down. */
const rest = 2_000

export const commands = ({ dispatch, reactor, ids, readModels, seen }: CommandPorts): Commands => {
  let restsUntil = 0

  /** Waits until the read models that these events concern show them, in whichever process they are kept. */
  const shown = async (events: ReadonlyArray<Recorded<DomainEvent>>): Promise<void> => {
    if (performance.now() < restsUntil) return
    const late = new AbortController()
    setMaxListeners(0, late.signal)
    const waits = readModels.flatMap(({ projection, shift }) => {
      const last = events.reduce(
        (most, event) => (event.position > most && projection.keyOf(event) !== undefined ? event.position : most),
        beginning,
      )
      return last === beginning ? [] : [shift.reached(last, late.signal)]
    })
    const newest = events.reduce((most, { position }) => (position > most ? position : most), beginning)
    const isShown = await atMost(longestWait, Promise.all([...waits, seen(newest)]))
    if (!isShown) restsUntil = performance.now() + rest
    late.abort()
  }

  return {
    run: async (decider, id, command, actor) => {
      const outcome = await dispatch.execute(decider, id, command, { actor, eventId: ids.uuid })
      if (E.isRight(outcome)) await shown(await reactor.react(outcome.right.events))
      return outcome
    },
    caughtUpWith: async (event) => {
      await shown(await reactor.react([event]))
    },
  }
}

/** False when the work took longer. */
const atMost = (milliseconds: number, work: Promise<unknown>): Promise<boolean> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds, false)
    work.then(
      () => {
        clearTimeout(timer)
        resolve(true)
      },
      (error: unknown) => {
        clearTimeout(timer)
        reject(error instanceof Error ? error : new Error('a read model failed'))
      },
    )
  })
