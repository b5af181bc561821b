import type { Position } from '../../domain/event.js'
import type { RecordedEvent } from '../../domain/events.js'
import { endsCall } from '../../domain/scheduled-call.js'
import { contactShards } from '../read-models/contact-shards.js'
import type { LeasedFollower } from '../subscriptions/leased-follower.js'

/** What the follow-up worker learns from the log. */
type Arrivals = {
  readonly learn: (events: ReadonlyArray<RecordedEvent>) => void
  readonly stop: () => void
}

/** Wakes the shards of what came over the log, once the read models show it. */
export const arrivalsOf = (
  readModels: ReadonlyArray<Pick<LeasedFollower, 'caughtUpTo'>>,
  { wake, all }: { readonly wake: (shard: string) => void; readonly all: () => Iterable<string> },
): Arrivals => {
  const stopping = new AbortController()
  let arrived = new Set<string>()
  let newest: Position | undefined
  let isWaking = false

  const wakeAll = async (): Promise<void> => {
    isWaking = true
    while (newest !== undefined && !stopping.signal.aborted) {
      const names = arrived
      const position = newest
      arrived = new Set()
      newest = undefined
      await Promise.all(readModels.map(({ caughtUpTo }) => caughtUpTo(position, stopping.signal)))
      for (const name of names) wake(name)
    }
    isWaking = false
  }
  return {
    learn: (events) => {
      for (const event of events) {
        for (const shard of shardsOf(event, all)) {
          arrived.add(shard)
          newest = event.position
        }
      }
      if (!isWaking) void wakeAll()
    },
    stop: () => stopping.abort(),
  }
}

const none: ReadonlyArray<string> = []

/** Where something becomes due by the event. */
const shardsOf = (event: RecordedEvent, all: () => Iterable<string>): Iterable<string> => {
  switch (event.type) {
    case 'ActivityRecorded':
      return endsCall(event.data.activity.label) ? [contactShards.of(event.data.activity.contact_id)] : none
    case 'EngagementStarted':
      return event.data.follow_up === undefined ? none : [contactShards.of(event.data.contact_id)]
    case 'EngagementResumed':
      // It does not say whose it is.
      return all()
    case 'MessageRequested':
    case 'MessageAttemptFailed':
    case 'MessageErased':
    case 'MessageCopyFound':
      return [contactShards.of(event.data.contact_id)]
    default:
      return none
  }
}
