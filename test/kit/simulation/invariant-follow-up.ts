import { isDeepStrictEqual } from 'node:util'
import { fold, type Decider } from '../../../domain/decider.js'
import type { DomainEvent } from '../../../domain/events.js'
import { E } from '../../../domain/prelude.js'
import { reactions } from '../../../domain/reactions.js'
import { streamOf } from '../../../domain/stream-name.js'
import { project } from '../parts/project.js'
import { grouped } from './grouped.js'
import type { History } from './simulation.js'
import { simulatedReadModels } from './virtual-process.js'

/** Any decider, with a command of its own. */
type AnyIntent = {
  readonly decider: Decider<unknown, { readonly type: string }, DomainEvent, { readonly kind: string }>
  readonly id: string
  readonly command: { readonly type: string }
}

/** The reactions to all events are in the log, and the read models show it. */
export const followUpBreaches = (history: History): ReadonlyArray<string> => [
  ...unfinished(history),
  ...misshown(history),
]

/** Each reaction to an event has taken place, unless a webhook was removed before. */
const unfinished = ({ events }: History): ReadonlyArray<string> => {
  const streams = grouped(events, ({ stream }) => stream)
  return events.flatMap((event) =>
    reactions(event).flatMap((intent) => {
      const { decider, id, command } = intent as unknown as AnyIntent
      const state = fold(decider, decider.initial, streams.get(streamOf(decider, id)) ?? [])
      const decided = decider.decide(command, state)
      const isSo = E.isRight(decided) ? decided.right.length === 0 : decided.left.kind === 'webhook-not-found'
      return isSo ? [] : [`${command.type} did not follow from ${event.type} at ${event.position}`]
    }),
  )
}

/** The read models are what a rebuild from the whole log would make. */
const misshown = ({ events, readModels }: History): ReadonlyArray<string> =>
  simulatedReadModels
    .filter((projection) => !isDeepStrictEqual(readModels.get(projection.name), project(projection, events)))
    .map(({ name }) => `${name} does not show what is in the log`)
