import type { DomainEvent } from './events.js'

/** The schema version that new events are written with. */
export const schemaVersion = 1

type Upcast = (data: unknown) => unknown

/**
 * For each event type the steps from one stored version to the next: the first one makes version 2 of version 1. A shape
 * that was ever written stays readable for ever, so a step is never removed.
 */
const upcasts: Readonly<Record<string, ReadonlyArray<Upcast>>> = {}

/** A stored event as today's code knows it. */
export const upcast = (type: string, version: number, data: unknown): DomainEvent => {
  const steps = upcasts[type]
  const current = steps === undefined ? data : steps.slice(version - 1).reduce((value, step) => step(value), data)
  return { type, data: current } as DomainEvent
}
