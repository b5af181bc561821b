import fc from 'fast-check'
import type { EventStore } from '../../../domain/ports.js'
import { rightOf } from '../right-of.js'
import { histories, type History } from './histories.js'

/** A history in which two accounts at least have leads; always the same. */
export const livelyHistory = (): History => {
  const accounts = (history: History): number =>
    new Set(history.flatMap((event) => (event.type === 'LeadSubmitted' ? [event.data.account_id] : []))).size
  const [history = []] = fc.sample(
    histories.filter((one) => accounts(one) > 1),
    { numRuns: 1, seed: 7 },
  )
  return history
}

type Run = [History[number], ...Array<History[number]>]

/** Appends it to a store that is empty: at once what follows one upon the other in a stream. */
export const writeHistory = async <Store extends EventStore>(store: Store, history: History): Promise<Store> => {
  const runs: Array<Run> = []
  for (const event of history) {
    const run = runs.at(-1)
    if (run?.[0].stream === event.stream) run.push(event)
    else runs.push([event])
  }
  for (const run of runs) {
    const [{ stream, revision }] = run
    rightOf(await store.append(stream, revision === 0 ? 'no-stream' : revision - 1, run))
  }
  return store
}
