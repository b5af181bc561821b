import type { ExecutionContext } from 'ava'
import { connect } from '../../../adapters/eventstoredb/client/connection.js'
import { eventStoreDb } from '../../../adapters/eventstoredb/event-store.js'
import { mongoDocuments } from '../../../adapters/mongodb/documents.js'
import type { Timing } from '../../../adapters/mongodb/leases/liveness.js'
import { mongoMembership } from '../../../adapters/mongodb/leases/membership.js'
import { neverAborted } from '../../../domain/abortable.js'
import { beginning } from '../../../domain/event.js'
import { categories, type RecordedEvent } from '../../../domain/events.js'
import { millisecondsOf } from '../../../domain/instant.js'
import { later } from '../../../domain/instant.js'
import { startDouble } from '../../eventstoredb-double/double.js'
import { below, randomFrom } from '../load/random.js'
import { recordingLogger } from '../parts/recording-logger.js'
import { rightOf } from '../right-of.js'
import { beginLife, type Life } from '../simulation/life.js'
import { seededIds } from '../simulation/seeded-ids.js'
import { longRetries } from '../stores/eventstoredb.js'
import { testDatabase } from '../stores/mongodb.js'
import type { FollowUpProcess } from './follow-up-process.js'
import { longestAway, type MonthScene, type MonthStage } from './month-stage.js'
import { openWatch, watchedDocuments, watchedStore } from './watched-stores.js'

type Running = {
  readonly life: Life
  readonly process: FollowUpProcess
  readonly close: () => Promise<void>
  isUp: boolean
}

const minute = 60_000

/** Much longer than in the service: each heartbeat of a month asks the server. */
const timing: Timing = { heartbeatEvery: 60 * minute, lease: 180 * minute, margin: 30 * minute }

/** Of crashes that are asked for so many are orderly ends instead. */
const orderly = 0.3

/** Processes that share the work, on the double of EventStoreDB and a database of their own at `mongoUrl`. */
export const fleetStage =
  (t: ExecutionContext, mongoUrl: string, processes = 2) =>
  async (scene: MonthScene): Promise<MonthStage> => {
    const { seed, leads, clock } = scene
    const [chance, letters, jitter] = [randomFrom(seed), randomFrom(seed ^ 0x5eed), randomFrom(~seed)]
    const double = await startDouble()
    t.teardown(double.stop)
    const database = testDatabase(mongoUrl)
    const closing = new Set<() => Promise<void>>()
    t.teardown(async () => {
      // What follows a log that was closed would begin anew for ever.
      for (const { life } of fleet) life.end()
      for (const close of closing) await close()
      await database.drop()
    })
    const ids = seededIds(clock, letters)
    const watch = openWatch()
    const fleet: Array<Running> = []
    let stepsLeft = 0
    let crashes = 0
    let timers = 0
    let lives = 0
    let failure: unknown

    const fail = (error: unknown): void => {
      failure ??= error
    }
    /** Another one takes its place some time later. */
    const end = (one: Running): void => {
      if (one.life.isOver()) return
      one.life.end()
      crashes += 1
      void clock.sleep(1 + below(chance, longestAway)).then(() => {
        // Nothing is in flight at this time: closing one connection breaks the appends of all.
        fleet.splice(fleet.indexOf(one), 1)
        void watch.during(one.close)
        start()
      })
    }
    const durable = (life: Life): void => {
      stepsLeft -= 1
      const one = stepsLeft === 0 ? fleet.find((other) => other.life === life) : undefined
      if (one === undefined) return
      if (chance() >= orderly) {
        end(one)
        return
      }
      one.isUp = false
      void one.process.leave().then(() => end(one), fail)
    }

    const start = (): void => {
      lives += 1
      const life = beginLife(lives, {
        ...{ clock, delay: () => Promise.resolve(), durable: () => undefined, stir: watch.stir },
      })
      const connection = database.open()
      connection.db.client
        .on('connectionCheckOutStarted', watch.begun)
        .on('connectionCheckOutFailed', watch.ended)
        .on('connectionCheckedIn', watch.ended)
      const store = eventStoreDb(rightOf(connect(double.url)), longRetries)
      const close = async (): Promise<void> => {
        closing.delete(close)
        await Promise.all([store.close(), connection.close()])
      }
      closing.add(close)
      const logger = recordingLogger()
      const now = (): number => millisecondsOf(life.clock.now())
      const monotonic = {
        now,
        sleep: (milliseconds: number, signal: AbortSignal) =>
          life.clock.sleepUntil(later(life.clock.now(), milliseconds), signal),
      }
      const wrapping = { life, watch, durable }
      const process = scene.process({
        ...{ life, clock: life.clock, ids, logger, random: jitter },
        store: watchedStore(store, wrapping),
        documents: watchedDocuments(mongoDocuments(connection.db), wrapping),
        shared: mongoMembership({ db: connection.db, newId: ids.ulid, logger, monotonic, lifetime: now, timing }),
      })
      const running: Running = { life, process, close, isUp: false }
      fleet.push(running)
      process.begin().then(() => {
        running.isUp = true
      }, fail)
    }
    for (let n = 0; n < processes; n += 1) start()

    const watcher = eventStoreDb(rightOf(connect(double.url)), longRetries)
    const shown = database.open()
    t.teardown(watcher.close)
    t.teardown(shown.close)
    return {
      head: watch.head,
      running: () => fleet.filter(({ isUp, life }) => isUp && !life.isOver()),
      settle: async () => {
        await watch.settled()
        if (failure !== undefined) throw failure instanceof Error ? failure : new Error('a command failed')
      },
      toNextTimer: (latest) => {
        timers += 1
        if (timers > 100_000 + leads * 1_000) throw new Error('the simulation goes round in a circle')
        return clock.toNextTimer(latest)
      },
      fail,
      crashAt: (step) => {
        stepsLeft = step
      },
      crashes: () => crashes,
      events: async () => {
        const all: Array<RecordedEvent> = []
        for await (const { events } of watcher.history(beginning, categories, neverAborted)) all.push(...events)
        return all
      },
      documents: () => mongoDocuments(shown.db),
    }
  }
