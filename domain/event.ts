import { t } from './codec.js'
import type { Instant } from './instant.js'

/** The codec of one stored event type; its golden file never changes. */
export const eventOf = <T extends string, D extends t.Mixed>(type: T, data: D) =>
  t.type({ type: t.literal(type), data }, type)

/**
 * Where an event stands in the whole log. A difference of two measures lag and is no number of events. It is a whole
 * number from 0 on that every store holds exactly: SQLite as a number of JavaScript, BSON as a Long. Before the first
 * event: `beginning`.
 */
export type Position = bigint & { readonly Position: unique symbol }

export const beginning = 0n as Position

const largest = BigInt(Number.MAX_SAFE_INTEGER)

export const isPosition = (value: bigint): value is Position => value >= beginning && value <= largest

/**
 * A number from outside as a position. One that is none tells nothing, so it is `beginning`: EventStoreDB 24.10 gives
 * 18446744073709551615 for the place of no event, which MongoDB once stored as -1.
 */
export const positionOf = (value: bigint): Position => (isPosition(value) ? value : beginning)

/** The one that stands last in the log. */
export const furthest = (first: Position, ...others: ReadonlyArray<Position>): Position =>
  others.reduce((last, one) => (one > last ? one : last), first)

/** The revision of a stream's last event, from 0 on. */
export type Revision = number | 'no-stream'

/** The revision as a number: the first event of a stream, at 0, comes after -1. */
export const revisionNumber = (revision: Revision): number => (revision === 'no-stream' ? -1 : revision)

/** What surrounds an event: decided when it is appended, the same in every store. */
export type Envelope = {
  /** A UUID: random, or version 5 where a reaction writes the event. */
  readonly id: string
  readonly time: Instant
  /** The id of the first event of the chain that this one belongs to. */
  readonly correlationId: string
  /** The id of the event that caused this one; its own id at the start of a chain. */
  readonly causationId: string
  readonly schemaVersion: number
  /** Who caused it: the glossary names them. */
  readonly actor: string
}

/** Whether nothing brought the event about but a request. */
export const beginsChain = ({ id, causationId }: Pick<Envelope, 'id' | 'causationId'>): boolean => causationId === id

export type Recorded<Event> = Event &
  Envelope & { readonly stream: string; readonly revision: number; readonly position: Position }

/**
 * Written out field by field, as all that is made for every event: V8 gives an object that begins with a spread and
 * gains fields a hidden class of its own, each time, which takes several times as long and slows down whoever reads it.
 */
export const recordedAs = <Event extends { readonly type: string; readonly data: unknown }>(
  event: Event & Envelope,
  stream: string,
  revision: number,
  position: Position,
): Recorded<Event> => {
  const { type, data, id, time, correlationId, causationId, schemaVersion, actor } = event
  const recorded = {
    type,
    data,
    id,
    time,
    correlationId,
    causationId,
    schemaVersion,
    actor,
    stream,
    revision,
    position,
  }
  return recorded as unknown as Recorded<Event>
}
