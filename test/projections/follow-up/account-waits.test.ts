import test from 'ava'
import { E } from '../../../domain/prelude.js'
import type { ConsentAnswer } from '../../../projections/follow-up/consent-verifier.js'
import type { Documents } from '../../../projections/ports.js'
import { followUps } from '../../../projections/read-models/follow-ups.js'
import { accountId, at, messageId, phone } from '../../kit/domain/samples.js'
import { settled, waitedTime } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'
import { neighbours, openFollowUpStage } from './stage.js'

const minute = 60_000
const now = {}

type Stage = ReturnType<typeof openFollowUpStage>

const postponed = (stage: Stage) => stage.recorded().filter((type) => /Postponed$/.test(type)).length

const enabled = { type: 'AccountEnabled', data: {} } as const
const limited = (segments_per_month: number | null) =>
  ({ type: 'SegmentLimitSet', data: { segments_per_month } }) as const

test('what waits for a disabled account goes on at once when it is enabled, steps and what members wrote', async (t) => {
  const [first = 0, second = 0, third = 0] = neighbours(3)
  const account = { enabled: false }
  const stage = openFollowUpStage(t, { owner: () => account, monotonic: waitedTime() })
  for (const n of [first, second]) await stage.submit(n, 1, now)
  await stage.submit(third, 1, now, third, at(24 * 60 * minute))
  await stage.write(third)
  stage.work(first)
  await until('all wait', 30_000, () => postponed(stage) === 3)
  stage.toTime(at(minute))
  account.enabled = true
  await stage.tellAccount(enabled)
  await until('all were sent', 30_000, () => stage.sent.length === 3)
  t.deepEqual(stage.sent.toSorted(), [first, second, third].map(phone).toSorted())
})

test('what was enabled while nobody worked goes on when somebody does', async (t) => {
  const account = { enabled: false }
  const stage = openFollowUpStage(t, { owner: () => account })
  await stage.prepare()
  const number = await stage.submit(1, 1, now)
  await stage.runTask(1)
  stage.toTime(at(minute))
  account.enabled = true
  stage.work(1)
  await until('the message', 30_000, () => stage.sent.length === 1)
  t.deepEqual(stage.sent, [number])
})

test('an account that can not be looked at holds up no other of its shard, and goes on once it can', async (t) => {
  const [first = 0, second = 0] = neighbours(2)
  let isEnabled = false
  let isAway = false
  const owner = (id: string) => {
    if (isAway && id === accountId(1)) throw new Error('away')
    return { enabled: isEnabled }
  }
  const stage = openFollowUpStage(t, { owner, monotonic: waitedTime() })
  await stage.prepare()
  const [failing, other] = [await stage.submit(first, 1, now), await stage.submit(second, 2, now)]
  for (const n of [first, second]) await stage.runTask(n)
  stage.toTime(at(minute))
  isEnabled = true
  isAway = true
  stage.work(first)
  await until('the other account', 30_000, () => stage.sent.length === 1)
  t.deepEqual(stage.sent, [other])
  isAway = false
  await until('the one that failed', 30_000, () => stage.sent.length === 2)
  t.deepEqual(stage.sent, [other, failing])
})

test('what was enabled while the log was not followed goes on when it is again', async (t) => {
  const account = { enabled: false }
  const stage = openFollowUpStage(t, { owner: () => account })
  const number = await stage.submit(1, 1, now)
  const { followAnew } = stage.work(1)
  await until('it waits', 30_000, () => postponed(stage) === 1)
  stage.toTime(at(minute))
  account.enabled = true
  await followAnew()
  await until('the message', 30_000, () => stage.sent.length === 1)
  t.deepEqual(stage.sent, [number])
})

test('what a member wrote goes on when its account was enabled unnoticed, while its steps can not be read', async (t) => {
  const account = { enabled: false }
  let failed = 0
  const workerReads = (documents: Documents): Documents => ({
    ...documents,
    find: (collection, query) => {
      const isOfSteps = collection.name === followUps.name && query.index === 'waiting' && query.descending === true
      if (!isOfSteps) return documents.find(collection, query)
      failed += 1
      return Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' }))
    },
  })
  const stage = openFollowUpStage(t, { owner: () => account, monotonic: waitedTime(), workerReads })
  await stage.prepare()
  const [writtenTo = 0, other = 0] = neighbours(2)
  const number = await stage.submit(writtenTo, 1, now, writtenTo, at(24 * 60 * minute))
  await stage.write(writtenTo)
  await stage.submit(other, 1, now)
  await stage.sendRequested(writtenTo)
  await stage.runTask(other)
  t.is(postponed(stage), 2)
  stage.toTime(at(minute))
  const { followAnew } = stage.work(writtenTo)
  await until('only its steps are left to be checked', 30_000, () => failed > 0)
  account.enabled = true
  await followAnew()
  await until('what was written', 30_000, () => stage.sent.length === 1)
  t.deepEqual(stage.sent, [number])
})

