import test from 'ava'
import { neverAborted } from '../../../domain/abortable.js'
import type { MemberRole } from '../../../domain/account.js'
import { randomIds } from '../../../adapters/node/ids.js'
import type { EventOf } from '../../../domain/events.js'
import { beginning } from '../../../domain/event.js'
import { sendingHold, type SendingHoldCommand } from '../../../domain/sending-hold.js'
import { checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { accountId, at, memberId, webhookId } from '../../kit/domain/samples.js'
import { cachedHandler } from '../../kit/parts/command-handlers.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { rightOf } from '../../kit/right-of.js'
import { openSqliteStores } from '../../kit/stores/sqlite.js'
import { accountWithWebhook } from '../../kit/parts/account-with-webhook.js'
import { noticeFanOut } from '../../../projections/notices/fan-out.js'

type Due = EventOf<'NoticeDue'>

/** An account with a webhook, and a fan-out that has handled no event yet. */
const openStage = async () => {
  const { store, documents, close } = await openSqliteStores()
  const clock = manualClock()
  const envelope = { actor: 'test', eventId: randomIds(clock).uuid }
  const commandHandler = cachedHandler(store, clock)
  const { inAccount, turnOff } = await accountWithWebhook(commandHandler, envelope)

  return {
    addMember: (n: number, role: MemberRole) =>
      inAccount({ type: 'AddMember', memberId: memberId(n), email: `member-${n}@example.com`, role }),
    removeMember: (n: number) => inAccount({ type: 'RemoveMember', memberId: memberId(n) }),
    turnOff,
    ofSender: async (command: SendingHoldCommand) => {
      rightOf(await commandHandler.execute(sendingHold, command.accountId, command, envelope))
    },
    /** Runs a fan-out over the whole log, from its start. */
    run: async () => {
      const checkpoint = checkpointIn(documents, 'notice_projector', 500n)
      const fresh = cachedHandler(store, clock)
      const fanOut = noticeFanOut({ store, commandHandler: fresh, checkpoint, logger: recordingLogger() })
      await fanOut.begin(neverAborted)
      for await (const batch of store.history(beginning, fanOut.categories, neverAborted)) await fanOut.handle(batch)
    },
    due: async () => {
      const found: Array<Due> = []
      for await (const { events } of store.history(beginning, ['notice'], neverAborted)) {
        for (const event of events) if (event.type === 'NoticeDue') found.push(event)
      }
      return found
    },
    close,
  }
}

test('each admin and manager of the account gets one notice, and no agent does (contract 6.6.4)', async (t) => {
  const { addMember, turnOff, run, due, close } = await openStage()
  await addMember(1, 'admin')
  await addMember(2, 'manager')
  await addMember(3, 'agent')
  const off = await turnOff()
  await run()
  const made = await due()
  t.deepEqual(made.map(({ data }) => data.member_id).toSorted(), [memberId(1), memberId(2)])
  for (const event of made) {
    const { stream, data } = event
    t.is(stream, `notice-${data.notice_id}`)
    t.like(event, { actor: 'notice', causationId: off?.id })
    t.like(data, { account_id: accountId(), webhook_id: webhookId(), reason: 'status 500' })
    t.like(data, { turned_off_id: off?.id, turned_off_at: off?.time })
  }
  t.notRegex(JSON.stringify(made.map(({ data }) => data)), /@/)
  await close()
})

test('who was a member when the webhook was turned off is notified, whoever came or left later', async (t) => {
  const { addMember, removeMember, turnOff, run, due, close } = await openStage()
  await addMember(1, 'admin')
  await addMember(2, 'manager')
  await removeMember(1)
  await turnOff()
  await addMember(3, 'admin')
  await removeMember(2)
  await run()
  t.deepEqual(
    (await due()).map(({ data }) => data.member_id),
    [memberId(2)],
  )
  await close()
})

test('the same event again writes no second notice', async (t) => {
  const { addMember, turnOff, run, due, close } = await openStage()
  await addMember(1, 'admin')
  await turnOff()
  await run()
  await run()
  t.is((await due()).length, 1)
  await close()
})

test('where the account has neither, nobody is notified', async (t) => {
  const { addMember, turnOff, run, due, close } = await openStage()
  await addMember(1, 'agent')
  await turnOff()
  await run()
  t.deepEqual(await due(), [])
  await close()
})

test('admins and managers are told once of a sender that is blocked, however often it is tried in vain or it comes again', async (t) => {
  const { addMember, ofSender, run, due, close } = await openStage()
  await addMember(1, 'admin')
  await addMember(2, 'agent')
  const by = { accountId: accountId(), saidBy: 'answer' } as const
  const hold = { type: 'HoldSender', ...by, reason: 'the account is suspended' } as const
  const minute = 60_000
  await ofSender({ ...hold, at: at() })
  await ofSender({ type: 'ProbeSender', accountId: accountId(), at: at(15 * minute) })
  await ofSender({ type: 'ReleaseSender', ...by, at: at(16 * minute) })
  await ofSender({ ...hold, at: at(17 * minute) })
  await run()
  t.deepEqual(
    (await due()).map(({ data: { notice_id: _id, due_at: _due, ...data } }) => data),
    [
      {
        ...{ account_id: accountId(), member_id: memberId(1), about: 'sender-held' },
        ...{ since: at(), reason: 'the account is suspended' },
      },
    ],
  )
  await ofSender({ type: 'ReleaseSender', ...by, at: at(18 * minute) })
  await ofSender({ ...hold, at: at(3 * 24 * 60 * minute) })
  await run()
  t.is((await due()).length, 2, 'other trouble, days later')
  await close()
})

test('admins and managers are told of a month that is used up', async (t) => {
  const { addMember, ofSender, run, due, close } = await openStage()
  await addMember(1, 'manager')
  const reach = { type: 'ReachSegmentLimit', accountId: accountId(), month: '2026-01', segmentsPerMonth: 5 } as const
  await ofSender(reach)
  await ofSender(reach)
  await run()
  const made = await due()
  t.is(made.length, 1)
  t.like(made[0]?.data, { member_id: memberId(1), about: 'segment-limit', month: '2026-01', segments_per_month: 5 })
  await close()
})
