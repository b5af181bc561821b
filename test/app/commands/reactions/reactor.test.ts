import test, { type ExecutionContext } from 'ava'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteEventStore } from '../../../../adapters/sqlite/event-store.js'
import { openDatabase } from '../../../../adapters/sqlite/database.js'
import { categories, type DomainEvent } from '../../../../domain/events.js'
import { beginning, type Recorded } from '../../../../domain/event.js'
import type { EventStore } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { newPhone } from '../../../kit/service/leads.js'
import { labelOf, openReceiver, type Receiver } from '../../../kit/network/receiver.js'
import {
  bearer,
  composed,
  configOf,
  having,
  manage,
  newDataDir,
  openAccount,
  removeDataDir,
  type Site,
} from '../../../kit/service/service.js'
import { send } from '../../../kit/network/http.js'

type Log = ReadonlyArray<Recorded<DomainEvent>>

const withStore = async <A>(dataDir: string, use: (store: EventStore) => Promise<A>): Promise<A> => {
  const opened = await openDatabase(dataDir)
  if (E.isLeft(opened)) throw new Error(opened.left.reason)
  try {
    return await use(sqliteEventStore(opened.right))
  } finally {
    await opened.right.close()
  }
}

const logOf = (dataDir: string): Promise<Log> =>
  withStore(dataDir, async (store) => {
    const log: Array<Recorded<DomainEvent>> = []
    for await (const { events } of store.history(beginning, categories)) log.push(...events)
    return log
  })

/** A directory as a crash left it: the key, these events and no read model. */
const crashedWith = async (keysFrom: string, log: Log): Promise<string> => {
  const dataDir = newDataDir()
  cpSync(join(keysFrom, 'secret-key'), join(dataDir, 'secret-key'))
  await withStore(dataDir, async (store) => {
    for (const { stream, revision, position: _position, ...event } of log) {
      const appended = await store.append(stream, revision === 0 ? 'no-stream' : revision - 1, [event])
      if (E.isLeft(appended)) throw new Error(appended.left.kind)
    }
  })
  return dataDir
}

type Story = {
  readonly receiver: Receiver
  readonly dataDir: string
  readonly log: Log
  readonly apiKey: string
  readonly accountId: string
  readonly contactId: string
  readonly phone: string
  readonly soldId: string
  readonly timeline: ReadonlyArray<unknown>
}

const timelineOf = async (site: Site, accountId: string, contactId: string): Promise<ReadonlyArray<unknown>> => {
  const answer = await manage(site, 'GET', `/accounts/${accountId}/contacts/${contactId}/timeline?limit=500`)
  const entries = having(answer, 'timeline').filter(({ kind }) => kind !== 'delivery')
  return entries.map(({ kind, label, id, next_engagement_id }) => ({ kind, label, id, next_engagement_id }))
}

/** Two leads of one number and a sale, with a webhook, as they went without a crash. */
const tell = async (t: ExecutionContext): Promise<Story> => {
  const receiver = await openReceiver()
  const config = configOf()
  t.teardown(async () => {
    await receiver.close()
    await removeDataDir(config.dataDir)
  })
  const service = await composed(config)
  const account = await openAccount(service)
  await account.addWebhook({ url: receiver.url, token: 'x' })
  const phone = newPhone()
  const { contact_id: contactId } = await account.submitted({ phone })
  await account.submitted({ phone, first_name: 'Grace' })
  const { sold: soldId } = await account.standardConversions()
  await account.record(soldId, { contact_id: contactId })
  await receiver.received(3)
  const timeline = await timelineOf(service, account.id, contactId)
  await service.stop()
  const log = await logOf(config.dataDir)
  return {
    receiver,
    dataDir: config.dataDir,
    log,
    apiKey: account.apiKey,
    accountId: account.id,
    contactId,
    phone,
    soldId,
    timeline,
  }
}

test('a lead that a crash left alone in the log is finished at the next start', async (t) => {
  const story = await tell(t)
  const submitted = story.log.findIndex((event) => event.type === 'LeadSubmitted')
  const dataDir = await crashedWith(story.dataDir, story.log.slice(0, submitted + 1))
  const service = await composed(configOf({ dataDir }))
  t.teardown(async () => {
    await service.stop()
    await removeDataDir(dataDir)
  })
  const found = await send(`${service.url}/api/v3/contacts/find?phone=${encodeURIComponent(story.phone)}`, {
    headers: bearer(story.apiKey),
  })
  t.like(having(found, 'contact'), { id: story.contactId, first_name: 'Ada' })
  t.deepEqual(await timelineOf(service, story.accountId, story.contactId), story.timeline.slice(0, 2))
  const requests = await story.receiver.received(4)
  t.is(requests.filter((request) => labelOf(request) === 'started').length, 3, 'the webhook is told of it too')
})

/** What one append wrote is there as a whole or not at all. */
const isWithinAppend = (log: Log, cut: number): boolean => {
  const [before, after] = [log[cut - 1], log[cut]]
  return before?.stream === after?.stream && before?.causationId === after?.causationId
}

test('wherever a crash cuts the log, the next start finishes what was accepted, once', async (t) => {
  const story = await tell(t)
  const first = story.log.findIndex((event) => event.type === 'LeadSubmitted')
  const accepted = new Map([
    ['LeadSubmitted', 2],
    ['ConversionRecorded', 2],
  ])
  const cuts = story.log.map((_, index) => index + 1).filter((cut) => cut > first && !isWithinAppend(story.log, cut))
  t.true(cuts.length >= 10, `${cuts.length} cuts`)
  for (const cut of cuts) {
    const kept = story.log.slice(0, cut)
    const dataDir = await crashedWith(story.dataDir, kept)
    const service = await composed(configOf({ dataDir }))
    const timeline = await timelineOf(service, story.accountId, story.contactId)
    await service.stop()
    const expected = kept.reduce((sum, { type }) => sum + (accepted.get(type) ?? 0), 0)
    const labels = (entries: ReadonlyArray<unknown>): ReadonlyArray<string> =>
      entries.map((entry) => JSON.stringify(entry)).sort()
    t.deepEqual(
      labels(timeline),
      labels(story.timeline.slice(0, expected)),
      `${cut} events, the last ${kept.at(-1)?.type ?? ''}`,
    )

    const log = await logOf(dataDir)
    const ids = log.map(({ id }) => id)
    const twice = log
      .filter(({ id }, index) => ids.indexOf(id) !== index)
      .map(({ type, stream }) => `${type} in ${stream}`)
    t.deepEqual(twice, [], `${cut} events`)
    await removeDataDir(dataDir)
  }
})

test('a start on a whole log writes nothing new', async (t) => {
  const story = await tell(t)
  const dataDir = await crashedWith(story.dataDir, story.log)
  for (let starts = 0; starts < 3; starts += 1) {
    const service = await composed(configOf({ dataDir }))
    await service.stop()
  }
  const types = (log: Log) => log.map(({ type }) => type).filter((type) => !type.startsWith('Delivery'))
  t.deepEqual(types(await logOf(dataDir)), types(story.log))
  await removeDataDir(dataDir)
})
