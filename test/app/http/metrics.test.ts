import test from 'ava'
import { metrics } from '../../../app/http/monitoring/metrics.js'
import type { Documents } from '../../../projections/ports.js'
import { queries } from '../../../projections/queries.js'
import type { Instant } from '../../../domain/instant.js'
import { mostAttempts } from '../../../domain/retry-schedule.js'
import type { EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { send, sendJson } from '../../kit/network/http.js'
import { lead } from '../../kit/service/leads.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { minutesAgo, withPast } from '../../kit/service/past-deliveries.js'
import { turned, deliveriesIn, longestDelivery, newestAfter } from '../../kit/service/subscription.js'
import { until } from '../../kit/time/until.js'

const names = [
  'leadloop_deliveries_due',
  'leadloop_delivery_oldest_due_seconds',
  'leadloop_deliveries_held',
  'leadloop_webhooks_off',
]

/** The samples of these metrics; one that is left out is not among them. */
const samplesIn = (text: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...text.matchAll(/^(leadloop_\w+) (\S+)$/gm)]
      .filter(([, name = '']) => names.includes(name))
      .map(([, name = '', value]) => [name, Number(value)]),
  )

test('what is due is counted, with how long the oldest has waited', async (t) => {
  const answers: Array<() => void> = []
  const past = Array.from({ length: 12 }, (_, n) => ({ at: minutesAgo(30 - n), attempts: 1 }))
  const { site, receiver } = await withPast(t, past, (_n, response) => {
    answers.push(() => void response.writeHead(200).end())
    return undefined
  })
  const samples = async () => samplesIn((await send(`${site.url}/metrics`)).text)
  await receiver.received(8)
  const { leadloop_delivery_oldest_due_seconds: oldest = 0, ...counts } = await samples()
  t.deepEqual(counts, { leadloop_deliveries_due: 12, leadloop_deliveries_held: 0, leadloop_webhooks_off: 0 })
  t.true(oldest >= 1_800 && oldest < 1_860, `${oldest} s`)
  receiver.answer(() => 200)
  for (const answer of answers) answer()
  const after = await until('nothing is due', longestDelivery, samples, ({ leadloop_deliveries_due: due }) => due === 0)
  t.deepEqual(after, Object.fromEntries(names.map((name) => [name, 0])))
})

test('what waits for its next attempt is not due yet', async (t) => {
  const { site, account, webhookId } = await withPast(t, [{ at: minutesAgo(1), attempts: 1 }])
  t.is((await newestAfter(account, webhookId, 2))['state'], 'due')
  const { text } = await send(`${site.url}/metrics`)
  t.deepEqual(samplesIn(text), Object.fromEntries(names.map((name) => [name, 0])))
  t.regex(text, /^leadloop_delivery_attempts_total\{outcome="5xx"\} 1$/m)
})

test('what is held is counted, and the webhooks that are off', async (t) => {
  const { site, account, webhookId } = await withPast(t, [{ at: minutesAgo(9), attempts: mostAttempts }])
  await turned(account, webhookId, 'off')
  const { postUrl } = await account.addSource()
  for (let n = 0; n < 2; n += 1) await sendJson(postUrl, 'POST', lead())
  await deliveriesIn(account, webhookId, 'held', 2)
  t.like(samplesIn((await send(`${site.url}/metrics`)).text), {
    leadloop_deliveries_due: 0,
    leadloop_deliveries_held: 2,
    leadloop_webhooks_off: 1,
  })
})

const now = '2026-01-15T12:00:00.000Z' as Instant
const failure = E.left({ kind: 'unavailable', reason: 'gone' } as const)

test('what the read models do not tell is left out, and the rest is told', async (t) => {
  const told = metrics()
  let isGone = false
  told.observeDeliveries(
    {
      count: ({ name }) => Promise.resolve(isGone && name === 'deliveries' ? failure : E.right(3)),
      page: () => Promise.resolve(isGone ? failure : E.right([])),
    },
    { now: () => now },
  )
  t.deepEqual(Object.keys(samplesIn(await told.text())).sort(), names.toSorted())
  isGone = true
  const text = await told.text()
  t.deepEqual(samplesIn(text), { leadloop_webhooks_off: 3 })
  t.regex(text, /^process_cpu_seconds_total /m)
})

test('what has not happened since the start is counted as 0, so that the first time shows as an increase', async (t) => {
  const text = await metrics().text()
  const counters = /^leadloop_(?:delivery_attempts|messages_unplaced)_total.*$/gm
  t.deepEqual(text.match(counters)?.toSorted(), [
    'leadloop_delivery_attempts_total{outcome="2xx"} 0',
    'leadloop_delivery_attempts_total{outcome="3xx"} 0',
    'leadloop_delivery_attempts_total{outcome="4xx"} 0',
    'leadloop_delivery_attempts_total{outcome="5xx"} 0',
    'leadloop_delivery_attempts_total{outcome="none"} 0',
    'leadloop_messages_unplaced_total{what="report"} 0',
    'leadloop_messages_unplaced_total{what="text"} 0',
  ])
})

test('a read model that was replaced counts nothing as nothing', async (t) => {
  const told = metrics()
  const documents = memoryDocuments(documentState())
  told.observeDeliveries(
    queries({ store: {} as EventStore, documents, hasPendingReactions: () => Promise.resolve(false) }),
    {
      now: () => now,
    },
  )
  t.deepEqual(samplesIn(await told.text()), {})
})

test('metrics read ten thousand documents at most for a count, however many there are', async (t) => {
  const told = metrics()
  const many = 1_000_000
  let read = 0
  const documents: Documents = {
    ...memoryDocuments(documentState()),
    count: (_collection, part) => {
      const counted = Math.min(part?.limit ?? many, many)
      read += counted
      return Promise.resolve(E.right(counted))
    },
    find: (_collection, { limit }) => {
      read += Math.min(limit, many)
      return Promise.resolve(E.right([{ key: 'dlv', document: { state_since: now } }]))
    },
  }
  told.observeDeliveries(
    queries({ store: {} as EventStore, documents, hasPendingReactions: () => Promise.resolve(false) }),
    { now: () => now },
  )
  const text = await told.text()
  t.is(samplesIn(text)['leadloop_deliveries_due'], 10_000)
  t.regex(text, /^# HELP leadloop_deliveries_held .* 10000 stands for as many or more\.$/m)
  t.is(read, 3 * 10_000 + 1)
})

test('the path is told from another by its case, so that a proxy that blocks it blocks it all', async (t) => {
  const { site } = await withPast(t, [])
  const statuses = ['/metrics', '/metrics/', '/METRICS'].map(async (path) => (await send(`${site.url}${path}`)).status)
  t.deepEqual(await Promise.all(statuses), [200, 200, 404])
})
