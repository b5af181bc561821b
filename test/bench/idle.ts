import { rmSync } from 'node:fs'
import { delivery } from '../../domain/delivery.js'
import type { WebhookId } from '../../domain/ids.js'
import { later } from '../../domain/instant.js'
import { addWebhook, caughtUp, makeDue, seed, startMeasured } from './seed.js'
import { forEach, openTools, orFail } from './tools.js'
import { collectionOf } from '../../projections/projection.js'
import { readModels } from '../../projections/read-models/registry.js'
import { sleep } from '../kit/time/until.js'

/**
 * Resident memory in MB, after a start that had to build its read models and after one that found them, and the share
 * of a core.
 */
type Idle = { readonly memoryAtFirst: number; readonly memory: number; readonly share: number }

const webhooks = 1_000

/** Milliseconds that a start which has nothing to build may take to come to rest. */
const settling = 10_000

const hour = 60 * 60 * 1_000

/** A service that only waits for retries: the first comes in an hour, the last in a day. */
export const measureIdle = async (retries: number, seconds: number): Promise<Idle> => {
  const { directory, accountId } = await seed(0)
  try {
    const tools = await openTools(directory)
    const ids: Array<WebhookId> = []
    for (let n = 0; n < webhooks; n += 1) ids.push(await addWebhook(tools, accountId, 'http://127.0.0.1:9/', 'dormant'))
    const outcome = { attempt: 1, status: 500, reason: 'status 500', duration_ms: 3 }
    const now = tools.clock.now()
    await forEach(retries, async (n) => {
      const who = { contact_id: `nct_${tools.ids.ulid()}`, engagement_id: `neg_${tools.ids.ulid()}` } as const
      const webhookId = ids[n % ids.length]
      if (webhookId === undefined) return
      const id = await makeDue(tools, accountId, webhookId, who)
      const nextAttemptAt = later(now, hour + (23 * hour * n) / retries)
      await tools.run(delivery, id, { type: 'RecordAttempt', delivered: false, outcome, nextAttemptAt })
    })
    // Built anew at the start, they are there sooner than if they followed what was written beside them.
    for (const projection of readModels) orFail(await tools.documents.drop(collectionOf(projection)))
    await tools.close()

    const first = await startMeasured(directory)
    await caughtUp(first)
    const memoryAtFirst = first.memory()
    await first.stop()

    const service = await startMeasured(directory)
    await sleep(settling)
    const before = service.cpu()
    await sleep(seconds * 1_000)
    const share = (service.cpu() - before) / (seconds * 1_000_000)
    const memory = service.memory()
    await service.stop()
    return { memoryAtFirst, memory, share }
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}
