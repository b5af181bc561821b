import { EventStoreDBClient } from '@eventstore/db-client'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { categories } from '../../domain/events.js'
import { until } from '../kit/time/until.js'
import { isCaughtUp } from '../kit/service/readiness.js'
import { seed, startMeasured } from './seed.js'
import { bareSubscription, eventStoreServer } from './servers.js'
import { median } from './summary.js'

const longestStart = 600_000

/**
 * Events per second of a log on EventStoreDB: from the start of a process with empty documents, which are embedded,
 * until nothing lags, and by `for await` over the driver's subscription alone.
 */
export const measureServerRebuild = async (
  rounds: number,
  leads: number,
): Promise<{ readonly events: number; readonly ours: number; readonly theirs: number }> => {
  const server = await eventStoreServer()
  const urls = { eventStoreUrl: server.url, mongoUrl: undefined }
  const { directory, events } = await seed(leads, urls)
  const started = async (): Promise<number> => {
    const begun = performance.now()
    const service = await startMeasured(directory, urls)
    await until('nothing lags', longestStart, () => isCaughtUp(service))
    const seconds = (performance.now() - begun) / 1000
    await service.stop()
    return events / seconds
  }
  // What was seeded has been worked through then, and the process managers have saved that.
  await started()
  const client = EventStoreDBClient.connectionString(server.url)
  const ours: Array<number> = []
  const theirs: Array<number> = []
  for (let round = 0; round < rounds; round += 1) {
    const begun = performance.now()
    await bareSubscription(client, categories, events)
    theirs.push((events * 1000) / (performance.now() - begun))
    for (const name of await readdir(directory)) if (name.startsWith('leadloop.db')) await rm(join(directory, name))
    ours.push(await started())
  }
  await client.dispose()
  await server.stop()
  return { events, ours: median(ours), theirs: median(theirs) }
}
