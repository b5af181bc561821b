import test from 'ava'
import type { MessengerOutcome } from '../../../domain/messenger.js'
import { accountId, at } from '../../kit/domain/samples.js'
import { settled } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'
import { neighbours, openFollowUpStage } from './stage.js'

const minute = 60_000
const hour = 60 * minute
const now = {}
const accepted: MessengerOutcome = { kind: 'accepted', providerId: undefined }
const blocked: MessengerOutcome = { kind: 'sender-blocked', reason: 'the account is suspended' }

test('a provider that blocks a sender is asked with one message at a time, and other accounts notice nothing', async (t) => {
  let outcome: MessengerOutcome = blocked
  const blockedNumbers = new Set<string>()
  const stage = openFollowUpStage(t, { outcome: (to) => (blockedNumbers.has(to) ? outcome : accepted) })
  await stage.prepare()
  const [first, second, other] = [
    await stage.submit(1, 1, now),
    await stage.submit(2, 1, now),
    await stage.submit(3, 2, now),
  ]
  blockedNumbers.add(first).add(second)
  const everyStep = async () => {
    for (const n of [1, 2, 3]) await stage.runTask(n)
  }
  await everyStep()
  t.deepEqual(stage.sent, [first, other])
  await everyStep()
  stage.toTime(at(15 * minute - 1))
  await everyStep()
  t.deepEqual(stage.sent, [first, other], 'not before its time')
  stage.toTime(at(15 * minute))
  await everyStep()
  t.deepEqual(stage.sent, [first, other, first], 'one of them tries')
  stage.toTime(at(30 * minute))
  outcome = accepted
  await everyStep()
  await everyStep()
  t.deepEqual(stage.sent, [first, other, first, first, second])
  const senderEvents = stage.heldUp().filter(({ stream }) => stream.startsWith('sender-'))
  t.deepEqual(
    senderEvents.map(({ type }) => type),
    ['SenderHeld', 'SenderHeld', 'SenderHeld', 'SenderReleased'],
  )
})

test('however long a sender is blocked, the message that tries it is not given up', async (t) => {
  const outcomes = Array.from({ length: 40 }, () => blocked)
  const stage = openFollowUpStage(t, { outcome: () => outcomes.shift() ?? accepted })
  await stage.prepare()
  const lead = await stage.submit(1, 1, now)
  for (let hours = 0; hours <= 40; hours += 1) {
    stage.toTime(at(hours * hour))
    await stage.runTask(1)
  }
  t.deepEqual(
    stage.sent,
    Array.from({ length: 41 }, () => lead),
  )
  t.is(stage.recorded().at(-1), 'MessageSent')
})

test('where a report told that a sender is blocked its messages wait, until another one arrived', async (t) => {
  const stage = openFollowUpStage(t)
  await stage.prepare()
  const by = { accountId: accountId(), saidBy: 'report' } as const
  await stage.report({ type: 'HoldSender', ...by, reason: 'the carrier filters this sender', at: at() })
  const [first, second] = [await stage.submit(1, 1, now), await stage.submit(2, 1, now)]
  await stage.runTask(1)
  t.deepEqual(stage.sent, [])
  stage.toTime(at(15 * minute))
  await stage.runTask(1)
  await stage.runTask(2)
  t.deepEqual(stage.sent, [first], 'it was taken, which says nothing yet')
  await stage.report({ type: 'ReleaseSender', ...by, at: at(16 * minute) })
  stage.toTime(at(30 * minute))
  await stage.runTask(2)
  t.deepEqual(stage.sent, [first, second])
})

test('what a provider answers for a sender that the account has given up meanwhile holds up nothing of the new one', async (t) => {
  let from = '+14155550101'
  const outcomes = [blocked]
  const stage = openFollowUpStage(t, {
    owner: () => ({ sender: { from, messages_per_second: null } }),
    outcome: () => {
      from = '+14155550102'
      return outcomes.shift() ?? accepted
    },
  })
  await stage.prepare()
  const [first, second] = [await stage.submit(1, 1, now), await stage.submit(2, 1, now)]
  await stage.runTask(1)
  t.deepEqual(stage.heldUp(), [])
  await stage.runTask(2)
  t.deepEqual(stage.sent, [first, second])
  stage.toTime(at(minute))
  await stage.runTask(1)
  t.deepEqual(stage.sent, [first, second, first])
})

test('what a provider answers for a sender counts where the account can not be read then', async (t) => {
  let isUnreadable = false
  const stage = openFollowUpStage(t, {
    unreadable: (stream) => isUnreadable && stream === `account-${accountId()}`,
    outcome: () => {
      isUnreadable = true
      return blocked
    },
  })
  await stage.prepare()
  await stage.submit(1, 1, now)
  await stage.runTask(1)
  t.true(stage.heldUp().some(({ type }) => type === 'SenderHeld'))
})

