import test, { type ExecutionContext } from 'ava'
import { neverAborted } from '../../../../domain/abortable.js'
import type { RecordedEvent } from '../../../../domain/events.js'
import type { EventStore } from '../../../../domain/ports.js'
import { StoreFailed } from '../../../../domain/store-failed.js'
import { followConcurrently } from '../../../../projections/subscriptions/concurrent/concurrent-follower.js'
import {
  checkpointCollection,
  checkpointIn,
  type Checkpoint,
} from '../../../../projections/subscriptions/checkpoint.js'
import { newEvent } from '../../../kit/domain/new-events.js'
import { accountId, contactId, erasureId, leadId, positionAt } from '../../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../../kit/memory/documents.js'
import { memoryEventStore, memoryLog } from '../../../kit/memory/event-store.js'
import { recordingLogger } from '../../../kit/parts/recording-logger.js'
import { rightOf } from '../../../kit/right-of.js'
import { nextTurn, settled } from '../../../kit/time/turns.js'

const away = new StoreFailed({ kind: 'unavailable', reason: 'away' })

type InFlight = { readonly end: () => void; readonly fail: () => void; readonly stopping: AbortSignal }

type Options = {
  readonly subscribe?: (store: EventStore) => EventStore['subscribe']
  readonly checkpointOn?: (checkpoint: Checkpoint) => Checkpoint
}

/**
 * A log of erasures, of which each of a contact is work of its account, and a follower whose work ends when it is told
 * to.
 */
const openStage = (t: ExecutionContext, { subscribe, checkpointOn = (checkpoint) => checkpoint }: Options = {}) => {
  const store = memoryEventStore(memoryLog())
  const documents = memoryDocuments(documentState())
  const logger = recordingLogger()
  const begun: Array<string> = []
  /** By the number of the event. */
  const inFlight = new Map<string, InFlight>()
  const accounts = new Map<string, number>()
  let written = 0

  const nameOf = ({ data, stream, revision }: RecordedEvent): string =>
    `${accounts.get(stream)}: ${'contact_id' in data ? 'request' : 'late'} ${stream.slice(-2)}${revision > 1 ? '+' : ''}`
  const append = async (account: number, contact: number, revision = 0): Promise<string> => {
    const stream = `erasure-${erasureId(contact)}`
    accounts.set(stream, account)
    const ids = { erasure_id: erasureId(contact), account_id: accountId(account), contact_id: contactId(contact) }
    const { erasure_id } = ids
    written += 1
    const event = newEvent(
      written,
      revision === 0
        ? { type: 'ErasureRequested', data: { ...ids, by: 'ticket-1' } }
        : { type: 'LateLeadFound', data: { erasure_id, lead_id: leadId(written) } },
    )
    rightOf(await store.append(stream, revision === 0 ? 'no-stream' : revision - 1, [event]))
    return stream
  }
  const follow = () => {
    const following = followConcurrently(
      {
        name: 'erasing',
        categories: ['erasure'],
        checkpoint: checkpointOn(checkpointIn(documents, 'erasing', 1n)),
        places: { most: 3, mostOfAccount: 2 },
        workOf: ({ stream }) => Promise.resolve({ account_id: accountId(accounts.get(stream)), subject: stream }),
        handle: (event, stopping) => {
          const name = nameOf(event)
          begun.push(name)
          return new Promise((resolve, reject) => {
            const over = (then: () => void) => () => {
              inFlight.delete(name)
              then()
            }
            inFlight.set(name, {
              end: over(resolve),
              fail: over(() => {
                reject(away)
              }),
              stopping,
            })
          })
        },
        skip: () => Promise.resolve(),
      },
      { store: { ...store, subscribe: subscribe?.(store) ?? store.subscribe }, logger, backoff: nextTurn },
    )
    t.teardown(async () => {
      const stopped = following.stop()
      for (const { end } of inFlight.values()) end()
      await stopped
    })
    return following
  }
  return {
    store,
    lines: logger.lines,
    begun,
    inFlight,
    append,
    follow,
    end: async (...names: ReadonlyArray<string>): Promise<void> => {
      for (const name of names) inFlight.get(name)?.end()
      await settled()
    },
    saved: async () => rightOf(await documents.confirmedCheckpoint(checkpointCollection('erasing'))),
  }
}

test('an account whose work hangs leaves a place to another, and neither position nor checkpoint passes what hangs', async (t) => {
  const { append, follow, begun, end, saved } = openStage(t)
  for (const contact of [1, 2, 3]) await append(1, contact)
  await append(2, 4)
  const following = follow()
  await settled()
  t.deepEqual(begun, ['1: request 01', '1: request 02', '2: request 04'])
  await end('2: request 04', '1: request 02')
  t.deepEqual(begun.slice(3), ['1: request 03'])
  t.is(following.position(), positionAt(0))
  t.is(await saved(), positionAt(0))
  await end('1: request 01')
  t.is(following.position(), positionAt(2))
  t.is(await saved(), positionAt(2))
  await end('1: request 03')
  await following.caughtUpTo(positionAt(4), neverAborted)
  t.is(await saved(), positionAt(4))
})

