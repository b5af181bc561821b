import { randomIds } from '../../../adapters/node/ids.js'
import { singleProcessMembership } from '../../../adapters/in-process/single-process-leases.js'
import { aesVault } from '../../../adapters/node/vault.js'
import { neverAborted } from '../../../domain/abortable.js'
import { mostAttempts } from '../../../domain/retry-schedule.js'
import { delivery, type DeliveryCommand, type DeliveryFacts } from '../../../domain/delivery.js'
import type { RecordedEvent } from '../../../domain/events.js'
import { beginning } from '../../../domain/event.js'
import type { EventStore } from '../../../domain/ports.js'
import { resend, type ResendCommand } from '../../../domain/resend.js'
import { streamOf } from '../../../domain/stream-name.js'
import { webhook, type WebhookCommand } from '../../../domain/webhook.js'
import { deliveries } from '../../../projections/read-models/deliveries.js'
import { resends } from '../../../projections/read-models/resends.js'
import type { WebhookRequest, WebhookResponse } from '../../../projections/delivery/webhook-client.js'
import { webhookShards } from '../../../projections/delivery/webhook-shards.js'
import { deliveryWorker } from '../../../projections/delivery/worker.js'
import { follow } from '../../../projections/subscriptions/follower.js'
import { anyProjection } from '../../../projections/projection.js'
import { failingWork } from '../../../projections/subscriptions/retries/failing-work.js'
import { loadState } from '../../../app/commands/states/current-states.js'
import { testLease, type TestLease } from './lease.js'
import { readModelFollower } from './read-model-follower.js'
import { recordingLogger } from './recording-logger.js'
import { until } from '../time/until.js'
import { nextTurn, turnTime } from '../time/turns.js'
import { manualClock } from '../time/manual-clock.js'
import { rightOf } from '../right-of.js'
import { accountId, deliveryFacts, deliveryId, resendId, webhookId, webhookSettings } from '../domain/samples.js'
import { sharedHandler } from './command-handlers.js'
import { openSqliteStores } from '../stores/sqlite.js'

export const delivered: WebhookResponse = { delivered: true, status: 200, reason: 'delivered', durationMs: 1 }
export const refused: WebhookResponse = { delivered: false, status: 503, reason: 'status 503', durationMs: 1 }

export const turnOff = {
  type: 'TurnOffWebhook',
  deliveryId: deliveryId(99),
  reason: 'status 503',
  failingSince: undefined,
  version: undefined,
} as const

export const turnOn = (catchUp: boolean, by = 'somebody'): WebhookCommand => ({
  type: 'TurnOnWebhook',
  accountId: accountId(),
  catchUp,
  by,
})

/** The number of the delivery whose body this is: see `makeDue`. */
export const numberOf = ({ body }: { readonly body: string }): number => Number(body.slice(5, -1))

/** 1 to `last`. */
export const upTo = (last: number): ReadonlyArray<number> => Array.from({ length: last }, (_, n) => n + 1)

export type Answer = (request: WebhookRequest, signal: AbortSignal) => Promise<WebhookResponse>

