import { grouped } from './grouped.js'
import type { Arrival } from './receivers.js'
import type { History } from './simulation.js'
import { slackIn } from './delivery-record.js'

/** Requests that may be open to one webhook at most. */
const mostOpen = 8

/**
 * Never more requests are open to a webhook than its limit allows: each failure halves the limit, each success adds
 * one.
 */
export const concurrencyBreaches = (history: History): ReadonlyArray<string> => {
  const slack = slackIn(history)
  const queues = grouped(history.arrivals, ({ life, webhookId }) => `life ${life}, ${webhookId}`)
  return [...queues].flatMap(([queue, arrivals]) => {
    const limits = limitsAfter(arrivals)
    return arrivals.flatMap(({ time, open }) => {
      const last = limits.findLastIndex((limit) => limit.time < time - slack)
      const allowed = limits.slice(Math.max(last, 0)).filter((limit) => limit.time <= time)
      const most = Math.max(...allowed.map((limit) => limit.allowed))
      return open > most ? [`${queue}: ${open} were open at ${time}, and ${most} allowed`] : []
    })
  })
}

type Limit = { readonly time: number; readonly allowed: number }

/** How many requests were allowed from which time on. */
const limitsAfter = (arrivals: ReadonlyArray<Arrival>): ReadonlyArray<Limit> => {
  const limits: Array<Limit> = [{ time: 0, allowed: mostOpen }]
  let allowed = mostOpen
  for (const { time, takes, delivered } of arrivals.toSorted((a, b) => a.time + a.takes - b.time - b.takes)) {
    allowed = delivered ? Math.min(allowed + 1, mostOpen) : Math.max(Math.floor(allowed / 2), 1)
    limits.push({ time: time + takes, allowed })
  }
  return limits
}
