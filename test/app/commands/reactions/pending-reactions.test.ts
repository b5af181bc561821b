import test, { type ExecutionContext } from 'ava'
import { ownPendingReactions, sharedPendingReactions } from '../../../../app/commands/reactions/pending-reactions.js'
import { neverAborted } from '../../../../domain/abortable.js'
import { beginning, type Position } from '../../../../domain/event.js'
import { E } from '../../../../domain/prelude.js'
import { checkpointCollection } from '../../../../projections/subscriptions/checkpoint.js'
import { follow } from '../../../../projections/subscriptions/follower.js'
import type { Documents } from '../../../../projections/ports.js'
import { leasedFollower } from '../../../../projections/subscriptions/leased-follower.js'
import { testLease } from '../../../kit/parts/lease.js'
import { newEvent } from '../../../kit/domain/new-events.js'
import { rightOf } from '../../../kit/right-of.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { nextTurn, isOver } from '../../../kit/time/turns.js'
import { openSqliteStores } from '../../../kit/stores/sqlite.js'
import { manualTime } from '../../../kit/time/manual-time.js'
import { positionAt } from '../../../kit/domain/samples.js'

const collection = checkpointCollection('reactions')

/** A process beside another one that carries out the reactions. */
const open = async (t: ExecutionContext) => {
  const { store, documents, close } = await openSqliteStores()
  t.teardown(close)
  rightOf(await documents.prepare(collection))
  let isAway = false
  const fallible: Documents = {
    ...documents,
    checkpoint: (one) =>
      isAway ? Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' })) : documents.checkpoint(one),
  }
  const reactions = leasedFollower(
    'reactions',
    collection,
    () =>
      follow(
        {
          name: 'reactions',
          categories: ['account'],
          begin: () => Promise.resolve(beginning),
          // Without end: the store that it writes to does not answer.
          handle: () => new Promise(() => undefined),
        },
        { store, logger: recordingLogger(), backoff: nextTurn },
      ),
    { documents: fallible, pollBackoff: nextTurn },
  )
  const time = manualTime()
  const pending = sharedPendingReactions(store, reactions, time.process())
  const watching = follow(pending.follower, { store, logger: recordingLogger(), backoff: nextTurn })
  t.teardown(watching.stop)
  let n = 0
  const hasPending = pending.hasPending
  return {
    reactions,
    hasPending,
    /** An event that this process has seen; gives its position. */
    write: async (category: string): Promise<Position> => {
      n += 1
      const { position } = rightOf(await store.append(`${category}-${n}`, 'no-stream', [newEvent(n)]))
      await watching.caughtUpTo(position, neverAborted)
      return position
    },
    /** Another process has come so far. */
    reacted: async (position: Position) => rightOf(await documents.apply(collection, [], position)),
    takeAway: () => {
      isAway = true
    },
    /** Whether some are pending, as it is said after a second and no earlier. */
    saidAfterASecond: async (): Promise<boolean> => {
      const asking = hasPending()
      await time.advance(999)
      t.false(await isOver(asking))
      await time.advance(1)
      t.true(await isOver(asking))
      return asking
    },
  }
}

test('a process that writes alone has pending reactions where its own reactor left some unfinished', async (t) => {
  let isOpen = false
  const hasPending = ownPendingReactions({ hasUnfinished: () => isOpen })
  t.false(await hasPending())
  isOpen = true
  t.true(await hasPending())
})

test('events without reactions leave none pending', async (t) => {
  const { write, hasPending } = await open(t)
  t.false(await hasPending())
  await write('playbook')
  await write('webhook')
  t.false(await hasPending())
})

test('what the reactions have come to is not pending', async (t) => {
  const { write, reacted, hasPending } = await open(t)
  await reacted(await write('account'))
  t.false(await hasPending())
})

test('reactions that are about to be carried out are waited for', async (t) => {
  const { write, reacted, hasPending } = await open(t)
  const position = await write('lead')
  const asking = hasPending()
  await reacted(positionAt(position - 1n))
  t.false(await isOver(asking))
  await reacted(position)
  t.false(await asking)
})

test('reactions that do not come within a second are pending, wherever they are followed', async (t) => {
  for (const isHere of [false, true]) {
    const { write, saidAfterASecond, reactions } = await open(t)
    const lease = testLease('reactions')
    await write('contact')
    if (isHere) void reactions.run(lease)
    t.true(await saidAfterASecond())
  }
})

test('reactions count as pending where nobody can tell how far they are', async (t) => {
  const { write, reacted, saidAfterASecond, takeAway } = await open(t)
  await reacted(await write('account'))
  takeAway()
  t.true(await saidAfterASecond())
})
