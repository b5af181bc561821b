import type { ExecutionContext } from 'ava'
import Database from 'better-sqlite3'
import { join } from 'node:path'
import { compareGenerations } from '../../../app/cli/rebuild/comparison.js'
import { deliveryIdOf } from '../../../domain/derived-id.js'
import type { DomainEvent } from '../../../domain/events.js'
import type { WebhookId } from '../../../domain/ids.js'
import { orThrow } from '../../../domain/store-failed.js'
import { collectionOf } from '../../../projections/projection.js'
import { readModels } from '../../../projections/read-models/registry.js'
import { rebuild } from '../../../projections/subscriptions/rebuild.js'
import type { EventStoreDouble } from '../../eventstoredb-double/double.js'
import { serversOf } from '../stores/servers.js'
import { storesAtRest } from '../stores/stores-at-rest.js'
import { until } from '../time/until.js'
import { clientOf, type Client } from '../network/http.js'
import type { Acknowledged } from './ledger.js'
import type { LoadReceiver } from './load-receiver.js'

export type StoredEvent = DomainEvent & {
  /** Counts the events of the log, from 1 on. */
  readonly position: number
  readonly stream: string
  readonly revision: number
  readonly id: string
}

type Row = Pick<StoredEvent, 'position' | 'stream' | 'revision' | 'id' | 'type'> & { readonly data: string }

/** The log of a service that runs or was killed. */
export const eventsAfter = (directory: string, position: number): ReadonlyArray<StoredEvent> => {
  const servers = serversOf(directory)
  return servers === undefined ? eventsInFile(directory, position) : eventsIn(servers.double, position)
}

/** As anybody's SQLite tool reads them. */
const eventsInFile = (directory: string, position: number): ReadonlyArray<StoredEvent> => {
  const database = new Database(join(directory, 'leadloop.db'), { readonly: true, timeout: 5_000 })
  try {
    return database
      .prepare<[number], Row>(
        'SELECT position, stream, revision, id, type, data FROM events WHERE position > ? ORDER BY position',
      )
      .all(position)
      .map(({ data, ...row }) => ({ ...row, data: JSON.parse(data) as unknown }) as StoredEvent)
  } finally {
    database.close()
  }
}

/** A log on a server has gaps between its positions, so they are counted anew. */
const eventsIn = ({ log }: EventStoreDouble, position: number): ReadonlyArray<StoredEvent> =>
  log()
    .slice(position)
    .map(({ stream, revision, id, type, data }, index) => {
      const event = { stream, revision, id, type, data: JSON.parse(data.toString()) as unknown }
      return { ...event, position: position + index + 1 } as StoredEvent
    })

/**
 * What the streams must hold whatever happened: `problems` are things that stand there once too often or without a
 * cause, `owed` are things that have not followed yet.
 */
export type Streams = {
  readonly take: (events: ReadonlyArray<StoredEvent>) => void
  readonly position: () => number
  readonly problems: ReadonlyArray<string>
  readonly owed: () => ReadonlyArray<string>
  /** What was acknowledged and does not stand there. */
  readonly unknown: (told: Acknowledged) => ReadonlyArray<string>
  /** Deliveries whose body the receiver did not get. */
  readonly undelivered: (receiver: LoadReceiver) => ReadonlyArray<string>
  /** Deliveries that the receiver got with other bytes too. */
  readonly altered: (receiver: LoadReceiver) => ReadonlyArray<string>
  /** Deliveries that the receiver got more often than the log knows of: a crash does that, an orderly end does not. */
  readonly unrecorded: (receiver: LoadReceiver) => ReadonlyArray<string>
  readonly leads: () => number
  readonly deliveries: () => number
}

