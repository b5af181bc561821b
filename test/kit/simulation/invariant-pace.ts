import { grouped } from './grouped.js'
import type { Arrival } from './receivers.js'
import type { History } from './simulation.js'
import { slackIn } from './told.js'

/** Requests that may be open to one webhook. */
const mostOpen = 8

/** Never too many requests are open to one webhook, and fewer after failures: each halves them, each success adds one. */
export const paceBreaches = (history: History): ReadonlyArray<string> => {
  const slack = slackIn(history)
  const lanes = grouped(history.arrivals, ({ life, webhookId }) => `life ${life}, ${webhookId}`)
  return [...lanes].flatMap(([lane, arrivals]) => {
    const paces = pacesAfter(arrivals)
    return arrivals.flatMap(({ time, open }) => {
      const last = paces.findLastIndex((pace) => pace.time < time - slack)
      const allowed = paces.slice(Math.max(last, 0)).filter((pace) => pace.time <= time)
      const most = Math.max(...allowed.map((pace) => pace.allowed))
      return open > most ? [`${lane}: ${open} were open at ${time}, and ${most} allowed`] : []
    })
  })
}

type Pace = { readonly time: number; readonly allowed: number }

/** How many were allowed from which time on. */
const pacesAfter = (arrivals: ReadonlyArray<Arrival>): ReadonlyArray<Pace> => {
  const paces: Array<Pace> = [{ time: 0, allowed: mostOpen }]
  let allowed = mostOpen
  for (const { time, takes, delivered } of arrivals.toSorted((a, b) => a.time + a.takes - b.time - b.takes)) {
    allowed = delivered ? Math.min(allowed + 1, mostOpen) : Math.max(Math.floor(allowed / 2), 1)
    paces.push({ time: time + takes, allowed })
  }
  return paces
}
