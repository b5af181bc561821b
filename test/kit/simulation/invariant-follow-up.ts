import { isDeepStrictEqual } from 'node:util'
import { fold, streamOf, type Decider } from '../../../domain/decider.js'
import type { DomainEvent } from '../../../domain/events.js'
import { E } from '../../../domain/prelude.js'
import { reactions } from '../../../domain/reactions.js'
import { project } from '../project.js'
import { grouped } from './grouped.js'
import type { History } from './simulation.js'
import { shownIn } from './virtual-process.js'

/** A decider and a command that belong together, whichever they are. */
type AnyIntent = {
  readonly decider: Decider<unknown, { readonly type: string }, DomainEvent, { readonly kind: string }>
  readonly id: string
  readonly command: { readonly type: string }
}

/** What follows from the log stands in it, and is shown. */
export const followUpBreaches = (history: History): ReadonlyArray<string> => [
  ...unfinished(history),
  ...misshown(history),
]

/** What follows from each event in other streams is so already, or can't be any more since a webhook was removed. */
const unfinished = ({ events }: History): ReadonlyArray<string> => {
  const streams = grouped(events, ({ stream }) => stream)
  return events.flatMap((event) =>
    reactions(event, event.time).flatMap((intent) => {
      const { decider, id, command } = intent as unknown as AnyIntent
      const state = fold(decider, decider.initial, streams.get(streamOf(decider, id)) ?? [])
      const decided = decider.decide(command, state)
      const isSo = E.isRight(decided) ? decided.right.length === 0 : decided.left.kind === 'webhook-not-found'
      return isSo ? [] : [`${command.type} did not follow from ${event.type} at ${event.position}`]
    }),
  )
}

/** The read models show what the whole log leaves. */
const misshown = ({ events, shown }: History): ReadonlyArray<string> =>
  shownIn
    .filter((projection) => !isDeepStrictEqual(shown.get(projection.name), project(projection, events)))
    .map(({ name }) => `${name} does not show what is in the log`)
