import type { t } from './codec.js'
import type { Either } from './prelude.js'

/**
 * How a state is saved beside the log, so that a long stream need not be read whole. Whatever changes what `evolve`
 * makes of the same events raises `version`.
 */
export type SnapshotFormat<State> = { readonly version: number; readonly codec: t.Type<State, unknown> }

/**
 * A rule book for one kind of stream. `decide` answers a command with the events to append (`[]` means "already so") or
 * a refusal; `evolve` folds one event into the state, is total and never mutates.
 */
export type Decider<State, Command extends { readonly type: string }, Event, Refusal> = {
  /** The category of its streams: a stream is called `category-id`. */
  readonly category: string
  readonly initial: State
  readonly evolve: (state: State, event: Event) => State
  /** Where its streams may grow long. */
  readonly snapshot?: SnapshotFormat<State>
  readonly decide: (command: Command, state: State) => Either<Refusal, ReadonlyArray<Event>>
}

/** The state after `events`, in order, from `state` on. */
export const fold = <State, Event>(
  decider: { readonly evolve: (state: State, event: Event) => State },
  state: State,
  events: ReadonlyArray<Event>,
): State => events.reduce(decider.evolve, state)
