import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { clientCommands } from '../../../app/commands/client-commands.js'
import { reactor } from '../../../app/commands/reactions/reactor.js'
import { recordReport } from '../../../app/manage/contacts/activity-report.js'
import type { ActivityLabel } from '../../../domain/activity.js'
import { newAggregate } from '../../../domain/aggregate.js'
import { engagement } from '../../../domain/engagement.js'
import type { ActivityReportId } from '../../../domain/ids.js'
import { E } from '../../../domain/prelude.js'
import { remark, type Remark } from '../../../domain/remark.js'
import { accountId, at, attribution, contactId, engagementId, reportId } from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { countedReads } from '../../kit/parts/counted-reads.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

const nothing: Remark = { note: null, properties: {} }
const said: Remark = { note: 'Ten minutes', properties: { seconds: 600 } }

type Reported = { readonly label?: ActivityLabel; readonly reportId?: ActivityReportId; readonly engagement?: number }

/** An engagement that has begun, and a store that others write to, which counts and can fail. */
const openStage = async () => {
  const appends: Array<string> = []
  let refused: string | undefined
  const stored = memoryEventStore(memoryLog())
  const { store, taken } = countedReads({
    ...stored,
    append: async (stream, expected, events) => {
      if (refused !== undefined && stream.startsWith(refused)) return E.left({ kind: 'unavailable', reason: 'away' })
      const appended = await stored.append(stream, expected, events)
      if (E.isRight(appended)) appends.push(...events.map(({ type }) => type))
      return appended
    },
  })
  const clock = manualClock()
  const ids = randomIds(clock)
  const commandHandler = sharedHandler(store, clock)
  const commands = clientCommands({
    store,
    commandHandler,
    reactor: reactor({ commandHandler, logger: recordingLogger() }),
    ids,
    unitOfWork: undefined,
    untilAnswerable: () => Promise.resolve(),
  })
  const started = { attribution: attribution(), submittedAt: at(), engagedAt: at(), filtered: false }
  const envelope = { actor: 'test', eventId: ids.uuid }
  const start = { type: 'StartEngagement', ...started } as const
  rightOf(await commandHandler.execute(engagement, engagementId(), start, envelope, newAggregate(engagement)))
  return {
    report: (what: Remark, { label = 'interested', engagement: n = 1, ...report }: Reported = {}) =>
      recordReport(
        { commandHandler, clientCommands: commands, clock, ids },
        { accountId: accountId(), engagementId: engagementId(n), label, said: what, ...report },
        'operator',
      ),
    erase: async () => {
      const concerned = { engagementId: engagementId(), accountId: accountId(), contactId: contactId() }
      rightOf(await commandHandler.execute(remark, engagementId(), { type: 'EraseRemarks', ...concerned }, envelope))
    },
    /** From now on no append to a stream of this category succeeds. */
    refuse: (category: string | undefined) => {
      refused = category
    },
    /** Since it was asked last. */
    counts: () => ({ appended: appends.splice(0), reads: taken().calls }),
    streamOf: async (category: string) => rightOf(await store.read(`${category}-${engagementId()}`)).events,
  }
}

test('an activity report without words is one read and one append, one with words two of each', async (t) => {
  const { report, counts } = await openStage()
  counts()
  rightOf(await report(nothing))
  t.deepEqual(counts(), { appended: ['ActivityRecorded'], reads: 1 })
  for (const what of [said, { ...nothing, note: '' }, { ...nothing, properties: { seconds: 0 } }]) {
    rightOf(await report(what))
    t.deepEqual(counts(), { appended: ['RemarkMade', 'ActivityRecorded'], reads: 2 })
  }
})

test('what is said stands in the remark, to which the activity refers, and nowhere in the engagement', async (t) => {
  const { report, streamOf } = await openStage()
  rightOf(await report(said))
  rightOf(await report(nothing))
  rightOf(await report(said, { label: 'dormant', reportId: reportId(1) }))
  const reported = (await streamOf('engagement')).flatMap((event) =>
    event.type === 'ActivityRecorded' ? [event.data] : [],
  )
  t.deepEqual(
    reported.slice(1).map(({ activity, remark: revision }) => [activity.note, activity.properties, revision]),
    [
      [null, {}, 0],
      [null, {}, undefined],
      [null, {}, 1],
    ],
  )
  const ids = { engagement_id: engagementId(), account_id: accountId(), contact_id: contactId() }
  t.deepEqual(
    (await streamOf('remark')).map(({ data }) => data),
    [
      { ...ids, ...said },
      { ...ids, ...said, report_id: reportId(1) },
    ],
  )
})

test('nothing is left of an activity report that is refused', async (t) => {
  const { report, erase, counts } = await openStage()
  rightOf(await report(nothing, { label: 'dormant' }))
  counts()
  const refusals = [
    [await report(said, { engagement: 2 }), 'engagement-not-found'],
    [await report(said, { label: 'started' }), 'label-not-reportable'],
    [await report(said, { label: 'qualified' }), 'engagement-ended'],
    [await report({ ...said, note: 'x'.repeat(33_000) }), 'activity-report-too-large'],
  ] as const
  for (const [refused, kind] of refusals) t.like(refused, { left: { kind } })
  t.deepEqual(counts().appended, [])

  await erase()
  counts()
  t.like(await report(said), { left: { kind: 'remarks-erased' } })
  t.deepEqual(counts().appended, [])
  rightOf(await report(nothing))
  t.deepEqual(counts().appended, ['ActivityRecorded'])
})

test('an activity report that broke off between its two appends is completed when it is repeated, and no word comes twice', async (t) => {
  const { report, refuse, counts, streamOf } = await openStage()
  const first = { reportId: reportId(1) }
  counts()
  refuse('engagement-')
  t.like(await report(said, first), { left: { kind: 'unavailable' } })
  t.deepEqual(counts().appended, ['RemarkMade'])
  refuse(undefined)
  rightOf(await report(said, { reportId: reportId(2) }))
  counts()
  for (const appended of [['ActivityRecorded'], [], []]) {
    rightOf(await report(said, first))
    t.deepEqual(counts().appended, appended)
  }
  const last = (await streamOf('engagement')).at(-1)
  t.like(last, { data: { remark: 0, report_id: reportId(1) } })
})

test('nothing is left of what a repeated activity report says anew', async (t) => {
  const { report, counts } = await openStage()
  const repeated = { reportId: reportId(1) }
  rightOf(await report(nothing, repeated))
  counts()
  rightOf(await report(said, repeated))
  t.deepEqual(counts().appended, [])
})

test('an activity report that comes several times at the same moment is recorded once, with one remark', async (t) => {
  const { report, counts } = await openStage()
  counts()
  const results = await Promise.all(Array.from({ length: 4 }, () => report(said, { reportId: reportId(1) })))
  t.is(results.filter((result) => rightOf(result).events.length > 0).length, 1)
  t.deepEqual(counts().appended, ['RemarkMade', 'ActivityRecorded'])
})
