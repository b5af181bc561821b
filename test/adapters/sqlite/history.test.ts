import test from 'ava'
import type { Prepare } from '../../../adapters/sqlite/database.js'
import { sqliteEventStore } from '../../../adapters/sqlite/event-store.js'
import { neverAborted } from '../../../domain/abortable.js'
import { beginning } from '../../../domain/event.js'
import { categories, type Category } from '../../../domain/events.js'
import { eventIds, newEvent, newEvents } from '../../kit/domain/new-events.js'
import { accountId, conversionId } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import { openSqlite } from '../../kit/stores/sqlite.js'

/**
 * A store on a log in which few events are about webhooks and resends, and the plan of each query that reads the
 * events.
 */
const openRareEvents = async () => {
  const plans: Array<string> = []
  const { port: store, close } = await openSqlite((database) =>
    sqliteEventStore({
      ...database,
      read: (query) =>
        database.read((prepare) => {
          const planned: Prepare = <Row>(sql: string) => {
            const explained = prepare<{ readonly detail: string }>(`EXPLAIN QUERY PLAN ${sql}`)
            const parameters = Array.from({ length: sql.split('?').length - 1 }, () => 0)
            plans.push(...explained.all(...parameters).map(({ detail }) => detail))
            return prepare<Row>(sql)
          }
          return query(planned)
        }),
    }),
  )
  const append = async (stream: string, first: number, count: number): Promise<void> => {
    rightOf(await store.append(stream, 'no-stream', newEvents(count, first)))
  }
  await append('webhook-1', 1, 2)
  for (let n = 0; n < 6; n += 1) await append(`lead-${n}`, 1_000 * (n + 1), 1_000)
  await append('resend-1', 3, 1)
  await append('webhook-2', 4, 1)
  plans.splice(0)
  return { store, plans, close }
}

/** By the index of its category, or by where it stands: ways to find an event without a look at any other. */
const isDirect = (detail: string): boolean =>
  /USING COVERING INDEX events_by_category \(category=\?/.test(detail) || /PRIMARY KEY \(rowid=\?\)$/.test(detail)

const histories: ReadonlyArray<{ readonly wanted: ReadonlyArray<Category>; readonly found: number }> = [
  { wanted: ['webhook'], found: 3 },
  { wanted: ['webhook', 'resend'], found: 4 },
  { wanted: ['resend', 'webhook', 'webhook'], found: 4 },
  { wanted: categories, found: 6_004 },
]

for (const { wanted, found } of histories) {
  test(`a history of ${wanted.length} categories looks at no event but its own: ${found} of 6,004`, async (t) => {
    const { store, plans, close } = await openRareEvents()
    const ids: Array<string> = []
    let pages = 0
    for await (const { events } of store.history(beginning, wanted, neverAborted)) {
      pages += 1
      ids.push(...eventIds(events))
    }
    const looks = plans.filter((detail) => /^(SCAN|SEARCH) events /.test(detail))
    t.true(looks.length > 0)
    t.deepEqual(
      looks.filter((detail) => !isDirect(detail)),
      [],
    )
    t.is(ids.length, found)
    t.is(pages, Math.ceil(found / 500))
    await close()
  })
}

test('a page of large events holds fewer of them, by their bytes, and the history is whole', async (t) => {
  const { port: store, close } = await openSqlite(sqliteEventStore)
  const title = 'x'.repeat(500_000)
  const data = { conversion_id: conversionId(), account_id: accountId(), title, value: 0, label: 'sold' } as const
  const ids: Array<string> = []
  for (let n = 1; n <= 30; n += 1) {
    const event = newEvent(n, { type: 'ConversionDefined', data })
    rightOf(await store.append(`conversion-${n}`, 'no-stream', [event]))
    ids.push(event.id)
  }
  const pages: Array<ReadonlyArray<string>> = []
  for await (const { events } of store.history(beginning, ['conversion'], neverAborted)) pages.push(eventIds(events))
  t.deepEqual(pages.flat(), ids)
  const largest = Math.max(...pages.map(({ length }) => length))
  t.true(largest <= 10, `${largest} events of half a megabyte in one page`)
  await close()
})
