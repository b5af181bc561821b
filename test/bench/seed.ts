import { openAccount, type Account } from '../kit/service/account.js'
import { isCaughtUp } from '../kit/service/readiness.js'
import { environmentOf, secretKey } from '../kit/service/settings.js'
import { neverAborted } from '../../domain/abortable.js'
import { beginning } from '../../domain/event.js'
import { categories } from '../../domain/events.js'
import { delivery } from '../../domain/delivery.js'
import { deliveryIdOf } from '../../domain/derived-id.js'
import type {
  AccountId,
  ContactId,
  DeliveryId,
  EngagementId,
  PlaybookId,
  SourceId,
  WebhookId,
} from '../../domain/ids.js'
import { lead } from '../../domain/lead.js'
import { webhook } from '../../domain/webhook.js'
import { startChild, type Child } from './child.js'
import { leadFactsFor } from './lead-facts.js'
import { embedded, forEach, openTools, orFail, type StoreUrls, type Tools } from './tools.js'
import type { Environment } from '../kit/parts/program.js'
import { openTemporaryDirectory } from '../kit/temporary-directory.js'
import { until } from '../kit/time/until.js'

/** A store of its own, and what a client needs to use it. */
export type Seeded = {
  readonly directory: string
  /** The path of the post URL. */
  readonly path: string
  readonly apiKey: string
  readonly accountId: AccountId
  readonly leads: number
  readonly events: number
}

export const nodeArguments = ['--max-semi-space-size=32']

/** A service that is measured by /proc, with more settings and arguments of Node where they are given. */
export const startMeasured = (
  directory: string,
  { eventStoreUrl, mongoUrl }: StoreUrls = embedded,
  more: Environment = {},
  moreArguments: ReadonlyArray<string> = [],
): Promise<Child> => {
  const servers = { EVENTSTORE_URL: eventStoreUrl, MONGODB_URL: mongoUrl }
  const settings = environmentOf(directory, { ...servers, ...more }) as Readonly<Record<string, string>>
  const secret = { SECRET_KEY: secretKey.toString('base64url') }
  return startChild('dist/app/main.js', { ...settings, ...secret }, [...nodeArguments, ...moreArguments])
}

/** In milliseconds. */
const longestCatchUp = 600_000

/** Resolves once a service has handled the log. */
export const caughtUp = async (service: Child): Promise<void> => {
  await until('nothing lags', longestCatchUp, () => isCaughtUp(service))
}

/** Lets a service catch up with a log that was written beside it: what is measured afterwards is not that. */
export const settle = async (directory: string, urls = embedded): Promise<void> => {
  const service = await startMeasured(directory, urls)
  await caughtUp(service)
  await service.stop()
}

/**
 * A store with leads that went round the loop: submitted, started and delivered to one webhook, seven events
 * each.
 */
export const seed = async (leads: number, urls = embedded): Promise<Seeded> => {
  const { path: directory } = openTemporaryDirectory()
  const { postUrl, apiKey } = await openedAccount(directory, urls)
  const path = new URL(postUrl).pathname
  const [, , accountId, sourceId] = path.split('/') as [string, string, AccountId, SourceId]
  const tools = await openTools(directory, urls)
  await fill(tools, accountId, sourceId, leads)
  const events = await eventsIn(tools)
  await tools.close()
  return { directory, path, apiKey, accountId, leads, events }
}

/** An account of its own: what a named server holds already is left alone. */
const openedAccount = async (directory: string, urls: StoreUrls): Promise<Account> => {
  const service = await startMeasured(directory, urls)
  const account = await openAccount(service)
  await service.stop()
  return account
}

const eventsIn = async ({ store }: Tools): Promise<number> => {
  if (store.positionUnit === 'events') return Number(orFail(await store.head()))
  let events = 0
  for await (const batch of store.history(beginning, categories, neverAborted)) events += batch.events.length
  return events
}

const fill = async (tools: Tools, accountId: AccountId, sourceId: SourceId, leads: number): Promise<void> => {
  const { run, reactor, clock } = tools
  const factsOf = await leadFactsFor(tools, accountId, sourceId)
  const webhookId = await addWebhook(tools, accountId, 'http://127.0.0.1:9/', 'dormant')
  await forEach(leads, async (serial) => {
    const facts = factsOf(serial)
    const { events } = await run(lead, facts.lead_id, { type: 'SubmitLead', facts })
    await reactor.react(events)
    const id = await makeDue(tools, accountId, webhookId, facts)
    const outcome = { attempt: 1, status: 200, reason: 'delivered', duration_ms: 3 }
    await run(delivery, id, { type: 'RecordAttempt', delivered: true, outcome, nextAttemptAt: clock.now() })
  })
}

export const addWebhook = async (
  { run, ids, vault }: Tools,
  accountId: AccountId,
  url: string,
  label: 'started' | 'dormant',
  playbookId: PlaybookId | null = null,
): Promise<WebhookId> => {
  const webhookId: WebhookId = `whk_${ids.ulid()}`
  const format = 'agent'
  const settings = { url, sealed_token: vault.seal('bench'), events: [label], format, playbook_id: playbookId } as const
  await run(webhook, webhookId, { type: 'AddWebhook', webhookId, accountId, settings })
  return webhookId
}

/** A `started` delivery that is due now. */
export const makeDue = async (
  { run, ids, clock }: Tools,
  accountId: AccountId,
  webhookId: WebhookId,
  { contact_id, engagement_id }: { readonly contact_id: ContactId; readonly engagement_id: EngagementId },
): Promise<DeliveryId> => {
  const activityId = ids.uuid()
  const delivery_id = deliveryIdOf(webhookId, activityId)
  const facts = {
    delivery_id,
    account_id: accountId,
    webhook_id: webhookId,
    activity_id: activityId,
    label: 'started',
    contact_id,
    engagement_id,
    due_at: clock.now(),
    body: sampleBody,
  } as const
  await run(delivery, delivery_id, { type: 'MakeDue', facts, heldAt: undefined })
  return delivery_id
}

const at = '2026-01-01T00:00:00.000Z'

/** A body as the agent format makes it. */
export const sampleBody = JSON.stringify({
  activity: {
    type: 'event',
    label: 'started',
    next_engagement_id: 'neg_00000000000000000000000000',
    play_id: null,
    note: 'The playbook started',
    properties: {},
    created_at: at,
    updated_at: at,
  },
  contact: {
    id: 'nct_00000000000000000000000000',
    first_name: 'Ada',
    last_name: 'Example',
    email: 'ada@example.com',
    phone: '+14155550123',
    opted_out: false,
    created_at: at,
    additional_info: { gender: 'Female', credit_rating: 'Good', current_residence_state: 'CA' },
    referral: {},
  },
})
