import type { DomainEvent, RecordedEvent } from '../../../domain/events.js'
import { at, positionAt, uuid } from './samples.js'

/** Events as a store gives them back: positions from 1 on, each event a second after the one before. */
export const logOf = (
  ...appended: ReadonlyArray<readonly [stream: string, event: DomainEvent]>
): ReadonlyArray<RecordedEvent> => {
  const revisions = new Map<string, number>()
  return appended.map(([stream, event], index) => {
    const revision = (revisions.get(stream) ?? -1) + 1
    revisions.set(stream, revision)
    const id = uuid(index + 1)
    return {
      ...event,
      id,
      time: at((index + 1) * 1000),
      correlationId: id,
      causationId: id,
      schemaVersion: 1,
      actor: 'test',
      stream,
      revision,
      position: positionAt(index + 1),
    }
  })
}
