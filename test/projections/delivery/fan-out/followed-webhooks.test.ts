import test from 'ava'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { sqliteDocuments } from '../../../../adapters/sqlite/documents/documents.js'
import { neverAborted } from '../../../../domain/abortable.js'
import { fold } from '../../../../domain/decider.js'
import type { DomainEvent, RecordedEvent } from '../../../../domain/events.js'
import { webhook, type WebhookEvent } from '../../../../domain/webhook.js'
import { deliveryFanOut } from '../../../../projections/delivery/fan-out/fan-out.js'
import { followedWebhooks } from '../../../../projections/delivery/fan-out/followed-webhooks.js'
import { anyProjection, changesOf, collectionOf } from '../../../../projections/projection.js'
import { webhookList, type WebhookDocument } from '../../../../projections/read-models/lists/webhook-list.js'
import { checkpointIn } from '../../../../projections/subscriptions/checkpoint.js'
import { logOf } from '../../../kit/domain/log.js'
import { holdsAsync } from '../../../kit/domain/property.js'
import {
  accountId,
  activity,
  at,
  deliveryId,
  positionAt,
  webhookId,
  webhookSettings,
} from '../../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { cachedHandler } from '../../../kit/parts/command-handlers.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { watchedHistory } from '../../../kit/parts/watched-history.js'
import { openIn } from '../../../kit/stores/sqlite.js'
import { temporaryDirectory } from '../../../kit/temporary-directory.js'
import { rightOf } from '../../../kit/right-of.js'
import { manualClock } from '../../../kit/time/manual-clock.js'

type Log = ReadonlyArray<RecordedEvent>

const accounts = [1, 2]
const accountOf = (n: number): number => 1 + (n % accounts.length)

const added = (n: number): WebhookEvent => ({
  type: 'WebhookAdded',
  data: { webhook_id: webhookId(n), account_id: accountId(accountOf(n)), settings: webhookSettings() },
})

/** What may happen to a webhook that was added. */
const later: ReadonlyArray<WebhookEvent> = [
  { type: 'WebhookChanged', data: { settings: webhookSettings({ events: ['sold'] }) } },
  { type: 'WebhookChanged', data: { settings: webhookSettings({ format: 'flat' }) } },
  { type: 'WebhookTurnedOff', data: { delivery_id: deliveryId(), reason: 'status 500' } },
  { type: 'WebhookTurnedOn', data: { catch_up: true, by: 'somebody' } },
  { type: 'WebhookSigningSecretIssued', data: { sealed_secret: 'sealed', previous_until: at() } },
  { type: 'WebhookRemoved', data: {} },
]

/** Each step is of one webhook: its first one adds it, and after it was removed nothing happens. */
const webhookLogs: fc.Arbitrary<Log> = fc
  .array(fc.record({ n: fc.integer({ min: 1, max: 4 }), how: fc.nat(later.length - 1) }), { maxLength: 25 })
  .map((steps) => {
    const happened = new Map<number, Array<WebhookEvent>>()
    const appended: Array<readonly [string, DomainEvent]> = []
    for (const { n, how } of steps) {
      const before = happened.get(n) ?? []
      if (fold(webhook, webhook.initial, before).kind === 'removed') continue
      const event = before.length === 0 ? added(n) : later[how]
      if (event === undefined) continue
      happened.set(n, [...before, event])
      appended.push([`webhook-${webhookId(n)}`, event])
    }
    return logOf(...appended)
  })

const storeOf = async (log: Log) => {
  const store = memoryEventStore(memoryLog())
  for (const { stream, revision, position: _position, ...event } of log)
    rightOf(await store.append(stream, revision === 0 ? 'no-stream' : revision - 1, [event]))
  return watchedHistory(store)
}

const collection = collectionOf(webhookList)

/** The read model with the events up to a position, and a checkpoint that may lie before it. */
const shownAs = async (log: Log, upTo: number, checkpoint: number) => {
  const documents = memoryDocuments(documentState())
  rightOf(await documents.prepare(collection))
  const events = log.filter(({ position }) => position <= upTo)
  const changes = changesOf(anyProjection(webhookList), new Map(), events)
  rightOf(await documents.apply(collection, changes, positionAt(checkpoint)))
  return documents
}

const of = (account: number) => activity({ account_id: accountId(account) })

/** The webhooks of an account at a position, folded from the beginning of the log. */
const subscribedAt = (log: Log, upTo: number, account: number): ReadonlyArray<WebhookDocument> => {
  const shown = new Map<string, WebhookDocument | undefined>()
  for (const event of log) {
    if (event.position <= upTo) shown.set(event.stream, webhookList.evolve(shown.get(event.stream), event))
  }
  return [...shown.values()]
    .filter((one) => one !== undefined)
    .filter(
      (one) => one.account_id === accountId(account) && (one.events.length === 0 || one.events.includes('started')),
    )
}

