import type { ExecutionContext } from 'ava'
import { fold, type Decider } from '../../../domain/decider.js'
import { E, type Either } from '../../../domain/prelude.js'

type Then<Event, Refusal extends { readonly kind: string }> = {
  readonly then: (...events: ReadonlyArray<Event>) => void
  readonly refuses: (kind: Refusal['kind']) => void
  readonly isAlreadySo: () => void
}

type When<Command, Event, Refusal extends { readonly kind: string }> = {
  readonly when: (command: Command) => Then<Event, Refusal>
}

/** `given(t, decider, ...events).when(command).then(...events)`: what a decider answers once `events` have happened. */
export const given = <
  State,
  Command extends { readonly type: string },
  Event,
  Refusal extends { readonly kind: string },
>(
  t: ExecutionContext,
  decider: Decider<State, Command, Event, Refusal>,
  ...events: ReadonlyArray<NoInfer<Event>>
): When<Command, Event, Refusal> => ({
  when: (command) => {
    const state = fold(decider, decider.initial, events)
    const decided: Either<{ readonly kind: string }, ReadonlyArray<Event>> = decider.decide(command, state)
    return {
      then: (...expected) => t.deepEqual(decided, E.right(expected)),
      refuses: (kind) => t.deepEqual(decided, E.left({ kind })),
      isAlreadySo: () => t.deepEqual(decided, E.right([])),
    }
  },
})
