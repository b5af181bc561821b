import test from 'ava'
import type { ConsentAnswer } from '../../../projections/follow-up/consent-verifier.js'
import { at, phone } from '../../kit/domain/samples.js'
import { isOver } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'
import { neighbours, openFollowUpStage } from './stage.js'

const minute = 60_000
const day = 24 * 60 * minute
const verified: ConsentAnswer = { kind: 'verified' }
const down: ConsentAnswer = { kind: 'failed', reason: 'status 503' }
const sending = ['StepBegun', 'MessageBegun', 'MessageSent']

test('a message waits for the verification, which is asked for once', async (t) => {
  const stage = openFollowUpStage(t, { answer: () => verified })
  await stage.prepare()
  const number = await stage.submit(1)
  await stage.runTask(1)
  t.deepEqual(stage.asked, [
    {
      token: 'consent-1',
      url: 'https://consent.example/1',
      phone: number,
      email: 'ada@example.com',
      submittedAt: at(),
    },
  ])
  t.deepEqual(stage.sent, [])
  await stage.runTask(1)
  await stage.runTask(1)
  t.deepEqual(stage.sent, [number])
  t.deepEqual(stage.recorded(), ['ConsentVerified', ...sending])
  t.is(stage.asked.length, 1)
})

test('a process that dies between the answer and its record leaves a consent that is asked for again', async (t) => {
  const stage = openFollowUpStage(t, { answer: () => verified })
  await stage.prepare()
  const number = await stage.submit(1)
  await stage.runTask(1, 0)
  t.deepEqual(stage.recorded(), [])
  await stage.runTask(1)
  await stage.runTask(1)
  t.is(stage.asked.length, 2)
  t.deepEqual(stage.sent, [number])
})

test('a refusal ends the conversation as filtered, with the reason, and nothing is sent', async (t) => {
  const stage = openFollowUpStage(t, { answer: () => ({ kind: 'refused', reason: 'token expired' }) })
  await stage.prepare()
  await stage.submit(1)
  await stage.runTask(1)
  await stage.runTask(1)
  t.deepEqual(stage.notes(), [
    ['started', 'The playbook started'],
    ['filtered', 'The consent was refused: token expired'],
  ])
  t.deepEqual(stage.sent, [])
  t.is(stage.asked.length, 1)
})

test('a newer lead whose consent is refused in the end leaves the messages of the older one as they are', async (t) => {
  const refused: ConsentAnswer = { kind: 'refused', reason: undefined }
  const stage = openFollowUpStage(t, { answer: () => refused })
  await stage.prepare()
  const number = await stage.submit(1, 1, {})
  await stage.submit(2, 1, { consent: 'awaited' }, 1)
  await stage.runTask(1)
  t.deepEqual(stage.sent, [], 'the consent may be there in a moment')
  await stage.runTask(2)
  stage.toTime(at(60 * minute))
  await stage.runTask(1)
  t.deepEqual(stage.sent, [number])
})

test('an outage delays the message until somebody can tell', async (t) => {
  const stage = openFollowUpStage(t, { answer: (_, asked) => (asked < 3 ? down : verified) })
  await stage.prepare()
  const number = await stage.submit(1)
  await stage.runTask(1)
  await stage.runTask(1)
  t.is(stage.asked.length, 1, 'not before its time')
  t.regex(JSON.stringify(stage.logger.lines), /could not be verified/)
  stage.toTime(at(minute))
  await stage.runTask(1)
  stage.toTime(at(3 * minute))
  await stage.runTask(1)
  await stage.runTask(1)
  t.deepEqual(stage.recorded(), ['ConsentCheckFailed', 'ConsentCheckFailed', 'ConsentVerified', ...sending])
  t.deepEqual(stage.sent, [number])
})

test('after a day of outage the lead is filtered, and time in which nobody could ask is none', async (t) => {
  const stage = openFollowUpStage(t, { answer: () => down })
  await stage.prepare()
  await stage.submit(1)
  for (const time of [0, 3 * day, 4 * day - 2 * minute]) {
    stage.toTime(at(time))
    await stage.runTask(1)
  }
  t.deepEqual(stage.notes(), [['started', 'The playbook started']])
  stage.toTime(at(4 * day))
  await stage.runTask(1)
  t.deepEqual(stage.notes().at(-1), ['filtered', 'The consent could not be verified within a day'])
  t.is(stage.asked.length, 4)
  t.deepEqual(stage.sent, [])
})

test('what a member writes days after a check that failed is not withdrawn by the next one that does', async (t) => {
  const stage = openFollowUpStage(t, { answer: (_, asked) => (asked < 3 ? down : verified) })
  await stage.prepare()
  const number = await stage.submit(1, 1, { consent: 'awaited' }, 1, at(10 * day))
  await stage.write(1)
  await stage.sendRequested(1)
  for (const time of [2 * day, 2 * day + 2 * minute, 2 * day + 2 * minute]) {
    stage.toTime(at(time))
    await stage.sendRequested(1)
  }
  t.deepEqual(stage.sent, [number])
})

