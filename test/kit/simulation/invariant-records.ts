import { codecOf, type RecordedEvent } from '../../../domain/events.js'
import { unknownFields } from '../domain/unknown-fields.js'
import { grouped } from './grouped.js'

/** Each event has an id of its own, and the fields that its codec names and no others. */
export const recordBreaches = ({
  events,
}: {
  readonly events: ReadonlyArray<RecordedEvent>
}): ReadonlyArray<string> => [
  ...[...grouped(events, ({ id }) => id)].flatMap(([id, all]) =>
    all.length > 1 ? [`${all.map(({ type }) => type).join(' and ')} have one id, ${id}`] : [],
  ),
  ...events.flatMap(({ type, data }) => {
    const codec = codecOf(type)
    return codec === undefined ? [] : unknownFields(codec, { type, data }).map((field) => `${type} has ${field}`)
  }),
]