test('steps that wait for a month go on as far as its new limit allows, and none goes out twice', async (t) => {
  const all = neighbours(40)
  const account: { segmentsPerMonth: number | null } = { segmentsPerMonth: 0 }
  const stage = openFollowUpStage(t, { owner: () => account })
  for (const n of all) await stage.submit(n, 1, now)
  stage.work(1)
  await until('all wait', 30_000, () => postponed(stage) === all.length)
  account.segmentsPerMonth = 10
  await stage.tellAccount(limited(10))
  await until('what there is room for', 30_000, () => stage.sent.length === 10)
  account.segmentsPerMonth = null
  await stage.tellAccount(limited(null))
  await until('all others', 30_000, () => stage.sent.length === all.length)
  t.deepEqual([...new Set(stage.sent)].length, all.length)
  t.true(postponed(stage) <= 3 * all.length, 'each is looked at once')
})

test('an account with many that wait holds up no late step of another', async (t) => {
  const all = neighbours(100)
  const [other = 0, ...many] = all
  const accounts = { [accountId(1)]: { enabled: false }, [accountId(2)]: { enabled: true } }
  const stage = openFollowUpStage(t, { owner: (id) => accounts[id] ?? {}, monotonic: waitedTime() })
  for (const n of many) await stage.submit(n, 1, now)
  stage.work(1)
  await until('all wait', 30_000, () => postponed(stage) === many.length)
  stage.toTime(at(2 * minute))
  accounts[accountId(1)] = { enabled: true }
  await stage.tellAccount(enabled)
  await until('the first of many', 30_000, () => stage.sent.length > 0)
  const number = await stage.submit(other, 2, now)
  await until('all', 30_000, () => stage.sent.length === all.length)
  t.true(stage.sent.indexOf(number) < 50)
})

test('what is recorded as waiting for its account after that was enabled, or has more segments, is due at once', async (t) => {
  for (const { before, after } of [
    { before: { enabled: false }, after: { enabled: true } },
    { before: { segmentsPerMonth: 0 }, after: { segmentsPerMonth: 1 } },
  ]) {
    let account: object = before
    const stage = openFollowUpStage(t, { owner: () => account })
    await stage.prepare()
    const number = await stage.submit(1, 1, now)
    await stage.runTaskWhileAway(1, 'engagement', () => Promise.resolve(void (account = after)))
    await stage.runTask(1)
    t.deepEqual(stage.sent, [number])
  }
})

test('what a member wrote and is recorded as waiting after its account was enabled is due at once', async (t) => {
  const account = { enabled: false }
  const stage = openFollowUpStage(t, { owner: () => account })
  await stage.prepare()
  const number = await stage.submit(1, 1, now, 1, at(24 * 60 * minute))
  await stage.write(1)
  await stage.runTaskWhileAway(messageId(1), 'message', () => Promise.resolve(void (account.enabled = true)))
  await stage.sendRequested(1)
  t.deepEqual(stage.sent, [number])
})

test('a step that waits for its account still does when a check of its consent fails, and is asked for no earlier', async (t) => {
  let say = (_: ConsentAnswer): void => undefined
  const firstAnswer = new Promise<ConsentAnswer>((resolve) => (say = resolve))
  const account = { enabled: true }
  const answer = (_: unknown, asked: number) => (asked === 1 ? firstAnswer : ({ kind: 'verified' } as const))
  const stage = openFollowUpStage(t, { owner: () => account, answer })
  await stage.prepare()
  const number = await stage.submit(1)
  await stage.write(1)
  const written = stage.sendRequested(1)
  await until('the check', 30_000, () => stage.asked.length === 1)
  account.enabled = false
  await stage.runTask(1)
  say({ kind: 'failed', reason: 'status 503' })
  await written
  stage.toTime(at(minute / 2))
  account.enabled = true
  stage.work(1)
  await until('both wait for its consent', 30_000, () => postponed(stage) === 4)
  t.is(stage.asked.length, 1)
  stage.passTo(at(minute))
  await until('the step', 30_000, () => stage.sent.includes(number))
  t.is(stage.asked.length, 2)
})

test('where none of those that are looked at first fits into what a month has left the others are not looked at', async (t) => {
  const all = neighbours(40)
  const account: { segmentsPerMonth: number | null } = { segmentsPerMonth: 0 }
  const stage = openFollowUpStage(t, { owner: () => account, template: 'x'.repeat(200) })
  for (const n of all) await stage.submit(n, 1, now)
  stage.work(1)
  await until('all wait', 30_000, () => postponed(stage) === all.length)
  account.segmentsPerMonth = 1
  await stage.tellAccount(limited(1))
  await until('the first are looked at', 30_000, () => postponed(stage) === all.length + 8)
  for (let times = 0; times < 20; times += 1) await settled()
  t.is(postponed(stage), all.length + 8)
  account.segmentsPerMonth = 20
  await stage.tellAccount(limited(20))
  await until('what there is room for', 30_000, () => stage.sent.length === 10)
})
