import { messengerWithoutProvider } from '../../../adapters/in-process/messenger-without-provider.js'
import { randomIds } from '../../../adapters/node/ids.js'
import { reactor } from '../../../app/commands/reactions/reactor.js'
import { aborted, neverAborted } from '../../../domain/abortable.js'
import { erasureIdOf } from '../../../domain/derived-id.js'
import { erasure } from '../../../domain/erasure.js'
import { beginning } from '../../../domain/event.js'
import { categories, type RecordedEvent } from '../../../domain/events.js'
import type { AccountId, ContactId } from '../../../domain/ids.js'
import { later } from '../../../domain/instant.js'
import type { Messenger } from '../../../domain/messenger.js'
import type { EventStore, MonotonicClock } from '../../../domain/ports.js'
import { followConcurrently } from '../../../projections/subscriptions/concurrent/concurrent-follower.js'
import { eraser } from '../../../projections/erasure/eraser.js'
import type { Documents } from '../../../projections/ports.js'
import { anyProjection, changesOf, collectionOf, type AnyProjection } from '../../../projections/projection.js'
import { contactTimeline } from '../../../projections/read-models/contact-timeline.js'
import { messages } from '../../../projections/read-models/messages.js'
import { resends } from '../../../projections/read-models/resends.js'
import { checkpointCollection, checkpointIn } from '../../../projections/subscriptions/checkpoint.js'
import type { RunningFollower } from '../../../projections/subscriptions/follower.js'
import type { History } from '../domain/histories.js'
import { writeHistory } from '../domain/lively-history.js'
import { uuid } from '../domain/samples.js'
import { documentState, memoryDocuments } from '../memory/documents.js'
import { rightOf } from '../right-of.js'
import type { Execute } from '../simulation/virtual-followers.js'
import { manualClock } from '../time/manual-clock.js'
import { nextTurn } from '../time/turns.js'
import { sharedHandler } from './command-handlers.js'
import { recordingLogger } from './recording-logger.js'

export type Contact = { readonly id: ContactId; readonly accountId: AccountId }

/** How it finds what a contact has, how long it waits, and what empties the files. */
type ManagerOptions = {
  readonly find?: Documents['find']
  readonly monotonic?: Pick<MonotonicClock, 'sleep'>
  readonly purge?: EventStore['purge']
}

/** When the process is told to stop, and how it works. */
type RunOptions = ManagerOptions & { readonly stopping: AbortSignal }

/** What anybody is given of the log. */
const visibleIn = async (store: Pick<EventStore, 'history'>): Promise<History> => {
  const all: Array<RecordedEvent> = []
  for await (const { events } of store.history(beginning, categories, neverAborted)) all.push(...events)
  return all
}

