import test from 'ava'
import { NO_STREAM, START, streamNameFilter } from '@eventstore/db-client'
import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { until } from '../kit/time/until.js'
import { collect, event, many, openDouble } from './open-double.js'

test.serial(
  'a truncated stream is read from its first event, and stands whole in the log until a scavenge',
  async (t) => {
    const { double, client } = await openDouble(t)
    await client.appendToStream('note-1', [
      event('Noted', { text: 'Ada' }),
      event('Noted', { text: 'Bea' }),
      event('Closed'),
    ])
    await client.setStreamMetadata('note-1', { truncateBefore: 2 })
    const typesOf = async () =>
      (await collect(client.readStream('note-1', { fromRevision: START }))).map((one) => one.event?.type)
    t.deepEqual(await typesOf(), ['Closed'])
    t.true(double.holds('Ada') && double.holds('Bea'))
    double.scavenge()
    t.deepEqual(await typesOf(), ['Closed'])
    t.false(double.holds('Ada') || double.holds('Bea'))
    const all = await collect(client.readAll({ fromPosition: START }))
    t.deepEqual(
      all.filter((one) => one.event?.streamId === 'note-1').map((one) => one.event?.revision),
      [2n],
    )
  },
)

test.serial(
  'a scavenge keeps the last event of a deleted stream, text and all, and of a tombstoned one nothing',
  async (t) => {
    const { double, client } = await openDouble(t)
    await client.appendToStream('note-1', [event('Noted', { text: 'Ada' }), event('Noted', { text: 'Bea' })])
    await client.appendToStream('note-2', [event('Noted', { text: 'Cay' })])
    await client.deleteStream('note-1')
    await client.tombstoneStream('note-2')
    double.scavenge()
    t.true(double.holds('Bea'))
    t.false(double.holds('Ada') || double.holds('Cay'))
    const left = await collect(client.readAll())
    t.deepEqual(
      left.filter((one) => one.event?.streamId === 'note-2').map((one) => one.event?.type),
      ['$streamDeleted'],
    )
  },
)

test.serial('after a scavenge positions leap, and revisions go on', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', [event(), event()], { expectedRevision: NO_STREAM })
  double.scavenge()
  const { nextExpectedRevision, position } = await client.appendToStream('note-1', event(), { expectedRevision: 1n })
  t.is(nextExpectedRevision, 2n)
  t.true((position?.commit ?? 0n) >= 268_435_456n)
})

test.serial('from a position whose event a scavenge took, reads and subscriptions go on', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', [event(), event(), event('Closed')])
  const [, gone = 0n] = double.log().map(({ position }) => position)
  await client.setStreamMetadata('note-1', { truncateBefore: 2 })
  double.scavenge()
  const fromPosition = { commit: gone, prepare: gone }
  const [next] = await collect(client.readAll({ fromPosition }))
  t.is(next?.event?.type, 'Closed')
  for await (const { event: given } of client.subscribeToAll({ fromPosition })) {
    t.is(given?.type, 'Closed')
    break
  }
})

test.serial('a live subscription misses nothing of what is written after a scavenge', async (t) => {
  const { double, client } = await openDouble(t)
  await client.appendToStream('note-1', many(8))
  await client.setStreamMetadata('note-1', { truncateBefore: 7 })
  const subscription = client.subscribeToAll({ filter: streamNameFilter({ prefixes: ['note-2'] }) })
  const given: Array<unknown> = []
  subscription.on('data', ({ event }) => given.push(event?.data))
  await once(subscription, 'caughtUp')
  double.scavenge()
  const written = many(12)
  for (const one of written) await client.appendToStream('note-2', one)
  await until('the last of them', 10_000, () => isDeepStrictEqual(given.at(-1), written.at(-1)?.data))
  t.deepEqual(
    given,
    written.map(({ data }) => data),
  )
  await subscription.unsubscribe()
})

test.serial('a read that is under way when the log is scavenged misses nothing that is left', async (t) => {
  const { double, client } = await openDouble(t)
  const [gone, left] = [many(1_000), many(500)]
  await client.appendToStream('note-1', [...gone, ...left])
  await client.setStreamMetadata('note-1', { truncateBefore: gone.length })
  const read = new Set<string | undefined>()
  for await (const { event } of client.readAll({ fromPosition: START })) {
    if (read.size === 0) double.scavenge()
    read.add(event?.id)
  }
  t.deepEqual(
    left.filter(({ id }) => !read.has(id)),
    [],
  )
})
