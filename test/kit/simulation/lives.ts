import { type Position, positionOf } from '../../../domain/event.js'
import type { Clock, EventStore, Ids, Logger } from '../../../domain/ports.js'
import type { Documents } from '../../../projections/ports.js'
import type { Membership } from '../../../projections/subscriptions/leases.js'
import { randomFrom, type Random } from '../load/random.js'
import { documentState, memoryDocuments } from '../memory/documents.js'
import { memoryEventStore, memoryLog } from '../memory/event-store.js'
import { recordingLogger } from '../parts/recording-logger.js'
import { manualClock, type ManualClock } from '../time/manual-clock.js'
import { nextTurn } from '../time/turns.js'
import { beginLife, type Life } from './life.js'
import { seededIds } from './seeded-ids.js'

/** What a process is made of that lives on simulated stores. */
export type LifeParts = {
  readonly life: Life
  readonly store: EventStore
  readonly documents: Documents
  readonly clock: Clock
  readonly ids: Ids
  readonly logger: Logger
  readonly random: Random
  /** Its part among those that share the work; left out where it works alone. */
  readonly shared?: Membership
}

type Process = {
  /** Resolves once it takes commands. */
  readonly begin: () => Promise<void>
}

type Running<P> = { readonly life: Life; readonly process: P; isUp: boolean }

/** Processes that follow each other on the same stores, one at a time, each until it crashes. */
type Lives<P> = {
  readonly log: ReturnType<typeof memoryLog>
  readonly state: ReturnType<typeof documentState>
  readonly head: () => Position
  /** The head of the log at each crash. */
  readonly crashes: ReadonlyArray<Position>
  readonly current: () => Readonly<Running<P>>
  /** Resolves when nothing is left to do at this time. */
  readonly settle: () => Promise<void>
  readonly toNextTimer: (latest: number) => boolean
  /** What a client did failed: the next `settle` rejects. */
  readonly fail: (error: unknown) => void
  readonly crash: (away?: number) => void
  /** At the n-th durable step from now, from 1 on; 0 cancels it. */
  readonly crashAt: (step: number) => void
}

type LivesScene<P> = {
  readonly seed: number
  /** Milliseconds that a request to a store takes at most, and its answer as many. */
  readonly slowest: number
  /** Milliseconds from a crash to the next start at most. */
  readonly longestAway: number
  /** With each crash all documents are gone. */
  readonly losesDocuments?: boolean
  readonly process: (parts: LifeParts) => P
  readonly note: (line: string) => void
  /** A simulation in which more timers than this fire goes round in a circle. */
  readonly mostTimers: number
}

export const openLives = <P extends Process>(scene: LivesScene<P>, clock: ManualClock = manualClock()): Lives<P> => {
  const [chance, jitter, letters] = [randomFrom(scene.seed), randomFrom(~scene.seed), randomFrom(scene.seed ^ 0x5eed)]
  const { note } = scene
  const ids = seededIds(clock, letters)
  const log = memoryLog()
  const state = documentState()
  const head = (): Position => positionOf(BigInt(log.events.length))
  const crashes: Array<Position> = []
  let stirs = 0
  let timers = 0
  let stepsLeft = 0
  let failure: unknown

  const delay = (): Promise<void> | undefined => {
    // Most steps take no time, so that they overtake those that do.
    const takes = chance() < 0.75 ? 0 : Math.ceil(chance() * scene.slowest)
    return takes > 0 ? clock.sleep(takes) : undefined
  }

  const fail = (error: unknown): void => {
    failure ??= error
  }

  const start = (number: number): Running<P> => {
    const life = beginLife(number, {
      clock,
      delay,
      durable: (step) => {
        note(`life ${number} ${step}`)
        stepsLeft -= 1
        if (stepsLeft === 0) crash()
      },
      stir: () => {
        stirs += 1
      },
    })
    const process = scene.process({
      life,
      store: memoryEventStore(log, life.steps.log),
      documents: memoryDocuments(state, life.steps.documents),
      clock: life.clock,
      ids,
      logger: loggerOf(life, note),
      random: jitter,
    })
    const begun: Running<P> = { life, process, isUp: false }
    note(`life ${number} begins`)
    process.begin().then(() => {
      begun.isUp = true
      note(`life ${number} takes commands`)
    }, fail)
    return begun
  }

  const crash = (away?: number): void => {
    const { life } = running
    if (life.isOver()) return
    life.end()
    crashes.push(head())
    if (scene.losesDocuments === true) state.clear()
    note(`life ${life.number} ends`)
    void clock.sleep(away ?? 1 + Math.floor(chance() * scene.longestAway)).then(() => {
      running = start(life.number + 1)
    })
  }

  let running = start(1)

  return {
    ...{ log, state, head, crashes, fail, crash },
    current: () => running,
    /**
     * Whatever goes on does so within turns of the event loop, whose order does not depend on how long anything takes:
     * so the same seed gives the same history.
     */
    settle: async () => {
      for (let quiet = 0; quiet < 2; quiet += 1) {
        const before = stirs
        await nextTurn()
        if (stirs > before) quiet = -1
      }
      if (failure !== undefined) throw failure instanceof Error ? failure : new Error('a command failed')
    },
    toNextTimer: (latest) => {
      timers += 1
      if (timers > scene.mostTimers) throw new Error('the simulation goes round in a circle')
      return clock.toNextTimer(latest)
    },
    crashAt: (step) => {
      stepsLeft = step
    },
  }
}

/** What a process logs, until it crashes. */
const loggerOf = (life: Life, note: (line: string) => void): Logger =>
  recordingLogger(({ level, fields, message }) => {
    if (!life.isOver()) note(`life ${life.number} logs ${level} ${message} ${JSON.stringify(fields)}`)
  })