/** A store with a history in it, and a process manager of erasures that begins anew each time it is run. */
export const openErasureStage = async (empty: EventStore, history: History) => {
  const store = await writeHistory(empty, history)
  const documents = memoryDocuments(documentState())
  const clock = manualClock()
  clock.set(later(history.at(-1)?.time ?? clock.now(), 1_000))
  const timeline = anyProjection(contactTimeline)
  const projectNow = async (projection: AnyProjection): Promise<void> => {
    const collection = collectionOf(projection)
    const events = (await visibleIn(store)).filter((event) => projection.keyOf(event) !== undefined)
    const keys = events.map((event) => projection.keyOf(event) ?? '')
    const stored = rightOf(await documents.get(collection, keys))
    const end = events.at(-1)?.position ?? beginning
    rightOf(await documents.apply(collection, changesOf(projection, stored, events), end))
  }
  let projecting = Promise.resolve()
  /** One at a time, as whoever maintains them does. */
  const project = (projection: AnyProjection): Promise<void> =>
    (projecting = projecting.then(() => projectNow(projection)))
  for (const one of [timeline, anyProjection(resends), anyProjection(messages)])
    rightOf(await documents.prepare(collectionOf(one)))
  await project(timeline)
  const removed: Array<string> = []
  let requests = 0
  const checkpoints = memoryDocuments(documentState())
  const follower = (name: string) => ({ name, failure: () => undefined, caughtUpTo: () => Promise.resolve() })
  const managerOn = (
    stepped: EventStore,
    messenger: Pick<Messenger, 'settle'>,
    { find = documents.find, monotonic = atOnceTime, purge = stepped.purge }: ManagerOptions = {},
  ) =>
    eraser({
      store: { ...stepped, purge },
      documents: { ...documents, find },
      commandHandler: sharedHandler(stepped, clock),
      removeSnapshot: (stream: string) => {
        removed.push(stream)
        return Promise.resolve()
      },
      reactions: follower('reactions'),
      deliveryFanOut: follower('delivery_projector'),
      resends: { ...follower('resends'), caughtUpTo: () => project(anyProjection(resends)) },
      timeline: { ...follower(timeline.name), caughtUpTo: () => project(timeline) },
      messages: { ...follower('messages'), caughtUpTo: () => project(anyProjection(messages)) },
      checkpoint: checkpointIn(checkpoints, 'eraser', 1n),
      monotonic,
      clock,
      messenger,
      logger: recordingLogger(),
    })

  /** What somebody does, and all that follows from it. */
  const execute: Execute = async (decider, id, command) => {
    const commandHandler = sharedHandler(store, clock)
    const envelope = { actor: 'test', eventId: randomIds(clock).uuid }
    const { events } = rightOf(await commandHandler.execute(decider, id, command, envelope))
    await reactor({ commandHandler, logger: recordingLogger() }).react(events)
  }

  return {
    visible: () => visibleIn(store),
    now: clock.now,
    setClock: clock.set,
    find: documents.find,
    /** The streams whose snapshots were removed. */
    removed,
    execute,
    request: async ({ id, accountId }: Contact): Promise<void> => {
      const facts = { erasure_id: erasureIdOf(id), account_id: accountId, contact_id: id, by: 'operator' }
      const command = { type: 'RequestErasure', facts } as const
      const envelope = { actor: 'operator', eventId: () => uuid(999 + requests) }
      requests += 1
      rightOf(await sharedHandler(store, clock).execute(erasure, facts.erasure_id, command, envelope))
    },
    /** Handles the log from its beginning, one event after the other. */
    run: async (
      stepped: EventStore = store,
      messenger: Pick<Messenger, 'settle'> = messengerWithoutProvider,
      { stopping = neverAborted, ...options }: Partial<RunOptions> = {},
    ): Promise<void> => {
      const manager = managerOn(stepped, messenger, options)
      for await (const { events } of store.history(beginning, manager.categories, neverAborted))
        for (const event of events) await manager.handle(event, stopping)
    },
    /** Follows the log as a process does, from the checkpoint that the one before it has saved. */
    follow: (options: ManagerOptions, stepped: EventStore = store): RunningFollower =>
      followConcurrently(managerOn(stepped, messengerWithoutProvider, options), {
        store: stepped,
        logger: recordingLogger(),
        backoff: nextTurn,
      }),
    /** How far the process manager has saved that it has come. */
    saved: async () => rightOf(await checkpoints.confirmedCheckpoint(checkpointCollection('eraser'))),
  }
}

/** What it waits for at most never comes; attempts that are under way end at once. */
const atOnceTime: Pick<MonotonicClock, 'sleep'> = {
  sleep: (milliseconds, signal) => (milliseconds < 10_000 ? nextTurn() : aborted(signal)),
}

/** Who became a contact in a history. */
export const contactsIn = (history: History): ReadonlyArray<Contact> =>
  history.flatMap((event) =>
    event.type === 'ContactCreated' ? [{ id: event.data.contact_id, accountId: event.data.account_id }] : [],
  )
