import { performance } from 'node:perf_hooks'
import { sleep } from '../kit/time/until.js'
import { type Child } from './child.js'

/** Milliseconds after which what is due is stuck. */
const longestWait = 120_000

type Arrival = readonly [email: string, at: number]

/** What came since it was asked the last time. */
export const arrivalsAt = async (receiver: Child): Promise<ReadonlyArray<Arrival>> =>
  (await (await fetch(receiver.url)).json()) as ReadonlyArray<Arrival>

/** Waits for so many; gives them in the order in which they came. */
export const arrivals = async (receiver: Child, count: number): Promise<ReadonlyArray<Arrival>> => {
  const late = performance.now() + longestWait
  const all: Array<Arrival> = []
  while (all.length < count) {
    if (performance.now() > late) throw new Error(`only ${all.length} of ${count} posts came`)
    await sleep(200)
    all.push(...(await arrivalsAt(receiver)))
  }
  return all
}
