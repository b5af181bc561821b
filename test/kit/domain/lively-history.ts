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

/** Appends it to a store that is empty. */
export const writeHistory = async <Store extends EventStore>(store: Store, history: History): Promise<Store> => {
  for (const event of history) {
    rightOf(await store.append(event.stream, event.revision === 0 ? 'no-stream' : event.revision - 1, [event]))
  }
  return store
}