test('what concerns one contact is done in its order', async (t) => {
  const { append, follow, begun, end } = openStage(t)
  await append(1, 1)
  await append(1, 1, 1)
  await append(1, 1, 2)
  follow()
  await settled()
  t.deepEqual(begun, ['1: request 01'])
  await end('1: request 01')
  t.deepEqual(begun.slice(1), ['1: late 01'])
  await end('1: late 01')
  t.deepEqual(begun.slice(2), ['1: late 01+'])
})

test('what fails is tried again in its place, is told of meanwhile, and the rest goes on', async (t) => {
  const { append, follow, begun, inFlight, end, lines } = openStage(t)
  await append(1, 1)
  const following = follow()
  await settled()
  inFlight.get('1: request 01')?.fail()
  await settled()
  t.is(following.retrying(), 'away')
  t.deepEqual(
    lines.map(({ message }) => message),
    ['a follower of the log tries again'],
  )
  await append(2, 2)
  await settled()
  await end('2: request 02')
  t.is(following.retrying(), 'away')
  await end('1: request 01')
  t.is(following.retrying(), undefined)
  t.deepEqual(begun, ['1: request 01', '1: request 01', '2: request 02'])
  await following.caughtUpTo(positionAt(2), neverAborted)
})

test('a stop ends what is in flight and begins nothing more, and the next process does all that was not done', async (t) => {
  const { append, follow, begun, inFlight, end } = openStage(t)
  for (const contact of [1, 2, 3]) await append(1, contact)
  const following = follow()
  await settled()
  await end('1: request 02')
  const stopped = following.stop()
  t.deepEqual(
    [...inFlight].map(([name, { stopping }]) => [name, stopping.aborted]),
    [
      ['1: request 01', true],
      ['1: request 03', true],
    ],
  )
  // It has come too far to leave it undone, and the other is told that it must.
  inFlight.get('1: request 01')?.end()
  inFlight.get('1: request 03')?.fail()
  await stopped
  t.is(following.position(), positionAt(2))
  begun.length = 0
  follow()
  await settled()
  t.deepEqual(begun, ['1: request 03'])
})

test('a log that fails is followed on from where it was read, and nothing is begun twice', async (t) => {
  let failures = 2
  const { append, follow, begun, end, saved } = openStage(t, {
    subscribe: (store) =>
      async function* (after, categories, signal) {
        for await (const batch of store.subscribe(after, categories, signal)) {
          yield batch
          failures -= 1
          if (failures >= 0) throw away
        }
      },
  })
  await append(1, 1)
  const following = follow()
  await settled()
  await append(2, 2)
  await settled()
  t.is(failures, 0)
  t.deepEqual(begun, ['1: request 01', '2: request 02'])
  t.is(following.position(), positionAt(0))
  await end(...begun)
  t.is(await saved(), positionAt(2))
})

test('of two events at one position, as a server gives those of one append, none is passed while the other hangs', async (t) => {
  const { append, follow, end, saved } = openStage(t, {
    subscribe: (store) =>
      async function* (after, categories, signal) {
        for await (const { events, position } of store.subscribe(after, categories, signal))
          yield { events: events.map((event) => ({ ...event, position })), position }
      },
  })
  await append(1, 1)
  await append(2, 2)
  const following = follow()
  await settled()
  await end('1: request 01')
  t.deepEqual([following.position(), await saved()], [positionAt(0), positionAt(0)])
  await end('2: request 02')
  t.deepEqual([following.position(), await saved()], [positionAt(2), positionAt(2)])
})

test('where ten thousand wait nothing more is read of the log until one of them has ended', async (t) => {
  const { append, follow, begun, end } = openStage(t)
  for (let late = 0; late < 10_000; late += 1) await append(1, 1, late)
  await append(2, 2)
  follow()
  await settled()
  t.deepEqual(begun, ['1: request 01'])
  await end('1: request 01')
  t.deepEqual(begun.slice(1).toSorted(), ['1: late 01', '2: request 02'])
})

test('saves go one at a time, and what waits for its save keeps its place', async (t) => {
  const saves: Array<() => void> = []
  let isHeld = false
  const { append, follow, begun, end, saved } = openStage(t, {
    checkpointOn: (checkpoint) => ({
      ...checkpoint,
      advance: async (batch) => {
        if (isHeld) await new Promise<void>((resolve) => saves.push(resolve))
        await checkpoint.advance(batch)
      },
    }),
  })
  for (const contact of [1, 2, 3, 4, 5]) await append(contact, contact)
  follow()
  await settled()
  isHeld = true
  await end('1: request 01', '2: request 02', '3: request 03')
  t.deepEqual([begun.length, saves.length], [3, 1])
  saves.shift()?.()
  await settled()
  t.deepEqual([begun.slice(3), saves.length], [['4: request 04'], 1])
  isHeld = false
  saves.shift()?.()
  await settled()
  t.deepEqual(begun.slice(4), ['5: request 05'])
  t.is(await saved(), positionAt(3))
})

test('whoever waits for what hangs is let go at a stop', async (t) => {
  const { append, follow, inFlight } = openStage(t)
  await append(1, 1)
  const following = follow()
  await settled()
  const waiting = following.caughtUpTo(positionAt(1), neverAborted)
  const stopped = following.stop()
  await waiting
  t.is(following.position(), positionAt(0))
  inFlight.get('1: request 01')?.fail()
  await stopped
})
