import { END, EventStoreDBClient, jsonEvent, NO_STREAM, streamNameFilter } from '@eventstore/db-client'
import Router from '@koa/router'
import Koa from 'koa'
import bodyParser from 'koa-bodyparser'
import fetch from 'node-fetch'
import { randomUUID } from 'node:crypto'
import { Agent } from 'node:http'
import type { AddressInfo } from 'node:net'
import { performance } from 'node:perf_hooks'
import { sleep } from '../kit/time/until.js'
import { summaryOf } from './summary.js'

/**
 * The baselines of a lead on EventStoreDB: the bare driver, in a process without our adapter, which makes it faster
 * (`native-base64.ts`). `GET /appends?in_flight=64&seconds=5` gives the summary of appends of 1.5 kB to new streams,
 * with `&pause=50` each so many milliseconds after the one before it was answered. `POST /lead` makes the calls of a
 * lead with one webhook (`RECEIVER`), and nothing else: no rule and no read model.
 */
const client = EventStoreDBClient.connectionString(process.env['EVENTSTORE'] ?? '')
const agent = new Agent({ keepAlive: true })

const append = async (kind: string, bytes: number, count = 1): Promise<void> => {
  const metadata = { $correlationId: randomUUID(), $causationId: randomUUID(), actor: 'x'.repeat(60) }
  const events = Array.from({ length: count }, () =>
    jsonEvent({ type: 'Bare', data: { text: 'x'.repeat(bytes) }, metadata }),
  )
  await client.appendToStream(`bare_${kind}-${randomUUID()}`, events, { expectedRevision: NO_STREAM })
}

const deliver = async (body: string): Promise<void> => {
  const headers = { authorization: 'Bearer bench', 'content-type': 'application/json' }
  await append('delivery', 900)
  const response = await fetch(process.env['RECEIVER'] ?? '', { method: 'POST', body, headers, agent })
  await response.arrayBuffer()
  await append('delivery', 300)
}

const router = new Router()
router.post('/lead', bodyParser(), async (ctx) => {
  // The sizes of the events of a lead, as README.md tells their sum.
  await append('lead', 1_100)
  await append('contact', 500)
  await append('engagement', 550, 3)
  ctx.body = { lead_id: 'led_', contact_id: 'nct_', next_engagement_id: 'neg_' }
  void deliver(JSON.stringify({ ...(ctx.request.body as object), text: 'x'.repeat(400) }))
})
router.get('/appends', async (ctx) => {
  const asked = (name: string): number => Number(ctx.query[name] ?? 0)
  const [inFlight, seconds, pause] = [asked('in_flight'), asked('seconds'), asked('pause')]
  const latencies: Array<number> = []
  const started = performance.now()
  const writer = async (): Promise<void> => {
    while (performance.now() < started + seconds * 1000) {
      const sent = performance.now()
      await append('alone', 1_500)
      latencies.push(performance.now() - sent)
      if (pause > 0) await sleep(pause)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, writer))
  ctx.body = summaryOf(latencies, (performance.now() - started) / 1000)
})

const kinds = ['lead', 'contact', 'engagement', 'delivery'].map((kind) => `bare_${kind}-`)
/** Anew where the server drops it: 23.10 does so to whoever is too slow for a moment. */
const follow = (): void => {
  const filter = streamNameFilter({ prefixes: kinds })
  client
    .subscribeToAll({ fromPosition: END, filter })
    .on('data', () => undefined)
    .on('error', follow)
}
follow()
const server = new Koa().use(router.routes()).listen(0, '127.0.0.1', () => {
  process.stderr.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`)
})
process.once('SIGTERM', () => process.exit(0))
