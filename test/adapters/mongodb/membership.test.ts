import test from 'ava'
import type { Db } from 'mongodb'
import { EventEmitter } from 'node:events'
import { mongoMembership } from '../../../adapters/mongodb/leases/membership.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { until } from '../../kit/time/until.js'
import { waitedTime } from '../../kit/time/turns.js'

type Members = {
  readonly client: EventEmitter
  readonly collection: () => unknown
}

test('however long MongoDB is away, a process remembers no more of its former ids, and joins when it is back', async (t) => {
  let ids = 0
  let isAway = true
  let lost = false
  const removed: Array<ReadonlyArray<string>> = []
  const joined: Array<string> = []
  const answer = <A>(result: A): Promise<A> => (isAway ? Promise.reject(new Error('away')) : Promise.resolve(result))
  const members = {
    deleteMany: ({ _id: { $in } }: { readonly _id: { readonly $in: ReadonlyArray<string> } }) => {
      removed.push($in)
      return answer({})
    },
    insertOne: ({ _id }: { readonly _id: string }) => {
      if (!isAway) joined.push(_id)
      // The first answer does not come.
      if (joined.length === 1) isAway = true
      return answer({})
    },
    updateOne: () => answer({ matchedCount: lost ? 0 : 1 }),
    find: () => ({ toArray: () => Promise.resolve([]) }),
  }
  const db: Members = { client: new EventEmitter(), collection: () => members }
  const membership = mongoMembership({
    db: db as unknown as Db,
    newId: () => `id_${(ids += 1)}`,
    logger: recordingLogger(),
    monotonic: waitedTime(),
    lifetime: () => 0,
  })
  t.teardown(membership.leave)
  membership.share(
    'work',
    () => [],
    () => Promise.resolve(),
  )
  const tries = async (count: number): Promise<void> => {
    const from = ids
    await until('it has tried', 60_000, () => ids > from + count)
  }
  await tries(50)
  t.true(removed.length >= 50)
  // Of the first one nobody knows whether it was inserted; nothing was sent of another one.
  t.true(removed.every((some) => some.length === 1 && some[0] === 'id_1'))
  isAway = false
  await until('its insertion was sent', 60_000, () => joined.length === 1)
  await tries(50)
  t.true(removed.slice(-50).every((some) => some.length === 1 && some[0] === joined[0]))
  isAway = false
  await until('it has joined', 60_000, () => joined.length === 2)
  lost = true
  await until('it has joined anew', 60_000, () => joined.length > 2)
  t.deepEqual(removed.at(-1), [joined.at(-2)])
  lost = false
  await membership.leave()
  t.deepEqual(removed.at(-1), [joined.at(-1)])
})
