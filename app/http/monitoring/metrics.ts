import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client'
import { millisecondsOf } from '../../../domain/instant.js'
import { E, flow, TE, type Either } from '../../../domain/prelude.js'
import type { Clock, EventStore, MonotonicClock, StoreFailure } from '../../../domain/ports.js'
import { mostCounted } from '../../../projections/ports.js'
import { deliveries } from '../../../projections/read-models/deliveries.js'
import type { ParkedCount } from '../../../projections/parking/parked-counts.js'
import type { WebhookResponse } from '../../../projections/delivery/webhook-client.js'
import { webhookList } from '../../../projections/read-models/lists/webhook-list.js'
import type { Queries } from '../../../projections/queries.js'
import type { Surface } from '../endpoint.js'
import { answer, bind } from '../steps.js'
import type { Observed } from '../server.js'
import { lagsOf, type ObservedFollower } from './lags.js'

type Followers = () => ReadonlyArray<ObservedFollower>

export type Metrics = {
  readonly request: (observed: Observed) => void
  readonly attempt: (response: WebhookResponse) => void
  /** The provider of texts posted something that concerns nobody here. */
  readonly unplaced: (what: 'text' | 'report') => void
  /** Reports from now on how far these followers lag, and whether they have stopped. */
  readonly observeFollowers: (store: EventStore, followers: Followers, monotonic: MonotonicClock) => void
  readonly observeAttemptsInFlight: (attemptsInFlight: () => number) => void
  /** Reports from now on how many events are parked; what can't be read is left out. */
  readonly observeParked: (counts: () => Promise<ReadonlyArray<ParkedCount> | undefined>) => void
  /** Reports from now on what waits to be delivered; what can't be read is left out. */
  readonly observeDeliveries: (queries: Pick<Queries, 'count' | 'page'>, clock: Pick<Clock, 'now'>) => void
  /** In the text format of Prometheus. */
  readonly text: () => Promise<string>
}

/** `GET /metrics`. */
export const metricsSurface = ({ text }: Pick<Metrics, 'text'>): Surface<undefined> => ({
  name: 'metrics',
  prefix: '',
  bodies: [],
  invalidJson: { kind: 'invalid-json' },
  authenticate: TE.map(() => undefined),
  endpoints: [
    {
      method: 'GET',
      path: '/metrics',
      handle: flow(
        bind('body', () => TE.fromTask(text)),
        answer(200, ({ body }) => body, { 'content-type': contentType }),
      ),
    },
  ],
})

const contentType = 'text/plain; version=0.0.4; charset=utf-8'

/** Prometheus metrics; labels are routes and names of ours, never a value of a request. */
export const metrics = (): Metrics => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  const requests = new Histogram({
    name: 'leadloop_http_request_seconds',
    help: 'Requests by surface, route and status.',
    labelNames: ['surface', 'route', 'status'],
    buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    registers: [registry],
  })
  const attempts = new Counter({
    name: 'leadloop_delivery_attempts_total',
    help: 'Webhook attempts by what came back: a class of status, or none.',
    labelNames: ['outcome'],
    registers: [registry],
  })
  // A series that begins with its first event shows no increase for it: each begins at 0.
  for (const outcome of ['2xx', '3xx', '4xx', '5xx', 'none']) attempts.inc({ outcome }, 0)
  const unplaced = new Counter({
    name: 'leadloop_messages_unplaced_total',
    help: 'Texts of numbers that nobody wrote to, and reports on messages that nobody sent.',
    labelNames: ['what'],
    registers: [registry],
  })
  for (const what of ['text', 'report']) unplaced.inc({ what }, 0)
  const series = new Map<string, ReturnType<typeof requests.labels>>()

  return {
    request: ({ surface, route, status, seconds }) => {
      const name = `${route} ${status}`
      const known = series.get(name) ?? requests.labels({ surface, route, status: String(status) })
      series.set(name, known)
      known.observe(seconds)
    },
    attempt: ({ status }) => {
      attempts.inc({ outcome: status === null ? 'none' : `${Math.floor(status / 100)}xx` })
    },
    unplaced: (what) => unplaced.inc({ what }),
    observeFollowers: (store, followers, monotonic) => observeFollowers(registry, { store, followers, monotonic }),
    observeAttemptsInFlight: (attemptsInFlight) => {
      new Gauge({
        name: 'leadloop_delivery_open_requests',
        help: 'Webhook requests that are open now, or answered while the outcome is being recorded.',
        registers: [registry],
        collect() {
          this.set(attemptsInFlight())
        },
      })
    },
    observeParked: (counts) => {
      new Gauge({
        name: 'leadloop_parked_events',
        help: 'Events that a process manager could not handle and that wait for an operator, up to 100.',
        labelNames: ['process_manager'],
        registers: [registry],
        async collect() {
          this.reset()
          for (const { processManager, events } of (await counts()) ?? [])
            this.set({ process_manager: processManager }, events)
        },
      })
    },
    observeDeliveries: (queries, clock) => {
      for (const { name, help, read } of waitingToBeDelivered(queries, clock)) {
        new Gauge({
          name,
          help,
          registers: [registry],
          async collect() {
            const value = await read()
            if (E.isLeft(value)) this.remove()
            else this.set(value.right)
          },
        })
      }
    },
    text: () => registry.metrics(),
  }
}

