import { grouped } from '../simulation/grouped.js'
import type { Month } from './month.js'

/** The provider takes no message twice, and nothing was parked. */
export const onceBreaches = ({ arrivals, events }: Month): ReadonlyArray<string> => {
  const unknown = new Set(
    events.flatMap((event) =>
      event.type === 'MessageFailed' && event.data.kind === 'unknown' ? [event.data.message_id] : [],
    ),
  )
  const taken = grouped(
    arrivals.filter((arrival) => arrival.taken && !unknown.has(arrival.id)),
    ({ id }) => id,
  )
  const parked = events.filter(({ stream }) => stream.startsWith('parked-'))
  return [
    ...[...taken].flatMap(([id, all]) => (all.length > 1 ? [`${id} was taken ${all.length} times`] : [])),
    ...parked.map((event) => `something was parked: ${JSON.stringify(event.data)}`),
  ]
}