test('nothing of a lead that was erased is sent to whoever verifies consents', async (t) => {
  const stage = openFollowUpStage(t, { answer: () => verified })
  await stage.prepare()
  await stage.submit(1)
  await stage.eraseLead(1)
  await stage.runTask(1)
  t.deepEqual(stage.asked, [])
  t.deepEqual(stage.sent, [])
})

test('what a member writes days before the first step has the consent checked, and the step is not sent early', async (t) => {
  const stage = openFollowUpStage(t, { answer: () => verified })
  await stage.prepare()
  const number = await stage.submit(1, 1, { consent: 'awaited' }, 1, at(5 * day))
  await stage.write(1)
  await stage.sendRequested(1)
  await stage.sendRequested(1)
  t.deepEqual(stage.recorded(), ['MessageRequested', 'ConsentVerified', 'MessageBegun', 'MessageSent'])
  stage.toTime(at(5 * day - 1))
  await stage.runTask(1)
  t.deepEqual(stage.sent, [number])
  stage.toTime(at(5 * day))
  await stage.runTask(1)
  t.deepEqual(stage.sent, [number, number])
  t.is(stage.asked.length, 1)
})

test('what a member writes has the consent checked for a day, at its pace, and changes nothing of when the step is due', async (t) => {
  const stage = openFollowUpStage(t, { answer: (_, asked) => (asked < 3 ? down : verified) })
  await stage.prepare()
  const number = await stage.submit(1, 1, { consent: 'awaited' }, 1, at(5 * day))
  await stage.write(1)
  for (const time of [0, 0, minute - 1, minute, minute, 3 * minute]) {
    stage.toTime(at(time))
    await stage.sendRequested(1)
    await stage.runTask(1)
  }
  t.is(stage.asked.length, 3)
  await stage.sendRequested(1)
  t.deepEqual(stage.sent, [number])
  await stage.runTask(1)
  t.deepEqual(stage.sent, [number], 'the step is due in days')
})

test('what a member wrote is withdrawn where nobody could verify the consent within a day', async (t) => {
  const stage = openFollowUpStage(t, { answer: () => down })
  await stage.prepare()
  await stage.submit(1, 1, { consent: 'awaited' }, 1, at(5 * day))
  await stage.write(1)
  for (const time of [0, minute, day, day]) {
    stage.toTime(at(time))
    await stage.sendRequested(1)
  }
  t.deepEqual(stage.notes().at(-1), ['filtered', 'The consent could not be verified within a day'])
  t.is(stage.recorded().at(-1), 'MessageFailed')
  t.deepEqual(stage.sent, [])
})

test('while a task of an engagement has its consent checked no other one does', async (t) => {
  let say = (_: ConsentAnswer): void => undefined
  const answered = new Promise<ConsentAnswer>((resolve) => (say = resolve))
  const stage = openFollowUpStage(t, { answer: () => answered })
  await stage.prepare()
  const number = await stage.submit(1)
  await stage.write(1)
  const step = stage.runTask(1)
  await until('the first check', 30_000, () => stage.asked.length === 1)
  await stage.sendRequested(1)
  say(verified)
  await step
  stage.toTime(at(5 * minute))
  await stage.sendRequested(1)
  t.is(stage.asked.length, 1)
  t.deepEqual(stage.sent, [number])
})

test('where no consent is awaited nobody is asked, and nothing more is recorded', async (t) => {
  const stage = openFollowUpStage(t, { answer: () => verified })
  await stage.prepare()
  const number = await stage.submit(1, 1, {})
  await stage.runTask(1)
  t.deepEqual(stage.recorded(), sending)
  t.deepEqual(stage.sent, [number])
  t.deepEqual(stage.asked, [])
})

test('a check that is in flight when its lease ends is waited for', async (t) => {
  let say = (_: ConsentAnswer): void => undefined
  const answered = new Promise<ConsentAnswer>((resolve) => (say = resolve))
  const stage = openFollowUpStage(t, { answer: () => answered })
  await stage.submit(1)
  const { working, recall } = stage.work(1)
  await until('the check', 30_000, () => stage.asked.length === 1)
  recall()
  t.false(await isOver(working))
  say(verified)
  await working
  t.deepEqual(stage.recorded(), ['ConsentVerified'])
})

test('whoever never answers for one account holds up neither the messages nor the checks of another', async (t) => {
  const [first = 0, second = 0, ...others] = neighbours(42)
  let answersHeld = 0
  const stage = openFollowUpStage(t, {
    answer: (consent) => {
      if (consent.phone === phone(second)) return verified
      answersHeld += 1
      return new Promise<ConsentAnswer>((resolve) => t.teardown(() => resolve(down)))
    },
  })
  for (const n of others) await stage.submit(n, 1)
  const checked = await stage.submit(second, 2)
  const unchecked = await stage.submit(first, 2, {})
  stage.work(first)
  await until('both messages of the other account', 30_000, () => stage.sent.length === 2 && answersHeld >= 4)
  t.deepEqual([...stage.sent].toSorted(), [checked, unchecked].toSorted())
  t.is(answersHeld, 4)
})
