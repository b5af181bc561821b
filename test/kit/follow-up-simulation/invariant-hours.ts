import { accountNumber } from './accounts.js'
import type { Month } from './month.js'
import type { Person } from './people.js'
import { localTime } from './places.js'
import type { Arrival } from './provider.js'
import { grouped } from '../simulation/grouped.js'

const day = 24 * 60 * 60_000

/**
 * Steps and members' messages go out on days and at hours that playbook and states allow, and not more than a state
 * allows.
 */
export const hoursBreaches = (month: Month): ReadonlyArray<string> => {
  const { arrivals, people } = month
  const byNumber = new Map([...people.values()].map((person) => [person.phone as string, person]))
  const answers = answersIn(month)
  return [...grouped(arrivals, ({ to }) => to)].flatMap(([to, own]) => {
    const person = byNumber.get(to)
    if (person === undefined) return [`nobody has the number of ${own.length} messages`]
    return own
      .filter(({ id }) => !answers.has(id))
      .flatMap((arrival) => [...asleep(person, arrival), ...tooMany(person, arrival, own)])
  })
}

/** Opt-outs that are confirmed and HELP that is answered, whatever the hour. */
const answersIn = ({ events }: Month): ReadonlySet<string> =>
  new Set(
    events.flatMap((event) =>
      event.type === 'MessageRequested' && event.data.purpose !== 'member' ? [event.data.message_id] : [],
    ),
  )

const asleep = ({ place, account }: Person, { id, time }: Arrival): ReadonlyArray<string> => {
  const { awake, settings } = accountNumber(account)
  const days: ReadonlyArray<string> = settings.days
  return place.zones.flatMap((zone) => {
    const local = localTime(zone, time)
    const limits = place.rules.map((rule) =>
      local.day === 'saturday' || local.day === 'sunday' ? rule[local.day] : rule.weekdays,
    )
    const isFine =
      days.includes(local.day) &&
      [awake, ...limits].every((limit) => limit !== null && local.hour >= limit[0] && local.hour < limit[1])
    return isFine ? [] : [`${id} came at ${local.hour.toFixed(2)} on a ${local.day} in ${zone}`]
  })
}

/** `own`: in the order in which they came. */
const tooMany = ({ place }: Person, arrival: Arrival, own: ReadonlyArray<Arrival>): ReadonlyArray<string> => {
  const { id, time } = arrival
  const earlier = own.slice(0, own.indexOf(arrival))
  const before = earlier.filter((one) => one.taken && one.id !== id && one.time > time - day)
  const count = new Set(before.map((one) => one.id)).size
  return count >= place.mostInDay ? [`${id} came after ${count} others within a day`] : []
}
