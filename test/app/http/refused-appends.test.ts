import test from 'ava'
import { observedAppends } from '../../../app/commands/observed-appends.js'
import { longestRefusal, refusedAppends } from '../../../app/http/monitoring/refused-appends.js'
import type { AppendAll, Conflict, EventStore, NewEvent, StoreFailure } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'

const reason = 'the disk is full (ENOSPC)'
const full: StoreFailure = { kind: 'unavailable', reason }

test('a log that took nothing the last time is told, with the reason, until it takes something', async (t) => {
  let refusal: StoreFailure | Conflict | undefined
  let now = 0
  const answer = <T>(appended: T) => Promise.resolve(refusal === undefined ? E.right(appended) : E.left(refusal))
  const log = { append: () => answer({ revision: 0, position: 1n }) } as unknown as EventStore
  const all: AppendAll = () => answer([])
  const { observe, appendFailure } = refusedAppends({ now: () => now })
  const { store, appendAll } = observedAppends({ store: log, appendAll: all }, [observe])
  const append = () => store.append('lead-led_1', -1, [{} as NewEvent])
  t.is(appendFailure(), undefined)
  refusal = full
  t.deepEqual(await append(), E.left(full))
  t.is(appendFailure(), reason)
  refusal = { kind: 'conflict' }
  await append()
  t.is(appendFailure(), reason, 'a conflict writes nothing')
  refusal = undefined
  await appendAll([])
  t.is(appendFailure(), undefined)
  refusal = full
  await appendAll([])
  t.is(appendFailure(), reason)
  now += longestRefusal
  t.is(appendFailure(), reason)
  now += 1
  t.is(appendFailure(), undefined, 'nobody has appended since, and it may take something again')
})
