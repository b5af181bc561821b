import type { DomainEvent, RecordedEvent } from '../../../domain/events.js'
import type { NewEvent } from '../../../domain/ports.js'
import { at, uuid } from './samples.js'

const enabled: DomainEvent = { type: 'AccountEnabled', data: {} }

/** An event to append, known by its number. */
export const newEvent = (n: number, event: DomainEvent = enabled): NewEvent => ({
  ...event,
  id: uuid(n),
  time: at(n),
  correlationId: uuid(n),
  causationId: uuid(n),
  schemaVersion: 1,
  actor: 'test',
})

/** So many of them, from the number `first` on. */
export const newEvents = (count: number, first = 1): readonly [NewEvent, ...ReadonlyArray<NewEvent>] => [
  newEvent(first),
  ...Array.from({ length: count - 1 }, (_, index) => newEvent(first + 1 + index)),
]

export const eventIds = (events: ReadonlyArray<Pick<RecordedEvent, 'id'>>): ReadonlyArray<string> =>
  events.map(({ id }) => id)
