import { getHeapStatistics } from 'node:v8'
import test, { type ExecutionContext } from 'ava'
import { randomIds } from '../../../adapters/node/ids.js'
import { messengerWithoutProvider } from '../../../adapters/in-process/messenger-without-provider.js'
import { singleProcessMembership } from '../../../adapters/in-process/single-process-leases.js'
import { clientCommands } from '../../../app/commands/client-commands.js'
import { waitingCommands } from '../../../app/commands/read-your-writes/waiting-commands.js'
import { waitingQueries } from '../../../app/commands/read-your-writes/waiting-queries.js'
import { commandSide, logFollowing } from '../../../app/composition/command-side.js'
import { followersOn } from '../../../app/composition/followers.js'
import type { Stores } from '../../../app/composition/stores.js'
import { abortable, neverAborted } from '../../../domain/abortable.js'
import { newAggregate } from '../../../domain/aggregate.js'
import { lead } from '../../../domain/lead.js'
import { beginning, type Position } from '../../../domain/event.js'
import type { AppendAll, EventStore, MonotonicClock } from '../../../domain/ports.js'
import { E } from '../../../domain/prelude.js'
import type { Documents } from '../../../projections/ports.js'
import { collectionOf } from '../../../projections/projection.js'
import { contacts } from '../../../projections/read-models/contacts.js'
import { contactId, engagementId, leadFacts, leadId } from '../../kit/domain/samples.js'
import { documentState, memoryDocuments } from '../../kit/memory/documents.js'
import { memoryAppendAll, memoryEventStore, memoryLog } from '../../kit/memory/event-store.js'
import { reachable } from '../../kit/parts/reachable.js'
import { recordingLogger } from '../../kit/parts/recording-logger.js'
import { storeAt } from '../../kit/stores/eventstoredb.js'
import { manualClock } from '../../kit/time/manual-clock.js'
import { settled } from '../../kit/time/turns.js'
import { until } from '../../kit/time/until.js'
import { startDouble } from '../../eventstoredb-double/double.js'

/** A time whose waits end when the test says so, all of them at once. */
const heldTime = () => {
  const waits = new Set<() => void>()
  const monotonic: MonotonicClock = {
    now: () => 0,
    sleep: (_, signal) =>
      abortable(signal, (done) => {
        waits.add(done)
        return () => waits.delete(done)
      }),
  }
  const pass = (): void => {
    for (const done of waits) done()
  }
  return { monotonic, pass, waiting: () => waits.size }
}

/** The same documents, until they are taken away. */
const fallible = (documents: Documents): { readonly documents: Documents; readonly takeAway: () => void } => {
  let isAway = false
  const unlessAway =
    (call: unknown) =>
    (...args: ReadonlyArray<unknown>): unknown =>
      isAway
        ? Promise.resolve(E.left({ kind: 'unavailable', reason: 'away' }))
        : (call as (...all: ReadonlyArray<unknown>) => unknown)(...args)
  const entries = Object.entries(documents).map(([name, call]) => [name, unlessAway(call)] as const)
  return { documents: Object.fromEntries(entries) as unknown as Documents, takeAway: () => void (isAway = true) }
}