/** An embedded store, which may be watched, and the read model of the deliveries on it, for one worker or several. */
export const openStage = async (watched: (store: EventStore) => EventStore = (store) => store) => {
  const { store: embedded, documents, close } = await openSqliteStores()
  const store = watched(embedded)
  const clock = manualClock()
  const ids = randomIds(clock)
  const commandHandler = sharedHandler(store, clock)
  const vault = aesVault(Buffer.alloc(32, 1))
  const following = { store, logger: recordingLogger(), backoff: nextTurn }
  const deliveriesFollower = readModelFollower(anyProjection(deliveries), following, documents)
  const readModels = [deliveriesFollower, readModelFollower(anyProjection(resends), following, documents)]
  const envelope = { actor: 'test', eventId: ids.uuid }
  const tell = async (n: number, command: DeliveryCommand): Promise<void> => {
    rightOf(await commandHandler.execute(delivery, deliveryId(n), command, envelope))
  }
  const closing: Array<() => Promise<void>> = []
  const ends = (...all: ReadonlyArray<() => Promise<void>>): void => void closing.push(...all)

  const project = (): (() => Promise<void>) => {
    const lease = testLease('read models')
    const work = Promise.all(readModels.map((one) => one.run(lease)))
    const stop = async (): Promise<void> => {
      lease.recall()
      await work
    }
    ends(stop)
    return stop
  }
  /** Resolves once the read models show all that has happened. */
  const caughtUp = async (): Promise<void> => {
    const head = rightOf(await store.head())
    await Promise.all(readModels.map((one) => one.caughtUpTo(head, neverAborted)))
  }

  return {
    store,
    clock,
    deliveriesFollower,
    /** Runs the read models until the function that it returns is called. */
    project,
    caughtUp,
    /** The read models show what has happened, and nothing that happens from now on. */
    showOnce: async (): Promise<void> => {
      const stop = project()
      await caughtUp()
      await stop()
    },
    /**
     * A worker that holds no lease yet. `answer` answers its requests, and each load of an aggregate waits for
     * `before`.
     */
    openWorker: (answer: Answer, before: () => Promise<void> = () => Promise.resolve()) => {
      const sent: Array<WebhookRequest> = []
      const loaded = new Set<string>()
      const tried = failingWork(turnTime)
      const logger = recordingLogger()
      const worker = deliveryWorker({
        store,
        documents,
        commandHandler: {
          ...commandHandler,
          load: async (decider, id) => {
            await before()
            loaded.add(streamOf(decider, id))
            return commandHandler.load(decider, id)
          },
        },
        vault,
        clock,
        ids,
        logger,
        random: () => 0.5,
        deliveriesFollower,
        backoff: nextTurn,
        failingWork: tried,
        currentWebhook: (id) => loadState(commandHandler, webhook, id),
        hasErasures: () => Promise.resolve(false),
        observe: () => undefined,
        webhookClient: {
          send: (request, signal) => {
            sent.push(request)
            return answer(request, signal)
          },
        },
      })
      return {
        sent,
        worker,
        /** What its log tells. */
        lines: logger.lines,
        /** Why it tries something again. */
        retrying: tried.reason,
        /** The aggregates that it has loaded. */
        loaded,
        follow: (): void => ends(follow(worker.follower, following).stop),
        /** Holds the shard of the webhook number `n` until the test takes it away. */
        hold: (n: number): TestLease & { readonly done: Promise<void> } => {
          const lease = testLease(webhookShards.of(webhookId(n)))
          const done = worker.work(lease)
          ends(() => {
            lease.recall()
            return done
          })
          return { ...lease, done }
        },
        holdAll: (): void => {
          const membership = singleProcessMembership()
          membership.share('delivery', () => webhookShards.names, worker.work)
          ends(membership.leave)
        },
      }
    },
    state: async (n: number) => rightOf(await commandHandler.load(delivery, deliveryId(n))).state,
    addWebhook: async (n: number, url = `http://receiver-${n}.example/`) => {
      const settings = webhookSettings({ url, sealed_token: vault.seal(`token-${n}`) })
      const command = { type: 'AddWebhook', webhookId: webhookId(n), accountId: accountId(), settings } as const
      rightOf(await commandHandler.execute(webhook, webhookId(n), command, envelope))
    },
    change: async (n: number, command: Parameters<typeof webhook.decide>[0]) => {
      rightOf(await commandHandler.execute(webhook, webhookId(n), command, envelope))
    },
    makeDue: async (n: number, to: number, heldAt?: number, changed: Partial<DeliveryFacts> = {}) => {
      const ids = { delivery_id: deliveryId(n), webhook_id: webhookId(to) }
      const facts = deliveryFacts({ ...ids, body: `{"n":${n}}`, ...changed })
      rightOf(await commandHandler.execute(delivery, deliveryId(n), { type: 'MakeDue', facts, heldAt }, envelope))
    },
    tell,
    /**
     * Records the first attempts of a schedule, by default all, which failed, made by the first version of the webhook.
     */
    failAttempts: async (n: number, attempts = mostAttempts) => {
      for (let attempt = 1; attempt <= attempts; attempt += 1) {
        const outcome = { attempt, status: 503, reason: 'status 503', duration_ms: 1, webhook_version: 1 }
        await tell(n, { type: 'RecordAttempt', delivered: false, outcome, nextAttemptAt: clock.now() })
      }
    },
    resend: async (n: number, command: ResendCommand) => {
      rightOf(await commandHandler.execute(resend, resendId(n), command, envelope))
    },
    resendState: async (n: number) => rightOf(await commandHandler.load(resend, resendId(n))).state.kind,
    events: async (): Promise<ReadonlyArray<RecordedEvent>> => {
      const all: Array<RecordedEvent> = []
      for await (const { events } of store.history(beginning, ['webhook', 'delivery', 'resend'], neverAborted))
        all.push(...events)
      return all
    },
    until: (isSo: () => boolean | Promise<boolean>) => until('what the test waits for', 60_000, isSo),
    close: async () => {
      for (const end of closing.toReversed()) await end()
      await close()
    },
  }
}

/** A worker that works alone and holds all shards. */
export const openWorker = async (answer: Answer) => {
  const stage = await openStage()
  const { sent, worker, follow: begin, holdAll } = stage.openWorker(answer)
  stage.project()
  begin()
  holdAll()
  return { ...stage, sent, worker }
}
