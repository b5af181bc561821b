import test from 'ava'
import { accountId, at, phone } from '../../kit/domain/samples.js'
import { waitedTime } from '../../kit/time/turns.js'
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
  const stage = openFollowUpStage(t, { owner: () => account, time: waitedTime() })
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
  await stage.takeTurn(1)
  stage.toTime(at(minute))
  account.enabled = true
  stage.work(1)
  await until('the message', 30_000, () => stage.sent.length === 1)
  t.deepEqual(stage.sent, [number])
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
  const stage = openFollowUpStage(t, { owner: (id) => accounts[id] ?? {}, time: waitedTime() })
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
