import { NaturalNumber, t } from './codec.js'

const Milliseconds = t.union([t.number, t.null])

/** When each step of an attempt was done, from its start on; null where it was not needed or not reached. */
const AttemptTimes = t.type({
  dns: Milliseconds,
  connect: Milliseconds,
  tls: Milliseconds,
  first_byte: Milliseconds,
  total: t.number,
})

/**
 * How one attempt ended; `status` is null where no response came. Times in milliseconds. `excerpt` is how the
 * response's body began; it may hold what was posted. `webhook_version` counts the events of the webhook's stream that
 * the attempt went by.
 */
export const AttemptOutcome = t.intersection(
  [
    t.type({ attempt: t.number, status: t.union([t.number, t.null]), reason: t.string, duration_ms: t.number }),
    t.partial({ times: AttemptTimes, excerpt: t.string, webhook_version: NaturalNumber }),
  ],
  'AttemptOutcome',
)
export type AttemptOutcome = t.TypeOf<typeof AttemptOutcome>

/** Whether the receiver may have got what was posted: whatever it answered, or nothing, once it could be reached. */
export const mayHaveReceived = ({ status, times }: AttemptOutcome): boolean =>
  status !== null || times === undefined || times.connect !== null