export const streams = (): Streams => {
  const problems: Array<string> = []
  const owed = new Set<string>()
  const seen = new Set<string>()
  const revisions = new Map<string, number>()
  const contactOf = new Map<string, string>()
  const leads = new Map<string, string>()
  const records = new Map<string, string>()
  const webhooks = new Map<string, Array<WebhookId>>()
  const bodies = new Map<string, string>()
  const attempts = new Map<string, number>()
  let position = 0

  const once = (what: string): void => {
    if (seen.has(what)) problems.push(`twice: ${what}`)
    seen.add(what)
  }
  const owe = (what: string): void => {
    if (!seen.has(what)) owed.add(what)
  }
  /** Happens once, and only when it is owed. */
  const follows = (what: string): void => {
    once(what)
    if (!owed.delete(what)) problems.push(`without a cause: ${what}`)
  }

  const note = (event: StoredEvent): void => {
    switch (event.type) {
      case 'LeadSubmitted': {
        const { lead_id, contact_id, engagement_id, details } = event.data
        once(`lead ${lead_id}`)
        const { sent_as } = details.additional_info
        if (sent_as !== undefined) once(`lead of submission ${sent_as}`)
        leads.set(lead_id, [contact_id, engagement_id].join())
        owe(`contact ${contact_id} engaged by ${lead_id}`)
        owe(`conversation ${engagement_id}`)
        owe(`started of ${lead_id}`)
        return
      }
      case 'ContactCreated': {
        const { account_id, contact_id, details } = event.data
        once(`contact for ${details.phone} in ${account_id}`)
        contactOf.set(details.phone, contact_id)
        return
      }
      case 'ContactEngaged':
        follows(`contact ${event.data.contact_id} engaged by ${event.data.lead_id}`)
        return
      case 'EngagementStarted':
        follows(`conversation ${event.data.engagement_id}`)
        return
      case 'ConversionRecorded': {
        const { record_id, conversion_id, contact_id, ends, converted_at, value } = event.data
        once(`record of ${conversion_id} and ${contact_id}`)
        const record = { id: record_id, contact_id, converted_at, value, conversion_id }
        records.set(`${conversion_id}/${contact_id}`, JSON.stringify({ conversion_contact: record }))
        owe(`activity of ${record_id}`)
        owe(`mark of ${record_id}`)
        for (const ended of ends) owe(`end of ${ended}`)
        return
      }
      case 'ContactConverted':
        follows(`mark of ${event.data.record_id}`)
        return
      case 'EngagementEnded':
        follows(`end of ${event.data.engagement_id}`)
        return
      case 'ActivityRecorded': {
        const { activity, record_id } = event.data
        follows(record_id === null ? `${activity.label} of ${activity.lead_id}` : `activity of ${record_id}`)
        for (const webhook of webhooks.get(activity.account_id) ?? []) {
          owe(`delivery ${deliveryIdOf(webhook, event.id)} due`)
        }
        return
      }
      case 'WebhookAdded': {
        const { account_id, webhook_id } = event.data
        webhooks.set(account_id, [...(webhooks.get(account_id) ?? []), webhook_id])
        return
      }
      case 'DeliveryDue': {
        const { delivery_id, body } = event.data
        follows(`delivery ${delivery_id} due`)
        bodies.set(delivery_id, body)
        owe(`delivery ${delivery_id} made`)
        return
      }
      case 'DeliveryAttemptFailed':
        attempts.set(event.stream, (attempts.get(event.stream) ?? 0) + 1)
        return
      case 'DeliverySucceeded':
        attempts.set(event.stream, (attempts.get(event.stream) ?? 0) + 1)
        follows(`delivery ${event.stream.slice('delivery-'.length)} made`)
        return
      default:
        return
    }
  }

  const take: Streams['take'] = (events) => {
    for (const event of events) {
      if (event.position !== position + 1) problems.push(`position ${event.position} comes after ${position}`)
      position = event.position
      const expected = (revisions.get(event.stream) ?? -1) + 1
      if (event.revision !== expected) problems.push(`${event.stream}: revision ${event.revision}, not ${expected}`)
      revisions.set(event.stream, event.revision)
      once(`event ${event.id}`)
      note(event)
    }
  }

  const unknown: Streams['unknown'] = (told) => [
    ...told.leads
      .filter(({ leadId, contactId, engagementId, submission }) => {
        const isThere = leads.get(leadId) === [contactId, engagementId].join()
        const known = contactOf.get(submission.phone)
        return !isThere || (known !== undefined && known !== contactId)
      })
      .map(({ leadId }) => `lead ${leadId}`),
    ...told.records
      .filter(
        ({ conversionId, contactId, body }) => records.get(`${conversionId}/${contactId}`) !== JSON.stringify(body),
      )
      .map(({ conversionId, contactId }) => `record of ${conversionId} and ${contactId}`),
  ]

  return {
    take,
    position: () => position,
    problems,
    owed: () => [...owed],
    unknown,
    undelivered: ({ bodies: received }) =>
      [...bodies].filter(([id, body]) => received.get(id)?.includes(body) !== true).map(([id]) => id),
    altered: ({ bodies: received }) =>
      [...bodies].filter(([id, body]) => received.get(id)?.some((one) => one !== body) === true).map(([id]) => id),
    unrecorded: ({ bodies: received }) =>
      [...received].filter(([id, posts]) => posts.length > (attempts.get(`delivery-${id}`) ?? 0)).map(([id]) => id),
    leads: () => leads.size,
    deliveries: () => bodies.size,
  }
}