test('past the limit of a month steps wait for a day, and are dropped then; other accounts notice nothing', async (t) => {
  const stage = openFollowUpStage(t, { owner: (id) => (id === accountId(1) ? { segmentsPerMonth: 1 } : {}) })
  await stage.prepare()
  const [first, , other] = [await stage.submit(1, 1, now), await stage.submit(2, 1, now), await stage.submit(3, 2, now)]
  stage.work(1)
  await until('the only message of the month', 30_000, () => stage.sent.length === 1)
  await until('it is counted', 30_000, async () => (await stage.usedSegments()) === 1)
  for (const time of [at(), at(6 * hour), at(12 * hour), at(18 * hour), at(24 * hour - 1)]) {
    stage.toTime(time)
    await stage.runTask(2)
  }
  await stage.runTask(3)
  t.deepEqual(stage.sent, [first, other])
  stage.toTime(at(24 * hour))
  await stage.runTask(2)
  t.deepEqual(
    stage.heldUp().map(({ type }) => type),
    [...['SegmentLimitReached', 'StepPostponed'], ...Array<string>(3).fill('StepPostponed'), 'StepSkipped'],
  )
  t.like(stage.heldUp().at(-1)?.data, { step: 0, reason: "the account's segments of this month are used up" })
})

test('however many messages are in flight at a time, a month gets no more segments than its limit', async (t) => {
  const all = neighbours(20)
  const stage = openFollowUpStage(t, { owner: (id) => (id === accountId(1) ? { segmentsPerMonth: 3 } : {}) })
  await stage.prepare()
  for (const n of all) await stage.submit(n, 1, now)
  stage.work(1)
  const postponed = () => stage.heldUp().filter(({ type }) => type === 'StepPostponed').length
  await until('each was sent or waits', 30_000, () => stage.sent.length + postponed() >= all.length)
  t.is(stage.sent.length, 3)
})

test('a month gets all the segments of its limit, also one after the other', async (t) => {
  const [first = 0, ...others] = neighbours(3)
  const stage = openFollowUpStage(t, { owner: () => ({ segmentsPerMonth: 3 }) })
  await stage.prepare()
  await stage.submit(first, 1, now)
  stage.work(first)
  for (const [index, n] of others.entries()) {
    await until('the message before', 30_000, () => stage.sent.length === index + 1)
    await stage.submit(n, 1, now)
  }
  await until('the last message', 30_000, () => stage.sent.length === 3)
  t.deepEqual(stage.heldUp(), [])
})

test('a month gets no more segments than its limit where its messages are shown late', async (t) => {
  const [first = 0, second = 0] = neighbours(2)
  let show = (): void => undefined
  const late = new Promise<void>((resolve) => (show = resolve))
  const stage = openFollowUpStage(t, {
    owner: () => ({ segmentsPerMonth: 1 }),
    beforeShowing: ({ name }) => (name === 'messages' ? late : Promise.resolve()),
  })
  await stage.prepare()
  await stage.submit(first, 1, now)
  await stage.submit(second, 1, now, second, at(minute))
  stage.work(first)
  t.teardown(show)
  await until('the only message of the month', 30_000, () => stage.recorded().includes('MessageSent'))
  await settled()
  stage.toTime(at(minute))
  await settled()
  show()
  await until('the other waits', 30_000, () => stage.heldUp().some(({ type }) => type === 'StepPostponed'))
  t.is(stage.sent.length, 1)
})

test('a sender with a rate of its own sends its messages one after the other', async (t) => {
  const sender = { from: '+14155550101', messages_per_second: 0.5 }
  const stage = openFollowUpStage(t, { owner: (id) => (id === accountId(1) ? { sender } : {}) })
  await stage.prepare()
  const [first, second, third] = [
    await stage.submit(1, 1, now),
    await stage.submit(2, 1, now),
    await stage.submit(3, 1, now),
  ]
  const other = await stage.submit(4, 2, now)
  for (const n of [1, 2, 3, 4]) await stage.runTask(n)
  t.deepEqual(stage.sent, [first, other])
  stage.toTime(at(2_000))
  for (const n of [3, 2]) await stage.runTask(n)
  t.deepEqual(stage.sent, [first, other, second])
  stage.toTime(at(4_000))
  await stage.runTask(3)
  t.deepEqual(stage.sent, [first, other, second, third])
})

test('what a member writes waits for no place of its sender, and the step after it does', async (t) => {
  const sender = { from: '+14155550101', messages_per_second: 0.5 }
  const stage = openFollowUpStage(t, { owner: () => ({ sender }) })
  await stage.prepare()
  const [first, second, third] = [
    await stage.submit(1, 1, now),
    await stage.submit(2, 1, now),
    await stage.submit(3, 1, now),
  ]
  await stage.runTask(1)
  await stage.write(2)
  await stage.sendRequested(2)
  t.deepEqual(stage.sent, [first, second])
  for (const time of [at(), at(2_000)]) {
    stage.toTime(time)
    await stage.runTask(3)
  }
  t.deepEqual(stage.sent, [first, second])
  stage.toTime(at(4_000))
  await stage.runTask(3)
  t.deepEqual(stage.sent, [first, second, third])
})

test('a phone that the provider says at once it does not reach is tried three times, and that ends the engagement', async (t) => {
  const stage = openFollowUpStage(t, { outcome: () => ({ kind: 'unreached', reason: 'the handset is not reached' }) })
  await stage.prepare()
  const number = await stage.submit(1, 1, now)
  for (const time of [0, minute, 3 * minute, 7 * minute, 60 * minute]) {
    stage.toTime(at(time))
    await stage.runTask(1)
  }
  t.deepEqual(stage.sent, [number, number, number])
  t.is(stage.recorded().at(-1), 'MessageFailed')
})