const byId = (all: ReadonlyArray<WebhookDocument>) => all.toSorted((one, other) => (one.id < other.id ? -1 : 1))

test('wherever the read model stands, the webhooks are those of the position that was followed to, and go on from there', async (t) => {
  const place = fc.nat(25)
  await holdsAsync(
    t,
    fc.asyncProperty(webhookLogs, place, place, place, async (log, followedTo, shown, ahead) => {
      const { store } = await storeOf(log)
      const documents = await shownAs(log, shown + ahead, Math.min(shown, log.length))
      const { load, apply, subscribed } = followedWebhooks({ store, documents, logger: recordingLogger() })
      await load(positionAt(followedTo), neverAborted)
      for (const account of accounts) {
        assert.deepEqual(byId(subscribed(of(account))), byId(subscribedAt(log, followedTo, account)))
      }
      log.filter(({ position }) => position > followedTo).forEach(apply)
      for (const account of accounts) {
        assert.deepEqual(byId(subscribed(of(account))), byId(subscribedAt(log, log.length, account)))
      }
    }),
    { numRuns: 300 },
  )
})

test('whoever takes the fan-out over reads no event of the log but what the read model or the fan-out lags behind', async (t) => {
  const log = logOf(
    ...Array.from({ length: 200 }, (_, n) => [`webhook-${webhookId(n)}`, added(n)] as const),
    ...Array.from({ length: 2_000 }, (_, n) => [`webhook-${webhookId(n % 200)}`, later[0] ?? added(0)] as const),
    ...Array.from({ length: 5 }, (_, n) => [`webhook-${webhookId(n)}`, later[2] ?? added(0)] as const),
  )
  const { store, read, begun } = await storeOf(log)
  const documents = await shownAs(log, 2_203, 2_203)
  const checkpoint = checkpointIn(documents, 'delivery_projector', 1n)
  await checkpoint.load()
  await checkpoint.advance({ events: [], position: positionAt(2_205) })
  const commandHandler = cachedHandler(store, manualClock())
  const fanOut = deliveryFanOut({
    store,
    documents,
    commandHandler,
    hasErasures: () => Promise.resolve(false),
    checkpoint,
    logger: recordingLogger(),
  })
  t.is(await fanOut.begin(neverAborted), positionAt(2_205))
  t.deepEqual({ begun, events: read.events }, { begun: [2_203n], events: 2 })
})

test('the events of a webhook that cannot be decoded hold up no other webhook', async (t) => {
  const log = logOf(
    [`webhook-${webhookId(1)}`, added(1)],
    [`webhook-${webhookId(2)}`, added(2)],
    [`webhook-${webhookId(1)}`, { type: 'WebhookRemoved', data: 'nobody' } as unknown as DomainEvent],
    [`webhook-${webhookId(2)}`, later[2] ?? added(2)],
  )
  const { store } = await storeOf(log)
  // A read model that was made by a version which could decode it.
  const documents = await shownAs(log, 4, 4)
  const { load, subscribed } = followedWebhooks({ store, documents, logger: recordingLogger() })
  await load(positionAt(2), neverAborted)
  t.deepEqual(
    subscribed(of(accountOf(2))).map(({ id, state }) => [id, state]),
    [[webhookId(2), 'on']],
  )
})

test('a document of a webhook that cannot be read holds up no other webhook, and costs its own no delivery', async (t) => {
  const log = logOf(
    ...[2, 4, 6].map((n) => [`webhook-${webhookId(n)}`, added(n)] as const),
    [`webhook-${webhookId(2)}`, later[1] ?? added(1)],
    [`webhook-${webhookId(6)}`, later[1] ?? added(1)],
  )
  const { store } = await storeOf(log)
  const directory = temporaryDirectory(t)
  const database = await openIn(directory)
  t.teardown(database.close)
  const documents = sqliteDocuments(database)
  rightOf(await documents.prepare(collection))
  const changes = changesOf(anyProjection(webhookList), new Map(), log.slice(0, 4))
  rightOf(await documents.apply(collection, changes, positionAt(4)))
  const byHand = new Database(join(directory, 'leadloop.db'))
  const table = byHand.prepare(`SELECT table_name FROM collections WHERE name = 'webhook_list'`).pluck().get()
  byHand.exec(`UPDATE "${String(table)}" SET body = '{' WHERE key IN ('${webhookId(2)}', '${webhookId(6)}')`)
  byHand.close()

  const logger = recordingLogger()
  const { load, subscribed } = followedWebhooks({ store, documents, logger })
  await load(positionAt(5), neverAborted)
  t.deepEqual(
    byId(subscribed(of(1))).map(({ id, format }) => [id, format]),
    [
      [webhookId(2), 'flat'],
      [webhookId(4), 'agent'],
      [webhookId(6), 'flat'],
    ],
  )
  t.deepEqual(
    logger.lines.map(({ fields }) => fields['webhook']),
    [webhookId(2), webhookId(6)],
  )
})
