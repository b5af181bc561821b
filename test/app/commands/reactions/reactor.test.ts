import test from 'ava'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { sqliteEventStore } from '../../../../adapters/sqlite/event-store.js'
import { neverAborted } from '../../../../domain/abortable.js'
import { categories, type RecordedEvent } from '../../../../domain/events.js'
import { beginning } from '../../../../domain/event.js'
import type { EventStore } from '../../../../domain/ports.js'
import { bearer, having, send, type Site } from '../../../kit/network/http.js'
import { labelOf, openReceiver, type Receiver } from '../../../kit/network/receiver.js'
import { rightOf } from '../../../kit/right-of.js'
import { manage, openAccount } from '../../../kit/service/account.js'
import { dataDirectory, openDataDirectory } from '../../../kit/service/data-directory.js'
import { newPhone } from '../../../kit/service/leads.js'
import { openService, serviceFor } from '../../../kit/service/in-process-service.js'
import { openIn } from '../../../kit/stores/sqlite.js'

type Log = ReadonlyArray<RecordedEvent>

const withStore = async <A>(dataDir: string, use: (store: EventStore) => Promise<A>): Promise<A> => {
  const database = await openIn(dataDir)
  try {
    return await use(sqliteEventStore(database))
  } finally {
    await database.close()
  }
}

const logOf = (dataDir: string): Promise<Log> =>
  withStore(dataDir, async (store) => {
    const log: Array<RecordedEvent> = []
    for await (const { events } of store.history(beginning, categories, neverAborted)) log.push(...events)
    return log
  })

type Story = {
  readonly receiver: Receiver
  readonly dataDir: string
  readonly log: Log
  readonly apiKey: string
  readonly accountId: string
  readonly contactId: string
  readonly phone: string
  readonly timeline: ReadonlyArray<unknown>
}

const timelineOf = async (site: Site, accountId: string, contactId: string): Promise<ReadonlyArray<unknown>> => {
  const answer = await manage(site, 'GET', `/accounts/${accountId}/contacts/${contactId}/timeline?limit=500`)
  const entries = having(answer, 'timeline').filter(({ kind }) => kind !== 'delivery')
  return entries.map(({ kind, label, id, next_engagement_id }) => ({ kind, label, id, next_engagement_id }))
}

const directory = openDataDirectory()
let story: Story

/** Two leads of one number and a sale, with a webhook, as they went without a crash. */
test.before(async () => {
  const receiver = await openReceiver()
  const service = await openService(directory.path)
  const account = await openAccount(service)
  await account.addWebhook({ url: receiver.url, token: 'x' })
  const phone = newPhone()
  const { contact_id: contactId } = await account.submitted({ phone })
  await account.submitted({ phone, first_name: 'Grace' })
  const { sold } = await account.standardConversions()
  await account.record(sold, { contact_id: contactId })
  await receiver.received(3)
  const timeline = await timelineOf(service, account.id, contactId)
  await service.stop()
  const log = await logOf(directory.path)
  const { id: accountId, apiKey } = account
  story = { receiver, dataDir: directory.path, log, apiKey, accountId, contactId, phone, timeline }
})

test.after.always(async () => {
  await story.receiver.close()
  await directory.remove()
})

/** Writes what a crash left in a directory: the key, these events and no read model. */
const crashedWith = async (dataDir: string, { dataDir: keysFrom }: Story, log: Log): Promise<void> => {
  cpSync(join(keysFrom, 'secret-key'), join(dataDir, 'secret-key'))
  await withStore(dataDir, async (store) => {
    for (const { stream, revision, position: _position, ...event } of log) {
      rightOf(await store.append(stream, revision === 0 ? 'no-stream' : revision - 1, [event]))
    }
  })
}

// One after the other: they share one receiver.
test.serial('a lead that a crash left alone in the log is finished at the next start', async (t) => {
  const submitted = story.log.findIndex((event) => event.type === 'LeadSubmitted')
  const dataDir = dataDirectory(t)
  await crashedWith(dataDir, story, story.log.slice(0, submitted + 1))
  const service = await serviceFor(t, dataDir)
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

test.serial('wherever a crash cuts the log, the next start finishes what was accepted, once', async (t) => {
  const first = story.log.findIndex((event) => event.type === 'LeadSubmitted')
  const accepted = new Map([
    ['LeadSubmitted', 2],
    ['ConversionRecorded', 2],
  ])
  const cuts = story.log.map((_, index) => index + 1).filter((cut) => cut > first && !isWithinAppend(story.log, cut))
  t.true(cuts.length >= 10, `${cuts.length} cuts`)
  for (const cut of cuts) {
    const written = story.log.slice(0, cut)
    const dataDir = dataDirectory(t)
    await crashedWith(dataDir, story, written)
    const service = await openService(dataDir)
    const timeline = await timelineOf(service, story.accountId, story.contactId)
    await service.stop()
    const expected = written.reduce((sum, { type }) => sum + (accepted.get(type) ?? 0), 0)
    const labels = (entries: ReadonlyArray<unknown>): ReadonlyArray<string> =>
      entries.map((entry) => JSON.stringify(entry)).sort()
    t.deepEqual(
      labels(timeline),
      labels(story.timeline.slice(0, expected)),
      `${cut} events, the last ${written.at(-1)?.type ?? ''}`,
    )

    const log = await logOf(dataDir)
    const ids = log.map(({ id }) => id)
    const twice = log
      .filter(({ id }, index) => ids.indexOf(id) !== index)
      .map(({ type, stream }) => `${type} in ${stream}`)
    t.deepEqual(twice, [], `${cut} events`)
  }
})

test.serial('a start on a whole log writes nothing new', async (t) => {
  const dataDir = dataDirectory(t)
  await crashedWith(dataDir, story, story.log)
  for (let starts = 0; starts < 3; starts += 1) {
    const service = await openService(dataDir)
    await service.stop()
  }
  const types = (log: Log) => log.map(({ type }) => type).filter((type) => !type.startsWith('Delivery'))
  t.deepEqual(types(await logOf(dataDir)), types(story.log))
})

test.serial('what a contact said before a crash is said once, whatever it said afterwards', async (t) => {
  const livedIn = dataDirectory(t)
  const service = await openService(livedIn)
  const account = await openAccount(service)
  const phone = newPhone()
  const { contact_id: contactId } = await account.submitted({ phone })
  const say = (text: string) => account.manage('POST', `/contacts/${contactId}/messages`, { text })
  for (const text of ['STOP', 'STOP', 'START', 'START']) t.is((await say(text)).status, 201)
  const { next_engagement_id: engagementId } = await account.submitted({ phone })
  await account.report(engagementId, 'outcome', 'opted_out')
  t.is((await say('START')).status, 201)
  await account.submitted({ phone })
  await service.stop()
  const log = await logOf(livedIn)
  const dataDir = dataDirectory(t)
  await crashedWith(dataDir, { ...story, dataDir: livedIn }, log)
  const again = await openService(dataDir)
  await again.stop()
  const types = (all: Log) => all.map(({ type, stream }) => `${type} in ${stream}`)
  t.deepEqual(types(await logOf(dataDir)), types(log))
})
