import { neverAborted } from '../../domain/abortable.js'
import { conversionRecord, type ConversionRecordFacts } from '../../domain/conversion-record.js'
import { beginning } from '../../domain/event.js'
import type { ConversionId } from '../../domain/ids.js'
import { seedLarge } from './large-log.js'
import { seed, settle, type Seeded } from './seed.js'
import { embedded, forEach, openTools, type StoreUrls } from './tools.js'

/** Nothing is delivered here: what is due stays so. */
const nowhere = { silent: 'http://127.0.0.1:9/', healthy: 'http://127.0.0.1:9/' }

/**
 * A log on the embedded store in which one lead in ten is sold, with read models that a service has brought up to date.
 */
export const analystsLog = async (leads: number): Promise<Seeded> => {
  const store = await seedLarge({ leads, due: leads / 10 }, nowhere)
  const sold = await sell(store.directory, embedded)
  await settle(store.directory)
  return { ...store, events: store.events + sold }
}

/** The same on the EventStoreDB at this URL. */
export const analystsLogOn = async (eventStoreUrl: string, leads: number): Promise<Seeded> => {
  const urls = { eventStoreUrl, mongoUrl: undefined }
  const store = await seed(leads, urls)
  return { ...store, events: store.events + (await sell(store.directory, urls)) }
}

/** Records a sale for one lead in ten, and gives how many. */
const sell = async (directory: string, urls: StoreUrls): Promise<number> => {
  const tools = await openTools(directory, urls)
  const { ids, run, clock, store } = tools
  const conversionId: ConversionId = `cnv_${ids.ulid()}`
  const sales: Array<ConversionRecordFacts> = []
  let seen = 0
  for await (const { events } of store.history(beginning, ['lead'], neverAborted)) {
    for (const { type, data } of events) {
      if (type !== 'LeadSubmitted') continue
      seen += 1
      if (seen % 10 > 0) continue
      const { account_id, contact_id, engagement_id, lead_id, source_id } = data
      sales.push({
        record_id: `ccv_${ids.ulid()}`,
        conversion_id: conversionId,
        title: 'Sold',
        label: 'sold',
        converted_at: clock.now(),
        value: 10_000 + (seen % 1_000),
        ends: [],
        ...{ account_id, contact_id, engagement_id, lead_id, source_id },
      })
    }
  }
  await forEach(sales.length, async (serial) => {
    const facts = sales[serial]
    if (facts !== undefined) await run(conversionRecord, facts.record_id, { type: 'RecordConversion', facts })
  })
  await tools.close()
  return sales.length
}
