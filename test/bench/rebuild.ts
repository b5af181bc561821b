import { performance } from 'node:perf_hooks'
import { neverAborted } from '../../domain/abortable.js'
import { categories } from '../../domain/events.js'
import { beginning } from '../../domain/event.js'
import { readModels } from '../../projections/read-models/registry.js'
import { rebuild } from '../../projections/subscriptions/rebuild.js'
import type { Seeded } from './seed.js'
import { median } from './summary.js'
import { openTools } from './tools.js'

/** Events per second: building all read models, and only reading and parsing the same events. */
export const measureRebuild = async (
  store: Seeded,
  rounds: number,
): Promise<{ readonly ours: number; readonly theirs: number }> => {
  const tools = await openTools(store.directory)
  const ours: Array<number> = []
  const theirs: Array<number> = []
  for (let round = 0; round < rounds; round += 1) {
    let started = performance.now()
    let events = 0
    for await (const batch of tools.store.history(beginning, categories, neverAborted)) events += batch.events.length
    theirs.push(events / ((performance.now() - started) / 1000))
    started = performance.now()
    await rebuild(readModels, { store: tools.store, onDocuments: (work) => work(tools.documents) }, () => undefined)
    ours.push(events / ((performance.now() - started) / 1000))
  }
  await tools.close()
  return { ours: median(ours), theirs: median(theirs) }
}
