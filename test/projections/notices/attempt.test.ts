import test from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { account } from '../../../domain/account.js'
import { notice, type NoticeCommand } from '../../../domain/notice.js'
import { attemptNotice } from '../../../projections/notices/attempt.js'
import { failingWork } from '../../../projections/subscriptions/retries/failing-work.js'
import { accountId, at, memberId, noticeId, openAccountCommand } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { sharedHandler } from '../../kit/parts/command-handlers.js'
import { testLease } from '../../kit/parts/lease.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { nextTurn, turnTime } from '../../kit/time/turns.js'

/** A notice that is due, in a process that holds the lease. */
const openStage = async () => {
  const clock = manualClock()
  const ids = randomIds(clock)
  const store = memoryEventStore(memoryLog())
  const commandHandler = sharedHandler(store, clock)
  const envelope = { actor: 'test', eventId: ids.uuid }
  const member = { memberId: memberId(), email: 'admin@example.com', role: 'admin' } as const
  for (const command of [openAccountCommand, { type: 'AddMember', ...member }] as const)
    rightOf(await commandHandler.execute(account, accountId(), command, envelope))
  const tell = async (command: NoticeCommand): Promise<void> => {
    rightOf(await commandHandler.execute(notice, noticeId(), command, envelope))
  }
  const to = { notice_id: noticeId(), account_id: accountId(), member_id: memberId(), due_at: at() }
  await tell({ type: 'MakeDue', facts: { ...to, about: 'segment-limit', month: '2026-01', segments_per_month: 100 } })
  const mailed: Array<string> = []
  const lease = testLease('mailer')
  const ports = {
    ...{ store, commandHandler, ids, clock, documents: memoryDocuments(documentState()) },
    ...{ logger: recordingLogger(), backoff: nextTurn, failingWork: failingWork(turnTime) },
    mailTransport: {
      send: (mail: { readonly to: string }) => {
        mailed.push(mail.to)
        return Promise.resolve('sent' as const)
      },
    },
  }
  return {
    clock,
    lease,
    mailed,
    tell,
    attempt: () => attemptNotice(ports, { lease, siteUrl: 'https://leads.example.com' }, noticeId()),
  }
}

test('a notice that another process has tried a moment ago waits for its next attempt', async (t) => {
  const { clock, mailed, tell, attempt } = await openStage()
  const outcome = { kind: 'failed', reason: 'no answer' } as const
  await tell({ type: 'RecordAttempt', attempt: 1, outcome, nextAttemptAt: at(60_000) })
  clock.set(at(59_999))
  await attempt()
  t.deepEqual(mailed, [])
  clock.set(at(60_000))
  await attempt()
  t.deepEqual(mailed, ['admin@example.com'])
})

test('whoever has lost the lease mails nothing: the next holder does', async (t) => {
  const { lease, mailed, attempt } = await openStage()
  lease.expire()
  await attempt()
  t.deepEqual(mailed, [])
})
