import { setMaxListeners } from 'node:events'
import { performance } from 'node:perf_hooks'
import { streamOf, type Decider } from '../../domain/decider.js'
import type { DomainEvent } from '../../domain/events.js'
import { beginning, type Position, type Recorded } from '../../domain/event.js'
import type { AnyCommand, Contended, Dispatch, EventStore, Ids, Outcome, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import type { AnyProjection } from '../../projections/projection.js'
import type { LeasedFollower } from '../../projections/subscriptions/leased-follower.js'
import type { Reactor } from './reactor.js'

/**
 * Executes the commands of clients so that their next request sees the result (design, section 3), also where it was so
 * already: somebody else may have seen to it a moment ago.
 */
export type Commands = {
  readonly run: <State, Command extends AnyCommand, Event extends DomainEvent, Refusal>(
    decider: Decider<State, Command, Event, Refusal>,
    id: string,
    command: Command,
    actor: string,
  ) => Promise<Either<Refusal | StoreFailure | Contended, Outcome<State>>>
}

/** A read model that answers requests, and the follower that keeps it. */
export type ShownIn = { readonly projection: AnyProjection; readonly follower: LeasedFollower }

type CommandPorts = {
  readonly store: EventStore
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

export const commands = ({ store, dispatch, reactor, ids, readModels, seen }: CommandPorts): Commands => {
  let restsUntil = 0

  /** Waits until the read models that these events concern show them, in whichever process they are kept. */
  const shown = async (events: ReadonlyArray<Recorded<DomainEvent>>): Promise<void> => {
    if (performance.now() < restsUntil) return
    const late = new AbortController()
    setMaxListeners(0, late.signal)
    const waits = readModels.flatMap(({ projection, follower }) => {
      const last = events.reduce(
        (most, event) => (event.position > most && projection.keyOf(event) !== undefined ? event.position : most),
        beginning,
      )
      return last === beginning ? [] : [follower.reached(last, late.signal)]
    })
    const newest = events.reduce((most, { position }) => (position > most ? position : most), beginning)
    const isShown = await atMost(longestWait, Promise.all([...waits, seen(newest)]))
    if (!isShown) restsUntil = performance.now() + rest
    late.abort()
  }

  /** What there is instead of what nobody had to write; a store that fails leaves nothing to wait for. */
  const standing = async (stream: string): Promise<ReadonlyArray<Recorded<DomainEvent>>> => {
    const read = await store.read(stream)
    return E.isRight(read) ? read.right.events : []
  }

  return {
    run: async (decider, id, command, actor) => {
      const outcome = await dispatch.execute(decider, id, command, { actor, eventId: ids.uuid })
      if (E.isLeft(outcome)) return outcome
      const { events } = outcome.right
      await shown(await reactor.react(events.length > 0 ? events : await standing(streamOf(decider, id))))
      return outcome
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
