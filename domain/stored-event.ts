import { decode } from './codec.js'
import { codecOf, type DomainEvent } from './events.js'
import type { StoreFailure } from './ports.js'
import { E, type Either } from './prelude.js'

/** The schema version that new events are written with. */
export const schemaVersion = 1

type Upcast = (data: unknown) => unknown

/**
 * For each event type the steps from one stored version to the next: the first one makes version 2 of version 1. A
 * shape that was ever written stays readable for ever, so a step is never removed.
 */
const upcasts: Readonly<Record<string, ReadonlyArray<Upcast>>> = {}

const corrupt = (reason: string): Either<StoreFailure, never> => E.left({ kind: 'corrupt', reason })

/**
 * A stored event as today's code knows it. Left where its type or version is not known, or where its data does not
 * decode: the reason names the fields and holds none of their values.
 */
export const decodeStoredEvent = (type: string, version: number, data: unknown): Either<StoreFailure, DomainEvent> => {
  const codec = codecOf(type)
  if (codec === undefined) return corrupt(`an event has the type ${type}, which this version does not know`)
  if (!(Number.isInteger(version) && version >= 1 && version <= schemaVersion)) {
    return corrupt(`${type} has a schema version that this version does not know`)
  }
  const steps = upcasts[type]
  const current = steps === undefined ? data : steps.slice(version - 1).reduce((value, step) => step(value), data)
  const event = { type, data: current }
  // No codec of an event changes what it lets through, and to check takes half as long and no memory.
  if (codec.is(event)) return E.right(event)
  const decoded = decode(codec, event)
  if (E.isRight(decoded)) return decoded
  const mismatches = decoded.left.map(({ path, expected }) => `${path} must be ${expected}`)
  return corrupt(`${type} can't be decoded: ${mismatches.join(', ')}`)
}
