import test from 'ava'
import { NO_STREAM, START } from '@eventstore/db-client'
import { collect, event, openDouble } from './open-double.js'

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
