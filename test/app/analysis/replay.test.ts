import test, { type ExecutionContext } from 'ava'
import { replay, type ReplayedEvent } from '../../../app/analysis/replay.js'
import type { ReplayRequest } from '../../../app/analysis/replay-request.js'
import { neverAborted } from '../../../domain/abortable.js'
import type { DomainEvent, RecordedEvent } from '../../../domain/events.js'
import { beginning, positionOf } from '../../../domain/event.js'
import type { LogReader } from '../../../domain/ports.js'
import { UndecodableEvent } from '../../../domain/store-failed.js'
import { categoryOf } from '../../../domain/stream-name.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { newEvent } from '../../kit/domain/new-events.js'
import { contactCreated, contactId, details } from '../../kit/domain/samples.js'
import { rightOf } from '../../kit/right-of.js'
import type { History } from '../../kit/domain/histories.js'
import { livelyHistory, writeHistory } from '../../kit/domain/lively-history.js'
import { openEventStoreDb } from '../../kit/stores/eventstoredb.js'
import { openSqliteStores } from '../../kit/stores/sqlite.js'

const everything: ReplayRequest = { after: beginning, isFollowing: false, isPersonalShown: true }

const replayed = async (log: LogReader, asked: Partial<ReplayRequest> = {}): Promise<ReadonlyArray<ReplayedEvent>> => {
  const all: Array<ReplayedEvent> = []
  for await (const { events } of replay(log, { ...everything, ...asked }, neverAborted)) all.push(...events)
  return all
}

type Data = Readonly<Record<string, unknown>>

const idsOf = (events: ReadonlyArray<{ readonly id: string }>): ReadonlyArray<string> => events.map(({ id }) => id)

/** The first event of each stream. */
const firstEvents = (history: History): ReadonlyMap<string, RecordedEvent> =>
  new Map(history.filter(({ revision }) => revision === 0).map((event) => [event.stream, event]))

test.serial(
  'one history gives the same lines from the embedded store and from EventStoreDB, positions aside',
  async (t) => {
    const history = livelyHistory()
    const sqlite = await openSqliteStores()
    t.teardown(sqlite.close)
    const { store } = await openEventStoreDb(t)
    const [embedded, server] = [await writeHistory(sqlite.store, history), await writeHistory(store, history)]
    const lines = async (log: LogReader): Promise<ReadonlyArray<string>> =>
      (await replayed(log)).map(({ position: _, ...event }) => JSON.stringify(event))
    t.is((await lines(embedded)).length, history.length)
    t.deepEqual(await lines(server), await lines(embedded))
  },
)

type IsWanted = (event: RecordedEvent, named: (name: string) => ReadonlyArray<unknown>) => boolean

/** What the event, and the first event of its stream, say under a name. */
const namedIn = (event: RecordedEvent, first: RecordedEvent | undefined) => (name: string) =>
  [event, first].flatMap((one) => {
    const data = one?.data as Data | undefined
    return [data?.[name], (data?.['activity'] as Data | undefined)?.[name]]
  })

/** The whole log, and then what stands behind its middle, where the first events of its streams were not seen. */
const chooses = async (t: ExecutionContext, asked: Partial<ReplayRequest>, isWanted: IsWanted): Promise<void> => {
  const history = livelyHistory()
  const store = await writeHistory(memoryEventStore(memoryLog()), history)
  const firsts = firstEvents(history)
  const wantedOf = (events: History) =>
    idsOf(events.filter((event) => isWanted(event, namedIn(event, firsts.get(event.stream)))))
  const middle = Math.floor(history.length / 2)
  const after = positionOf(BigInt((await replayed(store))[middle - 1]?.position ?? 0))

  t.deepEqual(idsOf(await replayed(store, asked)), wantedOf(history))
  t.deepEqual(idsOf(await replayed(store, { ...asked, after })), wantedOf(history.slice(middle)))
  t.true(wantedOf(history.slice(middle)).length > 0 && wantedOf(history).length < history.length)
}

/** The last lead of the history, whose events stand on both sides of its middle as a rule. */
const lastLead = () => {
  const leads = livelyHistory().flatMap((event) => (event.type === 'LeadSubmitted' ? [event.data] : []))
  const last = leads.at(-1)
  if (last === undefined) throw new Error('there is no lead')
  return last
}

