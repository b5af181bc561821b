import test from 'ava'
import { later } from '../../../domain/instant.js'
import { message, type MessageCommand } from '../../../domain/message.js'
import type { Messenger, OutgoingMessage, Settled } from '../../../domain/messenger.js'
import { eventfulHistory } from '../../kit/domain/histories.js'
import { at, messageId } from '../../kit/domain/samples.js'
import { memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { atOnce, type Steps } from '../../kit/memory/steps.js'
import { contactsIn, openErasureStage } from '../../kit/parts/erasure-stage.js'
import { manualTime } from '../../kit/time/manual-time.js'
import { settled } from '../../kit/time/turns.js'

const history = eventfulHistory(11)
const [contact] = contactsIn(history)
const started = history
  .filter((event) => event.type === 'EngagementStarted')
  .find(({ data }) => data.contact_id === contact?.id)?.data
const submitted = history
  .filter((event) => event.type === 'LeadSubmitted')
  .find(({ data }) => data.contact_id === contact?.id)?.data
if (contact === undefined || started === undefined || submitted === undefined) throw new Error('nobody is engaged')

const { account_id, contact_id, engagement_id } = started
const ids = { message_id: messageId(9_000), account_id, contact_id, engagement_id }
const text = 'What only this message says'
const unknown = { kind: 'unknown', reason: 'no answer' } as const

/** A stage on which a message to the contact was tried an hour ago, and what the provider is asked and says. */
const openStage = (answers: ReadonlyArray<Settled>, ...more: ReadonlyArray<MessageCommand>) =>
  openStageOf(3_600_000, answers, more)

/** `age`: of the try, in milliseconds. */
const openStageOf = async (age: number, answers: ReadonlyArray<Settled>, more: ReadonlyArray<MessageCommand>) => {
  const log = memoryLog()
  const stage = await openErasureStage(memoryEventStore(log), history)
  const begin = { type: 'BeginMessage', facts: ids, text, segments: 1, at: later(stage.now(), -age) } as const
  for (const command of [begin, ...more]) await stage.execute(message, ids.message_id, command)
  await stage.request(contact)
  const asked: Array<OutgoingMessage> = []
  const told: Array<ReadonlySet<string>> = []
  const messenger: Pick<Messenger, 'settle'> = {
    settle: (outgoing, _since, known) => {
      // The history has others that nobody settled.
      if (outgoing.id !== ids.message_id) return Promise.resolve({ kind: 'absent' })
      asked.push(outgoing)
      told.push(known)
      return Promise.resolve(answers[asked.length - 1] ?? { kind: 'absent' })
    },
  }
  const run = (steps: Steps = atOnce, options: Parameters<typeof stage.run>[2] = {}) =>
    stage.run(memoryEventStore(log, steps), messenger, options)
  const seen = async () => {
    const visible = await stage.visible()
    const own = visible.filter((event) => event.stream === `message-${ids.message_id}`)
    return {
      types: own.map(({ type }) => type),
      copies: own.flatMap(({ type, data }) => (type === 'MessageCopyFound' ? [data.provider_id] : [])),
      holdsText: JSON.stringify(visible.map(({ data }) => data)).includes(text),
    }
  }
  return { run, asked, told, seen }
}

const accepted = { kind: 'accepted', providerId: 'SM1' } as const

for (const [what, more] of [
  ['whose try nobody recorded', []],
  ['of which nobody could tell', [{ type: 'EndMessage', attempt: 1, ending: unknown }]],
] as const) {
  test(`a message ${what} is looked for at the provider before its number is forgotten`, async (t) => {
    const { run, asked, seen } = await openStage([accepted], ...more)
    await run()
    t.like(asked[0], { id: ids.message_id, to: submitted.details.phone, text })
    t.is(asked.length, 1)
    t.deepEqual(await seen(), { types: ['MessageErased', 'MessageCopyFound'], copies: ['SM1'], holdsText: false })
    await run()
    t.is(asked.length, 1)
  })
}

test('of a message whose outcome is known nothing is asked', async (t) => {
  const sent = { type: 'EndMessage', attempt: 1, ending: { kind: 'sent', providerId: 'SM1' } } as const
  const { run, asked, seen } = await openStage([accepted], sent)
  await run()
  t.deepEqual(asked, [])
  t.deepEqual((await seen()).types, ['MessageErased'])
})

test('a provider is told by which ids it has tries that were lost, so that it does not name one of these', async (t) => {
  const lost = { providerId: 'SM0', kind: 'failed', reason: 'filtered' } as const
  const { run, told, seen } = await openStage(
    [accepted],
    { type: 'EndMessage', attempt: 1, ending: { kind: 'sent', providerId: 'SM0' } },
    { type: 'ReportMessage', report: lost, retryAt: at() },
    { type: 'BeginMessage', facts: ids, text, segments: 1, at: at() },
  )
  await run()
  t.deepEqual(told, [new Set(['SM0'])])
  t.deepEqual((await seen()).copies, ['SM1'])
})

test('a provider that does not answer is asked once more, and keeps no erasure from its end', async (t) => {
  const silent = { kind: 'unknown' } as const
  const late = await openStage([silent, accepted])
  await late.run()
  t.deepEqual((await late.seen()).copies, ['SM1'])
  const never = await openStage([silent, silent, accepted])
  await never.run()
  t.is(never.asked.length, 2)
  t.deepEqual(await never.seen(), { types: ['MessageErased'], copies: [], holdsText: false })
})

for (const [when, age, told] of [
  ['before a provider lists what it was given', 0, []],
  ['before a provider that did not answer is asked once more', 3_600_000, [{ kind: 'unknown' }]],
] as const) {
  test(`a stop ${when} leaves the message to the next process`, async (t) => {
    const { run, asked, seen } = await openStageOf(age, [...told, accepted], [])
    const time = manualTime()
    const stopping = new AbortController()
    const running = run(atOnce, { monotonic: time.process(), stopping: stopping.signal })
    await settled()
    t.is(asked.length, told.length)
    stopping.abort()
    t.is(await running.catch((error: unknown) => error instanceof Error && error.name), 'AbortError')
    t.is(asked.length, told.length)
    t.true((await seen()).holdsText)
    const next = run(atOnce, { monotonic: time.process() })
    await time.advance(60_000)
    await next
    t.deepEqual(await seen(), { types: ['MessageErased', 'MessageCopyFound'], copies: ['SM1'], holdsText: false })
  })
}

class Crash extends Error {}

test('wherever an erasure crashes, the provider has been asked before the text is gone', async (t) => {
  let crashes = 0
  for (const nth of [0, 1, 2])
    for (const isDone of [false, true]) {
      const { run, seen } = await openStage([accepted, accepted])
      let left = nth
      const crashing: Steps = {
        ...atOnce,
        write: (of, put) => {
          if (left >= 0 && of !== `message-${ids.message_id}`) return Promise.resolve(put())
          left -= 1
          if (left >= 0) return Promise.resolve(put())
          if (left === -1 && isDone) put()
          return Promise.reject(new Crash())
        },
      }
      await run(crashing).catch(() => (crashes += 1))
      const between = await seen()
      if (!between.holdsText) t.deepEqual(between.copies, ['SM1'], `at write ${nth}`)
      await run()
      t.deepEqual((await seen()).copies, ['SM1'], `at write ${nth}`)
    }
  t.is(crashes, 6)
})