/** How long everything that is owed may take to follow, in milliseconds. */
const longestFollowUp = 120_000

/**
 * Follows the log of the service at `address` until nothing is owed any more and its read models show all of it;
 * resolves with what is still missing when the time is over. It looks again and again, since nobody outside is told of
 * the last record.
 */
export const stillOwed = async (log: Streams, directory: string, address: string): Promise<ReadonlyArray<string>> => {
  const client = clientOf(address)
  const missing = async (): Promise<ReadonlyArray<string>> => {
    log.take(eventsAfter(directory, log.position()))
    return log.owed().length > 0 ? log.owed() : lagging(client)
  }
  const isNothing = (all: ReadonlyArray<string>): boolean => all.length === 0
  try {
    return await until('all that is owed has followed', longestFollowUp, missing, isNothing).catch(async () => [
      ...(await missing()),
      ...(await troubles(client)),
    ])
  } finally {
    client.close()
  }
}

const lagging = async (client: Client): Promise<ReadonlyArray<string>> => {
  const { projections = [] } = (await client.send('/health/ready')).body
  if (projections.length === 0) return ['the service is not ready']
  return projections.filter(({ lag }) => lag !== 0).map(({ name, lag }) => `${name} lags by ${lag}`)
}

/** What the service says that may explain why nothing follows. */
const troubles = async (client: Client): Promise<ReadonlyArray<string>> => {
  const { projections = [], parked, starting } = (await client.send('/health/ready')).body
  const standing = projections.filter(
    ({ lag, failure, retrying }) => lag !== 0 || failure !== null || retrying !== null,
  )
  return standing.length > 0 || parked?.length !== 0 || starting?.length !== 0
    ? [JSON.stringify({ standing, parked, starting })]
    : []
}

/**
 * Read models that differ from what a rebuild makes of the log: a sentence each. The service has stopped; on servers it
 * may go on, as long as nothing happens.
 */
export const differingReadModels = async (directory: string): Promise<ReadonlyArray<string>> => {
  const { store, documents, close } = await storesAtRest(directory)
  const differences: Array<string> = []
  await rebuild(readModels, { store, onDocuments: (work) => work(documents) }, () => undefined)
  for (const projection of readModels) {
    const { documents: count, differing } = await compareGenerations(projection, documents)
    if (differing > 0) differences.push(`${projection.name}: ${differing} of ${count} documents differ`)
    orThrow(await documents.drop(collectionOf(projection, 'next')))
  }
  await close()
  return differences
}

/**
 * Reads a directory whose service has stopped, or owes nothing any more, from the first event on: nothing is lost,
 * nothing stands there twice, every delivery was received with the same bytes, and the read models are what a rebuild
 * makes of the log.
 */
export const isWhole = async (
  t: ExecutionContext,
  directory: string,
  receiver: LoadReceiver,
  told: Acknowledged,
): Promise<Streams> => {
  const log = streams()
  log.take(eventsAfter(directory, 0))
  t.deepEqual(log.problems, [])
  t.deepEqual(log.owed(), [])
  t.deepEqual(log.unknown(told), [])
  t.deepEqual(log.undelivered(receiver), [])
  t.deepEqual(log.altered(receiver), [])
  t.deepEqual(receiver.unauthorized, [])
  t.deepEqual(await differingReadModels(directory), [])
  return log
}
