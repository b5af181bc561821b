import { wallTime } from '../../../adapters/node/clock.js'
import { jsonLogger } from '../../../adapters/node/logger.js'
import { account } from '../../../domain/account.js'
import { contact } from '../../../domain/contact.js'
import { conversion } from '../../../domain/conversion.js'
import { conversionRecord } from '../../../domain/conversion-record.js'
import { recordFrom } from '../../../domain/conversion-report.js'
import { delivery } from '../../../domain/delivery.js'
import { deliveryIdOf, type AccountSecret } from '../../../domain/derived-id.js'
import { engagement } from '../../../domain/engagement.js'
import type { RecordedEvent } from '../../../domain/events.js'
import type { AccountId, ConversionId, PlaybookId, SourceId, WebhookId } from '../../../domain/ids.js'
import { instantOf } from '../../../domain/instant.js'
import { lead, type LeadFacts } from '../../../domain/lead.js'
import { marketingSource, type CreatedSource } from '../../../domain/marketing-source.js'
import { playbook } from '../../../domain/playbook.js'
import { E, type Either } from '../../../domain/prelude.js'
import { decodeSubmission, leadFactsOf } from '../../../domain/submission.js'
import { orThrow, StoreFailed } from '../../../domain/store-failed.js'
import { webhook } from '../../../domain/webhook.js'
import { checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import type { Config } from '../../composition/config.js'
import { checkpointedNames } from '../../composition/followers.js'
import { exampleLead } from '../../composition/start/first-account.js'
import { firstEventOf } from '../../composition/start/store-checks.js'
import { openStores, type Stores } from '../../composition/stores.js'
import { lateProgressBar } from '../progress.js'
import { monthLength, monthPlan, monthSources, type Happening } from './month-plan.js'
import { monthWriter, Refused, right, type MonthWriter } from './month-writer.js'

/**
 * Writes a made-up month of an account with four sources and a webhook into stores that hold nothing yet; it ends now.
 * Nothing is posted: the deliveries are recorded as if they had been. Gives the number of leads; left: one sentence.
 */
export const writeMonth = async (
  config: Config,
  plan = monthPlan(seededRandom(1)),
): Promise<Either<string, number>> => {
  const opened = await openStores(config, { newId: () => '', logger: jsonLogger('silent') })
  if (E.isLeft(opened)) return opened
  const stores = opened.right
  try {
    if ((await firstEventOf(stores.store)) !== undefined) {
      return E.left('There is a log already, and a made-up month has no place in it: name an empty DATA_DIR.')
    }
    return E.right(await written(config, stores, plan))
  } catch (error) {
    if (error instanceof Refused) return E.left(error.message)
    if (error instanceof StoreFailed) return E.left(`The stores can't be used: ${error.message}.`)
    throw error
  } finally {
    await stores.membership.leave()
    await stores.close()
  }
}

const written = async (config: Config, stores: Stores, plan: ReadonlyArray<Happening>): Promise<number> => {
  const began = wallTime() - monthLength
  const random = seededRandom(2)
  const writer = monthWriter(config, stores, began)
  const month = await openMonth(writer)
  const bar = lateProgressBar(plan.length)
  try {
    for (const [index, happening] of plan.entries()) {
      writer.clock.set(instantOf(began + happening.after))
      await deliver(writer, month, await happen(writer, month, happening), random)
      bar.update(index + 1)
    }
  } finally {
    bar.stop()
  }
  await allHandled(stores)
  return month.leads.size
}

/** The account of the month, and its leads by their numbers in the plan. */
type Month = {
  readonly accountId: AccountId
  readonly secret: AccountSecret
  readonly conversionIds: { readonly quoted: ConversionId; readonly sold: ConversionId }
  readonly webhookId: WebhookId
  readonly sources: ReadonlyArray<CreatedSource>
  readonly leads: Map<number, LeadFacts>
}

const openMonth = async ({ ids, vault, run, load }: MonthWriter): Promise<Month> => {
  const accountId: AccountId = `acc_${ids.ulid()}`
  const playbookId: PlaybookId = `ply_${ids.ulid()}`
  const [quotedId, soldId]: [ConversionId, ConversionId] = [`cnv_${ids.ulid()}`, `cnv_${ids.ulid()}`]
  const webhookId: WebhookId = `whk_${ids.ulid()}`
  const sealedSecret = vault.seal(ids.secret())
  const key = { apiKeyId: `key_${ids.ulid()}`, apiKeyHash: ids.secret() } as const
  const opening = { accountId, title: 'Example Agency', sealedSecret, playbookId, quotedId, soldId, ...key }
  await run(account, accountId, { type: 'OpenAccount', ...opening })
  const url = 'https://crm.example/hooks/leads'
  const token = { sealed_token: vault.seal(ids.secret()) }
  const settings = { url, ...token, events: [], format: 'agent', playbook_id: null } as const
  await run(webhook, webhookId, { type: 'AddWebhook', webhookId, accountId, settings })
  await run(playbook, playbookId, { type: 'UsePlaybook', accountId })
  const sources = []
  for (const { title } of monthSources) {
    const sourceId: SourceId = `mks_${ids.unguessable()}`
    const source = { sourceId, accountId, title, playbookId, originatorField: null }
    await run(marketingSource, sourceId, { type: 'CreateSource', ...source })
    const { state } = orThrow(await load(marketingSource, sourceId))
    if (state.kind === 'created') sources.push(state)
  }
  const secret = right(vault.accountSecret(sealedSecret))
  return { accountId, secret, conversionIds: { quoted: quotedId, sold: soldId }, webhookId, sources, leads: new Map() }
}

const happen = async (
  writer: MonthWriter,
  month: Month,
  happening: Happening,
): Promise<ReadonlyArray<RecordedEvent>> => {
  const { ids, run, clock } = writer
  const { accountId, secret, sources, leads } = month
  switch (happening.kind) {
    case 'lead': {
      const source = sources[happening.source]
      if (source === undefined) return []
      const submission = right(decodeSubmission([], clock.now(), leadOf(happening.person)))
      const facts = leadFactsOf({ source, secret }, submission, `led_${ids.ulid()}`, `neg_${ids.ulid()}`)
      leads.set(happening.lead, facts)
      return run(lead, facts.lead_id, { type: 'SubmitLead', facts })
    }
    case 'report': {
      const id = leads.get(happening.lead)?.engagement_id
      if (id === undefined) return []
      return run(engagement, id, { type: 'RecordActivity', accountId, label: happening.label, at: clock.now() })
    }
    case 'conversion':
      return convert(writer, month, happening)
  }
}

const convert = async (
  { run, load, clock }: MonthWriter,
  { leads, conversionIds }: Month,
  { person, isSale, cents }: Extract<Happening, { readonly kind: 'conversion' }>,
): Promise<ReadonlyArray<RecordedEvent>> => {
  const contactId = leads.get(person)?.contact_id
  if (contactId === undefined) return []
  const conversionId = isSale ? conversionIds.sold : conversionIds.quoted
  const { state: known } = orThrow(await load(contact, contactId))
  const { state: defined } = orThrow(await load(conversion, conversionId))
  if (known.kind !== 'known' || defined.kind !== 'defined') return []
  const report = {
    contact: { ...known, id: contactId },
    conversion: { ...defined, id: conversionId },
    convertedAt: undefined,
    value: cents,
    keepsEngagementsOpen: !isSale,
  }
  const facts = right(recordFrom(report, clock.now()))
  return run(conversionRecord, facts.record_id, { type: 'RecordConversion', facts })
}

/** Records a delivery of each activity as if it had been posted; one in twenty fails once. */
const deliver = async (
  { run, clock }: MonthWriter,
  { accountId, webhookId }: Month,
  events: ReadonlyArray<RecordedEvent>,
  random: () => number,
): Promise<void> => {
  for (const event of events) {
    if (event.type !== 'ActivityRecorded') continue
    const { contact_id, engagement_id, lead_id, label } = event.data.activity
    const delivery_id = deliveryIdOf(webhookId, event.id)
    const of = { delivery_id, account_id: accountId, webhook_id: webhookId, activity_id: event.id, lead_id }
    const body = JSON.stringify({ activity: { label }, contact: { id: contact_id } })
    const facts = { ...of, label, contact_id, engagement_id, due_at: clock.now(), body }
    await run(delivery, delivery_id, { type: 'MakeDue', facts, heldAt: undefined }, { cause: event })
    const failures = random() < 0.05 ? 1 : 0
    for (let attempt = 1; attempt <= failures + 1; attempt += 1) {
      const delivered = attempt > failures
      const told = delivered ? { status: 200, reason: 'delivered' } : { status: 503, reason: 'status 503' }
      const outcome = { attempt, ...told, duration_ms: Math.round(40 + random() * 300) }
      const command = { type: 'RecordAttempt', delivered, outcome, nextAttemptAt: clock.now() } as const
      await run(delivery, delivery_id, command, { cause: 'last-of-stream' })
    }
  }
}

/** A person of this number; states and numbers differ, so that they can be told apart and grouped. */
const leadOf = (person: number): Readonly<Record<string, unknown>> => ({
  ...exampleLead,
  first_name: 'Person',
  last_name: `Number ${person}`,
  email: `person.${person}@example.com`,
  phone: `+1415555${String(person % 10_000).padStart(4, '0')}`,
  current_residence_state: ['CA', 'TX', 'NY', 'FL', 'IL'][person % 5],
})

/** What follows from the month is in it: a service that starts on it has nothing to make up for. */
const allHandled = async ({ store, documents }: Stores): Promise<void> => {
  const head = orThrow(await store.head())
  for (const name of checkpointedNames) {
    const checkpoint = checkpointIn(documents, name, 1n)
    await checkpoint.load()
    await checkpoint.flush(head)
    orThrow(await store.saveCheckpoint(name, head))
  }
}

/** In [0, 1), the same ones each time: a linear congruential generator, as in Numerical Recipes. */
const seededRandom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}