test('what concerns one account is chosen, and nothing of another', async (t) => {
  const { account_id: accountId } = lastLead()
  await chooses(
    t,
    { accountId },
    ({ stream }, named) => stream === `account-${accountId}` || named('account_id').includes(accountId),
  )
})

test('what concerns one contact is chosen, and nothing of another', async (t) => {
  const { contact_id: contactId } = lastLead()
  await chooses(t, { contactId }, (_, named) => named('contact_id').includes(contactId))
})

test('what concerns one source is chosen, its deliveries too', async (t) => {
  const { source_id: sourceId } = lastLead()
  const firsts = firstEvents(livelyHistory())
  const ofEngagement = (id: unknown): boolean => {
    const first = firsts.get(`engagement-${String(id)}`)
    return first?.type === 'EngagementStarted' && first.data.source_id === sourceId
  }
  await chooses(t, { sourceId }, ({ stream }, named) => {
    const referrals = named('referral').map((referral) => (referral as Data | undefined)?.['marketing_source_id'])
    const isOfSource = [...named('source_id'), ...referrals].includes(sourceId)
    return (
      isOfSource ||
      (['delivery', 'message', 'remark'].includes(categoryOf(stream)) && named('engagement_id').some(ofEngagement))
    )
  })
})

test('types, categories, times and chains choose, too', async (t) => {
  const types = new Set(['LeadSubmitted', 'ActivityRecorded'])
  await chooses(t, { types }, ({ type }) => types.has(type))
  await chooses(t, { categories: ['engagement', 'lead'] }, ({ stream }) => /^(engagement|lead)-/.test(stream))
  const history = livelyHistory()
  const [from, to] = [history.at(Math.floor(history.length / 3))?.time, history.at(-2)?.time]
  if (from === undefined || to === undefined) return t.fail('the history is too short')
  await chooses(t, { from, to }, ({ time }) => time >= from && time < to)
  const correlationId = history.at(-1)?.correlationId ?? ''
  await chooses(t, { correlationId }, (event) => event.correlationId === correlationId)
})

test('a replay that follows gives what is appended later, until it is told to end', async (t) => {
  const history = livelyHistory()
  const log = memoryLog()
  const store = await writeHistory(memoryEventStore(log), history.slice(0, -1))
  const ending = new AbortController()
  const seen: Array<string> = []
  for await (const { events } of replay(store, { ...everything, isFollowing: true }, ending.signal)) {
    seen.push(...idsOf(events))
    if (seen.length === history.length - 1) await writeHistory(store, history.slice(-1))
    if (seen.length === history.length) ending.abort()
  }
  t.deepEqual(seen, idsOf(history))
})

test('what was stored with NUL or half of a surrogate pair is well formed', async (t) => {
  const data = { ...contactCreated.data, details: details({ first_name: 'a\0\ud800' }) }
  const store = memoryEventStore(memoryLog())
  rightOf(
    await store.append(`contact-${contactId()}`, 'no-stream', [
      newEvent(1, { ...contactCreated, data } as DomainEvent),
    ]),
  )
  const [event] = await replayed(store)
  t.like(event?.data, { details: details({ first_name: 'a\ufffd\ufffd' }) })
})

test('an event that can not be read keeps nobody from what stands behind it', async (t) => {
  const history = livelyHistory()
  const log = memoryLog()
  const store = await writeHistory(memoryEventStore(log), history)
  const accountId = lastLead().account_id
  const whole = await replayed(store, { accountId })
  const index = log.events.findIndex(({ type }) => type === 'LeadSubmitted')
  const spoilt = log.events[index]
  if (spoilt === undefined) return t.fail('there is no lead')
  const unreadable = { ...spoilt, stored: '{}' }
  log.events[index] = unreadable
  const stream = log.streams.get(spoilt.stream)
  if (stream !== undefined) stream[0] = unreadable
  const error = await t.throwsAsync(replayed(store, { accountId }), { instanceOf: UndecodableEvent })
  t.is(error.entry.position, spoilt.position)
  t.deepEqual(
    idsOf(await replayed(store, { accountId, after: spoilt.position })),
    idsOf(whole.filter(({ position }) => position > Number(spoilt.position))),
  )
})
