import test from 'ava'
import { later, type Instant } from '../../../domain/instant.js'
import { service } from '../../twilio-double/double.js'
import { messageOf } from '../../contracts/messenger.js'
import { noon, stageFor } from './stage.js'

const nothingKnown: ReadonlySet<string> = new Set()

test('a text whose outcome was unknown is found where Twilio took it', async (t) => {
  const { messenger, double, time } = await stageFor(t)
  await time.advance(500)
  double.fail('cut-after')
  t.is((await messenger.send(messageOf())).kind, 'unknown')
  t.deepEqual(await messenger.settle(messageOf(), later(noon, 500), nothingKnown), {
    kind: 'accepted',
    providerId: double.taken[0]?.sid ?? '',
  })
  t.is(double.taken.length, 1)
})

test('a text that Twilio did not take is absent', async (t) => {
  const { messenger, double } = await stageFor(t)
  double.fail('cut-before')
  t.is((await messenger.send(messageOf())).kind, 'unknown')
  t.deepEqual(await messenger.settle(messageOf(), noon, nothingKnown), { kind: 'absent' })
})

test('another text, another number, another sender and an earlier attempt are not taken for it', async (t) => {
  const { messenger, messengerFor, double, time } = await stageFor(t)
  await messenger.send(messageOf())
  const earlier = new Set(double.taken.map(({ sid }) => sid))
  await time.advance(2_000)
  await messenger.send(messageOf({ text: 'Something else' }))
  await messenger.send(messageOf({ to: '+14155550124' }))
  await messengerFor(double.account(service)).send(messageOf())
  t.is(double.taken.length, 4)
  t.deepEqual(await messenger.settle(messageOf(), later(noon, 2_000), earlier), { kind: 'absent' })
})

test('a text is found though the clock of Twilio is minutes behind, and none that is known is taken for it', async (t) => {
  const { messenger, double, time } = await stageFor(t)
  await messenger.send(messageOf())
  await time.advance(2_000)
  await messenger.send(messageOf())
  const [earlier, sought] = double.taken.map(({ sid }) => sid)
  if (earlier === undefined || sought === undefined) throw new Error('the double has no texts')
  const clockBehind = (milliseconds: number): Instant => later(noon, 2_000 + milliseconds)
  for (const skew of [2_000, 60_000, 300_000]) {
    t.deepEqual(await messenger.settle(messageOf(), clockBehind(skew), nothingKnown), {
      kind: 'accepted',
      providerId: sought,
    })
    t.deepEqual(await messenger.settle(messageOf(), clockBehind(skew), new Set([earlier, sought])), { kind: 'absent' })
  }
  t.deepEqual(await messenger.settle(messageOf(), clockBehind(302_000), nothingKnown), { kind: 'absent' })
})

test('a text is found though the Messaging Service wrote simpler quotation marks', async (t) => {
  const { messenger, double } = await stageFor(t, { sender: service })
  await messenger.send(messageOf({ text: 'Hello Ada, "welcome". Reply STOP to end.' }))
  t.deepEqual(await messenger.settle(messageOf(), noon, nothingKnown), {
    kind: 'accepted',
    providerId: double.taken[0]?.sid ?? '',
  })
})

test('of several texts that are the same the first one since the attempt is meant', async (t) => {
  const { messenger, double, time } = await stageFor(t)
  for (let count = 0; count < 3; count += 1) {
    await messenger.send(messageOf())
    await time.advance(2_000)
  }
  t.deepEqual(await messenger.settle(messageOf(), later(noon, 2_000), nothingKnown), {
    kind: 'accepted',
    providerId: double.taken[1]?.sid ?? '',
  })
})

test('a text is found on whatever page it stands, and absent only after the last', async (t) => {
  const { messenger, double } = await stageFor(t, { largestPage: 2 })
  await messenger.send(messageOf())
  for (let count = 0; count < 5; count += 1) await messenger.send(messageOf({ text: `Other ${count}` }))
  t.deepEqual(await messenger.settle(messageOf(), noon, nothingKnown), {
    kind: 'accepted',
    providerId: double.taken[0]?.sid ?? '',
  })
  t.is(double.requests.filter((line) => line.startsWith('GET')).length, 3)
  t.deepEqual(await messenger.settle(messageOf({ text: 'Never sent' }), noon, nothingKnown), { kind: 'absent' })
})

test('of a number with endless texts so many pages are read and no more, and what is not found is unknown', async (t) => {
  const { messenger, double } = await stageFor(t, { largestPage: 1 })
  for (let count = 0; count < 12; count += 1) await messenger.send(messageOf({ text: `Other ${count}` }))
  t.deepEqual(await messenger.settle(messageOf(), noon, nothingKnown), { kind: 'unknown' })
  t.is(double.requests.filter((line) => line.startsWith('GET')).length, 10)
})

test('a listing that fails on any page, or takes too long, leaves the outcome unknown', async (t) => {
  const { messenger, double, time } = await stageFor(t, { largestPage: 2 })
  for (const fault of ['cut-before', { status: 503, code: 0 }, { status: 401, code: 20003 }] as const) {
    double.fail(fault)
    t.deepEqual(await messenger.settle(messageOf(), noon, nothingKnown), { kind: 'unknown' })
  }
  double.fail('late')
  const held = double.held()
  const settling = messenger.settle(messageOf(), noon, nothingKnown)
  await held
  await time.advance(10_000)
  t.deepEqual(await settling, { kind: 'unknown' })
})
