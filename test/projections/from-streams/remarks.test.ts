import test from 'ava'
import { remark } from '../../../domain/remark.js'
import type { EventStore } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import { remarksAt } from '../../../projections/from-streams/remarks.js'
import { randomIds } from '../../../adapters/node/ids.js'
import { logOf } from '../../kit/domain/log.js'
import { accountId, contactId, engagementId } from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { cachedHandler } from '../../kit/parts/command-handlers.js'
import { countedReads } from '../../kit/parts/counted-reads.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'

const ids = { engagementId: engagementId(), accountId: accountId(), contactId: contactId() }
const said = (n: number) => ({ note: `Note ${n}`, properties: { n } })

/** An engagement with four remarks. */
const openStage = async () => {
  const { store, taken } = countedReads(memoryEventStore(memoryLog()))
  const clock = manualClock()
  const { execute } = cachedHandler(store, clock)
  const envelope = { actor: 'test', eventId: randomIds(clock).uuid }
  for (const n of [0, 1, 2, 3]) {
    rightOf(await execute(remark, engagementId(), { type: 'MakeRemark', ...ids, remark: said(n) }, envelope))
  }
  taken()
  return { store, taken, erase: () => execute(remark, engagementId(), { type: 'EraseRemarks', ...ids }, envelope) }
}

test('the newest remark costs one read, any others two, however many are between them', async (t) => {
  const { store, taken } = await openStage()
  t.deepEqual(rightOf(await remarksAt(store, engagementId(), [3])), new Map([[3, said(3)]]))
  t.like(taken(), { calls: 1, events: 1 })
  const two = rightOf(await remarksAt(store, engagementId(), [2, 1]))
  t.deepEqual([two.get(1), two.get(2)], [said(1), said(2)])
  t.like(taken(), { calls: 2, events: 3 })
})

test('an erased remark is left out, before its events are gone and after', async (t) => {
  const { store, erase } = await openStage()
  rightOf(await erase())
  t.is(rightOf(await store.read(`remark-${engagementId()}`)).events.length, 5)
  t.deepEqual(rightOf(await remarksAt(store, engagementId(), [1, 3])), new Map())

  const data = { engagement_id: engagementId(), account_id: accountId(), contact_id: contactId() }
  const events = logOf([`remark-${engagementId()}`, { type: 'RemarksErased', data }])
  const truncated: Pick<EventStore, 'read' | 'readLast'> = {
    read: () => Promise.resolve(E.right({ events, revision: 4 })),
    readLast: () => Promise.resolve(E.right(events)),
  }
  t.deepEqual(rightOf(await remarksAt(truncated, engagementId(), [1, 3])), new Map())
})

test('where there is no remark none is found, and a store that fails says so', async (t) => {
  const { store } = await openStage()
  t.deepEqual(rightOf(await remarksAt(store, engagementId(2), [0])), new Map())
  const away = E.left({ kind: 'unavailable', reason: 'away' } as const)
  const failing = { read: () => Promise.resolve(away), readLast: () => Promise.resolve(away) }
  t.deepEqual(await remarksAt(failing, engagementId(), [0]), away)
  t.deepEqual(await remarksAt({ ...failing, readLast: store.readLast }, engagementId(), [0]), away)
})
