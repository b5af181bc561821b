import test from 'ava'
import { PendingCheckpoints, type ServerCheckpoint } from '../../../adapters/eventstoredb/log/pending-checkpoints.js'
import { positionAt } from '../../kit/domain/samples.js'

const checkpoint = (afterEvents: number, position: bigint, isCaughtUp = false): ServerCheckpoint => ({
  afterEvents,
  position: positionAt(position),
  isCaughtUp,
})

test('a checkpoint is reached once the events before it were consumed, and reached once', (t) => {
  const [first, second] = [checkpoint(2, 20n), checkpoint(3, 30n)]
  const pending = new PendingCheckpoints()
  pending.add(first)
  pending.add(second)
  t.deepEqual(pending.takeReached(0), [])
  t.deepEqual(pending.takeReached(1), [])
  t.deepEqual(pending.takeReached(2), [first])
  t.deepEqual(pending.takeReached(2), [])
  t.deepEqual(pending.takeReached(9), [second])
  t.deepEqual(pending.takeReached(9), [])
})

test('checkpoints without an event between them are reached together, in their order', (t) => {
  const all = [checkpoint(0, 5n), checkpoint(0, 8n), checkpoint(0, 0n, true)]
  const pending = new PendingCheckpoints()
  for (const one of all) pending.add(one)
  t.deepEqual(pending.takeReached(0), all)
})
