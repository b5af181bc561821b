import { fold } from './decider.js'
import type { Recorded, Revision } from './event.js'
import type { DomainEvent } from './events.js'

/** What the events that it causes refer to: its id, and its chain. */
export type CausingEvent = Pick<Recorded<unknown>, 'id' | 'correlationId'>

/** A stream as its decider sees it. */
export type Aggregate<State> = {
  readonly state: State
  readonly revision: Revision
  /** The last event of the stream; undefined where there is none. */
  readonly last: CausingEvent | undefined
}

/** A stream that has no event yet. */
export const newAggregate = <State>({ initial }: { readonly initial: State }): Aggregate<State> => ({
  state: initial,
  revision: 'no-stream',
  last: undefined,
})

/**
 * The state after these events of one stream, in order, `from` being the state before them. A stream holds the events
 * of its own decider.
 */
export const foldStream = <State>(
  decider: { readonly initial: State; readonly evolve: (state: State, event: never) => State },
  events: ReadonlyArray<DomainEvent>,
  from: State = decider.initial,
): State => fold(decider, from, events as ReadonlyArray<never>)