/** The half of a process that takes leads, with all that follows the log, and what still waits in it. */
const openProcess = (t: ExecutionContext, store: EventStore, kept: Documents, appendAll?: AppendAll) => {
  const { monotonic, pass, waiting } = heldTime()
  const clock = manualClock()
  const ids = randomIds(clock)
  const ports = { clock, logger: recordingLogger(), monotonic }
  const membership = singleProcessMembership()
  const stores: Stores = {
    store,
    documents: kept,
    membership,
    isShared: appendAll === undefined,
    appendAll,
    documentsFailure: () => undefined,
    eventStoreRefusal: () => Promise.resolve(undefined),
    refuseForeign: () => Promise.resolve(E.right(undefined)),
    close: () => Promise.resolve(),
  }
  const side = commandSide(stores, ports)
  const followers = followersOn({
    ...ports,
    stores: { ...stores, store: side.store },
    commandHandler: side.workHandler,
    currentStates: side.currentStates,
    reactor: side.reactor,
    snapshots: side.snapshots,
    messenger: messengerWithoutProvider,
  })
  const following = logFollowing(side, stores, followers.reactions, ports)
  let asked = 0
  // One in twenty: to watch all would cost more than the leads.
  const isWatched = (): boolean => (asked += 1) % 20 === 0
  const eventsAndSignals = reachable()
  const waiters = followers.readModels.map(({ projection, follower }) => ({
    projection,
    follower: {
      caughtUpTo: (position: Position, signal: AbortSignal) => {
        if (isWatched()) eventsAndSignals.watch(signal)
        return follower.caughtUpTo(position, signal)
      },
    },
  }))
  const shown = { readModels: waiters, head: beginning, documents: kept, monotonic, stopping: neverAborted }
  const { untilAnswerable, documents } = stores.isShared
    ? waitingCommands({ ...shown, followed: following.followed })
    : waitingQueries(shown)
  const { execute } = clientCommands({
    ...side,
    ids,
    untilAnswerable: (appended) => {
      if (isWatched()) for (const one of appended) eventsAndSignals.watch(one)
      return untilAnswerable(appended)
    },
  })
  const running = following.everyProcessFollowers.map((one) => one.start())
  const byName = new Map(followers.all.map((one) => [one.name, one]))
  membership.share(
    'projector',
    () => [...byName.keys()],
    async (lease) => byName.get(lease.name)?.run(lease),
  )
  t.teardown(async () => {
    await membership.leave()
    await Promise.all(running.map((one) => one.stop()))
  })
  const answered = { accepted: 0, refused: 0 }
  return {
    pass,
    /** So many leads at once, and beside every tenth a request that finds nothing and one that reads a contact. */
    submit: async (from: number, count: number): Promise<void> => {
      for (let n = from; n < from + count; n += 1) {
        const facts = leadFacts({ lead_id: leadId(n), contact_id: contactId(n), engagement_id: engagementId(n) })
        const submit = { type: 'SubmitLead', facts } as const
        void execute(lead, facts.lead_id, submit, 'vendor', newAggregate(lead)).then(
          (done) => (answered[E.isRight(done) ? 'accepted' : 'refused'] += 1),
        )
        if (n % 10 === 0) void following.hasPendingReactions()
        if (n % 10 === 5) void documents.get(collectionOf(contacts), [facts.contact_id])
      }
      await settled()
    },
    answered: () => ({ ...answered }),
    waiting: async () => ({ 'events and signals': await eventsAndSignals.count(), timers: waiting() }),
  }
}

const leads = 20_000
const atOnce = 100

const isBounded = (t: ExecutionContext, waiting: Readonly<Record<string, number>>): void => {
  for (const [what, count] of Object.entries(waiting)) t.true(count <= 100, `${count} ${what}`)
}

// One after the other: each counts what is left in the memory of the whole process. First the one that collects garbage
// after each thousand leads, since the other leaves a log of 20,000 in that memory.

test.serial(
  'while the event store is silent, what waits does not grow with the leads, and nothing breaks when it goes at last',
  async (t) => {
    const double = await startDouble()
    const store = storeAt(t, double.url, { callTimeout: 100, retryFor: 20, backoff: { first: 10, longest: 10 } })
    const process = openProcess(t, store, memoryDocuments(documentState()))
    await settled()
    double.faults.beSilent()
    const heap: Array<number> = []
    for (let n = 0; n < leads; n += 1_000) {
      await process.submit(n, 1_000)
      await until('every lead has its answer', 60_000, () => process.answered().refused === n + 1_000)
      process.pass()
      isBounded(t, await process.waiting())
      heap.push(getHeapStatistics().used_heap_size)
    }
    const [, second = 0] = heap
    t.true((heap.at(-1) ?? 0) - second < 24_000_000, `${heap.join()} bytes`)
    // What the driver had still to send fails now, where nobody could catch it: an unhandled rejection ends a process.
    await double.stop()
    await settled()
  },
)

test.serial('while the documents are away, what waits does not grow with the leads', async (t) => {
  const { documents, takeAway } = fallible(memoryDocuments(documentState()))
  const log = memoryLog()
  const process = openProcess(t, memoryEventStore(log), documents, memoryAppendAll(log))
  await settled()
  takeAway()
  for (let n = 0; n < leads; n += atOnce) {
    await process.submit(n, atOnce)
    if (n % 1_000 === 0) process.pass()
  }
  process.pass()
  await settled()
  t.deepEqual(process.answered(), { accepted: leads, refused: 0 })
  isBounded(t, await process.waiting())
})
