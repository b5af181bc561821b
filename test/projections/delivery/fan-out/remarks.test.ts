import test from 'ava'
import { engagement } from '../../../../domain/engagement.js'
import type { EventStore, StoreFailure } from '../../../../domain/ports.js'
import { E } from '../../../../domain/prelude.js'
import { remark } from '../../../../domain/remark.js'
import { accountId, at, contactId, engagementId } from '../../../kit/domain/samples.js'
import { countedReads } from '../../../kit/parts/counted-reads.js'
import { openFanOutStage } from '../../../kit/parts/fan-out-stage.js'
import { rightOf } from '../../../kit/right-of.js'

const said = { note: 'Ten minutes', properties: { seconds: 600, 'who/what': ['a'] } }

/** A fan-out that has made the first activity of a lead due, on a store whose remarks can be made to fail. */
const openStage = async () => {
  let failure: StoreFailure | undefined
  let counted: ReturnType<typeof countedReads> | undefined
  const failing = (stored: EventStore): EventStore => ({
    ...stored,
    readLast: async (stream, count) =>
      failure !== undefined && stream.startsWith('remark-') ? E.left(failure) : stored.readLast(stream, count),
  })
  const stage = await openFanOutStage((stored) => (counted = countedReads(failing(stored))).store)
  const { commandHandler, envelope, submit, run, written } = stage
  const ids = { engagementId: engagementId(1), accountId: accountId(), contactId: contactId() }
  await submit(1)
  await run()
  return {
    ...stage,
    taken: (category: string) => counted?.taken(category).calls ?? -1,
    setFailure: (failed: StoreFailure | undefined) => {
      failure = failed
    },
    say: async (): Promise<number> =>
      rightOf(
        await commandHandler.execute(remark, engagementId(1), { type: 'MakeRemark', ...ids, remark: said }, envelope),
      ).state.made - 1,
    erase: async () => {
      rightOf(await commandHandler.execute(remark, engagementId(1), { type: 'EraseRemarks', ...ids }, envelope))
    },
    report: async (revision?: number) => {
      const told = revision === undefined ? {} : { remark: revision }
      const command = {
        type: 'RecordActivity',
        accountId: accountId(),
        label: 'interested',
        at: at(),
        ...told,
      } as const
      rightOf(await commandHandler.execute(engagement, engagementId(1), command, envelope))
    },
    /** What the webhook gets of each activity after the first. */
    told: async () =>
      (await written('delivery'))
        .flatMap((event) => (event.type === 'DeliveryDue' ? [event.data.body] : []))
        .slice(1)
        .map((body) => {
          const { activity } = JSON.parse(body) as { readonly activity: { note?: string; properties: object } }
          return [activity.note, activity.properties]
        }),
    parked: async () => (await written('parked')).length,
  }
}

test('a webhook gets what was said of an activity, and an activity report without words costs no read', async (t) => {
  const { say, report, run, told, taken } = await openStage()
  const revision = await say()
  await report(revision)
  taken('remark-')
  await run()
  t.is(taken('remark-'), 1)
  await report()
  await run()
  t.is(taken('remark-'), 0)
  t.deepEqual(await told(), [
    [said.note, said.properties],
    [undefined, {}],
  ])
})

test('what was erased before the webhook could be told of it is left out', async (t) => {
  const { say, report, erase, run, told } = await openStage()
  await report(await say())
  await erase()
  await run()
  t.deepEqual(await told(), [[undefined, {}]])
})

test('while a remark can not be read its activity waits, and is parked where it never can be', async (t) => {
  const { say, report, run, told, parked, setFailure } = await openStage()
  await report(await say())
  setFailure({ kind: 'unavailable', reason: 'away' })
  await t.throwsAsync(run(), { message: /away/ })
  t.is(await parked(), 0)

  setFailure({ kind: 'corrupt', reason: 'unknown' })
  await report()
  await run()
  t.is(await parked(), 1)
  t.deepEqual(await told(), [[undefined, {}]])
})
