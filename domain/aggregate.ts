import type { Recorded, Revision } from './event.js'

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