const observeFollowers = (
  registry: Registry,
  {
    store,
    followers,
    monotonic,
  }: { readonly store: EventStore; readonly followers: Followers; readonly monotonic: MonotonicClock },
): void => {
  new Gauge({
    name: 'leadloop_follower_lag',
    help: 'What a follower has still to handle of the log: events, or bytes of a log that counts those.',
    labelNames: ['follower', 'unit'],
    registers: [registry],
    async collect() {
      const head = await store.head()
      this.reset()
      if (E.isLeft(head)) return
      const observed = followers()
      const lags = await lagsOf(observed, head.right, monotonic)
      for (const [index, { name }] of observed.entries()) {
        const lag = lags[index]
        if (lag !== undefined) this.set({ follower: name, unit: store.positionUnit }, lag)
      }
    },
  })
  new Gauge({
    name: 'leadloop_follower_stopped',
    help: '1 where a follower has met an event that it can not handle.',
    labelNames: ['follower'],
    registers: [registry],
    collect() {
      for (const one of followers()) this.set({ follower: one.name }, one.failure() === undefined ? 0 : 1)
    },
  })
}

type Waiting = {
  readonly name: string
  readonly help: string
  readonly read: () => Promise<Either<StoreFailure, number>>
}

/** A metric must cost the same however many there are. */
const isCountedTo = `${mostCounted} stands for as many or more.`

/** Of all webhooks, whichever process posts to them. */
const waitingToBeDelivered = (
  { count, page }: Pick<Queries, 'count' | 'page'>,
  clock: Pick<Clock, 'now'>,
): ReadonlyArray<Waiting> => {
  const dueBy = (now: string) => ({ index: 'of_all', equals: ['due'], upTo: now })
  return [
    {
      name: 'leadloop_deliveries_due',
      help: `Deliveries whose next attempt is due. ${isCountedTo}`,
      read: () => count(deliveries, dueBy(clock.now())),
    },
    {
      name: 'leadloop_delivery_oldest_due_seconds',
      help: 'How long the attempt that waits longest has been due.',
      read: async () => {
        const now = clock.now()
        const oldest = await page(deliveries, { ...dueBy(now), limit: 1 })
        if (E.isLeft(oldest)) return oldest
        const since = oldest.right[0]?.document.state_since ?? now
        return E.right((millisecondsOf(now) - millisecondsOf(since)) / 1000)
      },
    },
    {
      name: 'leadloop_deliveries_held',
      help: `Deliveries that wait for their webhook to be turned on. ${isCountedTo}`,
      read: () => count(deliveries, { index: 'of_all', equals: ['held'] }),
    },
    {
      name: 'leadloop_webhooks_off',
      help: `Webhooks that are turned off. ${isCountedTo}`,
      read: () => count(webhookList, { index: 'by_state', equals: ['off'] }),
    },
  ]
}
