import type { Position } from '../../../domain/event.js'
import type { MessageId } from '../../../domain/ids.js'
import { instantOf } from '../../../domain/instant.js'
import type { Messenger, MessengerOutcome } from '../../../domain/messenger.js'
import type { Life } from '../simulation/life.js'
import type { Random } from '../load/random.js'
import type { ManualClock } from '../time/manual-clock.js'

/** A message as it came to the provider. */
export type Arrival = {
  readonly id: MessageId
  readonly to: string
  readonly text: string
  /** Milliseconds since 1970. */
  readonly time: number
  /** The head of the log. */
  readonly head: Position
  /** Whether the provider took it, whatever it said. */
  readonly taken: boolean
  /** The number of the life that handed it over. */
  readonly by: number
}

type ProviderPorts = {
  readonly random: Random
  readonly clock: ManualClock
  readonly head: () => Position
  readonly taken: (arrival: Arrival) => void
  /** It could not take it, and may be asked again. */
  readonly failed: (arrival: Arrival) => void
}

/**
 * Sends texts for whoever asks, and fails, refuses and forgets to answer. What it took stays, whatever becomes of the
 * process that sent it.
 */
export const openProvider = ({ random, clock, head, taken, failed }: ProviderPorts) => {
  const arrivals: Array<Arrival> = []
  const kept = new Set<string>()

  const outcome = (): MessengerOutcome | 'lost' | 'swallowed' => {
    const drawn = random()
    if (drawn < 0.8) return { kind: 'accepted', providerId: `SM${arrivals.length}` }
    if (drawn < 0.88) {
      const retryAt = drawn < 0.84 ? undefined : instantOf(clock.time() + Math.floor(random() * 3_600_000))
      return { kind: 'failed', reason: 'HTTP 503', retryAt }
    }
    if (drawn < 0.91) return 'lost'
    if (drawn < 0.94) return 'swallowed'
    if (drawn < 0.95) return { kind: 'sender-blocked', reason: '30007' }
    if (drawn < 0.96) return { kind: 'refused', reason: '21617' }
    if (drawn < 0.97) return { kind: 'opted-out', reason: '21610' }
    return { kind: 'undeliverable', reason: '30005' }
  }

  return {
    arrivals,
    messenger: (life: Life): Messenger => ({
      send: ({ id, to, text }) =>
        life.serve(async () => {
          const drawn = outcome()
          const isTaken = drawn === 'lost' || (typeof drawn === 'object' && drawn.kind === 'accepted')
          const arrival = { id, to, text, time: clock.time(), head: head(), taken: isTaken, by: life.number }
          arrivals.push(arrival)
          if (isTaken) {
            kept.add(id)
            taken(arrival)
          } else if (typeof drawn === 'object' && drawn.kind === 'failed') failed(arrival)
          await clock.sleep(random() < 0.9 ? 0 : Math.ceil(random() * 3_000))
          return typeof drawn === 'string' ? { kind: 'unknown', reason: 'no answer' } : drawn
        }),
      settle: ({ id }) =>
        life.serve((): ReturnType<Messenger['settle']> => {
          if (random() < 0.2) return Promise.resolve({ kind: 'unknown' })
          return Promise.resolve(kept.has(id) ? { kind: 'accepted', providerId: `SM-${id}` } : { kind: 'absent' })
        }),
      eraseCopy: () => life.serve((): ReturnType<Messenger['eraseCopy']> => Promise.resolve({ kind: 'erased' })),
    }),
  }
}
