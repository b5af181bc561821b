import test from 'ava'
import { E } from '../../../domain/prelude.js'
import type { Documents } from '../../../projections/ports.js'
import { contactShards } from '../../../projections/read-models/contact-shards.js'
import { contactId } from '../../kit/domain/samples.js'
import { settled } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'
import { openFollowUpStage } from './stage.js'

/** Finds of which those of `isHeld` have no answer until they are released, or fail. */
const heldFinds = (isHeld: (part: string) => boolean = () => true) => {
  let held: Array<(answer: 'found' | 'failed') => void> | undefined = []
  let open = 0
  let most = 0
  const values: Array<string> = []
  const waits: Array<unknown> = []
  return {
    open: () => open,
    most: () => most,
    /** The collections of which the shards in which something waits were asked for. */
    values,
    /** The finds in the index of what waits for accounts. */
    waits,
    /** What is held is answered, and nothing is held any more. */
    release: (answer: 'found' | 'failed' = 'found'): void => {
      const all = held ?? []
      held = undefined
      for (const end of all) end(answer)
    },
    /** The one that is held for longest is answered. */
    releaseOne: async (): Promise<void> => {
      held?.shift()?.('found')
      await settled()
    },
    workerReads: (documents: Documents): Documents => ({
      ...documents,
      find: async (collection, query) => {
        if (query.index === 'waiting') waits.push(query.equals[0])
        open += 1
        most = Math.max(most, open)
        const answer =
          held !== undefined && isHeld(String(query.equals[0]))
            ? await new Promise<'found' | 'failed'>((resolve) => held?.push(resolve))
            : 'found'
        open -= 1
        return answer === 'found'
          ? documents.find(collection, query)
          : E.left({ kind: 'unavailable', reason: 'no answer in time' })
      },
      values: (collection, index) => {
        values.push(collection.name)
        return documents.values(collection, index)
      },
    }),
  }
}

const now = {}
const shardOf = (n: number): string => contactShards.of(contactId(n))

/** Two leads whose contacts are followed up in different shards. */
const first = 1
const other = Array.from({ length: 20 }, (_, n) => n + 2).find((n) => shardOf(n) !== shardOf(first)) ?? 0

test('a process reads four things at a time, however many shards it takes over, and all that is due is sent', async (t) => {
  const finds = heldFinds()
  const stage = openFollowUpStage(t, { workerReads: finds.workerReads })
  for (let n = 1; n <= 20; n += 1) await stage.submit(n, 1, now)
  stage.work(1, contactShards.names)
  t.teardown(() => finds.release())
  await settled()
  t.is(finds.open(), 4)
  for (let n = 0; n < 40; n += 1) {
    await finds.releaseOne()
    t.is(finds.open(), 4)
  }
  finds.release()
  await until('all first messages', 30_000, () => stage.sent.length === 20)
  t.is(finds.most(), 4)
})

test('a shard whose reads fail holds up another only until they do', async (t) => {
  const finds = heldFinds((part) => part.startsWith(`${shardOf(first)}/`))
  const stage = openFollowUpStage(t, { workerReads: finds.workerReads })
  const number = await stage.submit(other, 1, now)
  stage.work(first, [shardOf(first), shardOf(other)])
  t.teardown(() => finds.release())
  await until('it reads', 30_000, () => finds.open() > 0)
  await settled()
  finds.release('failed')
  await until('the message of the other', 30_000, () => stage.sent.length === 1)
  t.deepEqual(stage.sent, [number])
})

test('a shard that is given back while its reads have no answer holds up no other', async (t) => {
  const finds = heldFinds((part) => part.startsWith(`${shardOf(first)}/`))
  const stage = openFollowUpStage(t, { workerReads: finds.workerReads })
  const number = await stage.submit(other, 1, now)
  const { recall } = stage.work(first, [shardOf(first), shardOf(other)])
  t.teardown(() => finds.release())
  await until('it reads', 30_000, () => finds.open() === 4)
  await settled()
  t.deepEqual(stage.sent, [])
  recall(shardOf(first))
  await until('the message of the other', 30_000, () => stage.sent.length === 1)
  t.deepEqual(stage.sent, [number])
})

test('shards that are taken over together look once for what waits for its account, and read only where something does', async (t) => {
  const finds = heldFinds()
  finds.release()
  const stage = openFollowUpStage(t, { owner: () => ({ enabled: false }), workerReads: finds.workerReads })
  await stage.prepare()
  await stage.submit(first, 1, now)
  await stage.runTask(first)
  stage.work(first, contactShards.names)
  await until('it was looked at', 30_000, () => finds.waits.length > 0)
  await settled()
  t.true(finds.values.length < contactShards.names.length, `${finds.values.length} looks at two collections`)
  t.deepEqual([...new Set(finds.waits)], [shardOf(first)])
})
