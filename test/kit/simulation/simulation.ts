import type { DomainEvent } from '../../../domain/events.js'
import { type Position, positionOf, type Recorded } from '../../../domain/event.js'
import type { Clock, Logger } from '../../../domain/ports.js'
import type { Json } from '../../../projections/ports.js'
import { collectionOf } from '../../../projections/projection.js'
import { randomFrom } from '../load/random.js'
import { documentState, memoryDocuments } from '../memory/documents.js'
import { eventsIn, memoryEventStore, memoryLog } from '../memory/event-store.js'
import { beginLife, type Life } from './life.js'
import { openReceivers, type Answering, type Arrival } from './receivers.js'
import { seededIds } from './seeded-ids.js'
import { openTrace } from './trace.js'
import { manualClock } from '../time/manual-clock.js'
import { simulatedReadModels, virtualProcess, type VirtualProcess } from './virtual-process.js'
import { nextTurn } from '../time/turns.js'
import { recordingLogger } from '../parts/recording-logger.js'

/** What a client asks of the service. After a crash it is asked again, so a second time must do no harm. */
export type Command = (process: VirtualProcess, clock: Clock) => Promise<void>

/** A service whose stores, receivers and clock are simulated: all that happens follows from the scene and the commands. */
export type Simulation = {
  /** Asks all of them at the same time, and again those that a crash left unanswered; resolves when each has its answer. */
  readonly ask: (...commands: ReadonlyArray<Command>) => Promise<void>
  /** Lets this many milliseconds pass. */
  readonly pass: (milliseconds: number) => Promise<void>
  /**
   * Ends the process, at once or at its n-th durable step from now, from 1 on; another begins so many milliseconds later, or some
   * time later.
   */
  readonly crash: (away?: number) => void
  readonly crashAt: (step: number) => void
  /** Cancels a `crashAt` whose step has not come yet. */
  readonly crashNoMore: () => void
  /** All events that were written so far. */
  readonly log: () => ReadonlyArray<Recorded<DomainEvent>>
  /** All that happened so far. */
  readonly history: () => Promise<History>
}

export type Scene = {
  readonly seed: number
  readonly answer: Answering
  /** Milliseconds that a request to a store takes at most, and its answer as many. */
  readonly slowest: number
  /** Positions that a follower may advance without saving its checkpoint. */
  readonly unsaved: bigint
  /** Milliseconds from a crash to the next start at most. */
  readonly longestAway: number
  /** With each crash all documents are gone. */
  readonly losesDocuments?: boolean
}

export type History = {
  readonly events: ReadonlyArray<Recorded<DomainEvent>>
  readonly arrivals: ReadonlyArray<Arrival>
  /** The head of the log at each crash. The last life goes on. */
  readonly crashes: ReadonlyArray<Position>
  /** As in the scene. */
  readonly slowest: number
  /** The documents of the read models, by name. */
  readonly readModels: ReadonlyMap<string, Readonly<Record<string, Json>>>
  readonly trace: ReadonlyArray<string>
  /** SHA-256 of the trace. */
  readonly digest: string
}

/** A simulation in which more timers than this fire goes round in a circle. */
const mostTimers = 200_000

export const openSimulation = (scene: Scene): Simulation => {
  const [chance, jitter, letters] = [randomFrom(scene.seed), randomFrom(~scene.seed), randomFrom(scene.seed ^ 0x5eed)]
  const clock = manualClock()
  const ids = seededIds(clock, letters)
  const log = memoryLog()
  const state = documentState()
  const trace = openTrace(clock.now)
  const head = (): Position => positionOf(BigInt(log.events.length))
  const receivers = openReceivers({ answer: scene.answer, clock, trace, head })
  const crashes: Array<Position> = []
  let stirs = 0
  let timers = 0
  let stepsLeft = 0
  let failure: unknown

  const delay = async (): Promise<void> => {
    // Most steps take no time, so that they overtake those that do.
    const takes = chance() < 0.75 ? 0 : Math.ceil(chance() * scene.slowest)
    if (takes > 0) await clock.sleep(takes)
  }

  type Running = { readonly life: Life; readonly process: VirtualProcess; isUp: boolean }

  const start = (number: number): Running => {
    const life = beginLife(number, {
      clock,
      delay,
      durable: (step) => {
        trace.note(`life ${number} ${step}`)
        stepsLeft -= 1
        if (stepsLeft === 0) crash()
      },
      stir: () => {
        stirs += 1
      },
    })
    const process = virtualProcess({
      store: memoryEventStore(log, life.steps.log),
      documents: memoryDocuments(state, life.steps.documents),
      sender: receivers.sender(life),
      clock: life.clock,
      ids,
      logger: loggerOf(life, trace.note),
      random: jitter,
      unsaved: scene.unsaved,
    })
    const begun: Running = { life, process, isUp: false }
    trace.note(`life ${number} begins`)
    process.begin().then(() => {
      begun.isUp = true
      trace.note(`life ${number} takes commands`)
    }, fail)
    return begun
  }

  const fail = (error: unknown): void => {
    failure ??= error
  }

  const crash = (away?: number): void => {
    const { life } = running
    if (life.isOver()) return
    life.end()
    crashes.push(head())
    if (scene.losesDocuments === true) state.clear()
    trace.note(`life ${life.number} ends`)
    void clock.sleep(away ?? 1 + Math.floor(chance() * scene.longestAway)).then(() => {
      running = start(life.number + 1)
    })
  }

  /**
   * Resolves when nothing is left to do at this time. Whatever goes on does so within turns of the event loop, whose order does
   * not depend on how long anything takes: so the same seed gives the same history.
   */
  const settle = async (): Promise<void> => {
    for (let quiet = 0; quiet < 2; quiet += 1) {
      const before = stirs
      await nextTurn()
      if (stirs > before) quiet = -1
    }
    if (failure !== undefined) throw failure instanceof Error ? failure : new Error('a command failed')
  }

  const toNextTimer = (latest: number): boolean => {
    timers += 1
    if (timers > mostTimers) throw new Error('the simulation goes round in a circle')
    return clock.toNextTimer(latest)
  }

  const settleUntil = async (isSo: () => boolean): Promise<void> => {
    await settle()
    while (!isSo()) {
      if (!toNextTimer(Infinity)) throw new Error('nothing is left to wait for')
      await settle()
    }
  }

  let running = start(1)

  return {
    ask: async (...commands) => {
      const unanswered = new Set(commands)
      while (unanswered.size > 0) {
        await settleUntil(() => running.isUp && !running.life.isOver())
        const { life, process } = running
        for (const command of unanswered) {
          command(process, clock).then(() => {
            // What is left of a process that crashed answers nobody.
            if (!life.isOver()) unanswered.delete(command)
          }, fail)
        }
        await settleUntil(() => unanswered.size === 0 || running.life !== life)
      }
    },
    pass: async (milliseconds) => {
      const end = clock.time() + milliseconds
      await settle()
      while (toNextTimer(end)) await settle()
    },
    crash,
    crashAt: (step) => {
      stepsLeft = step
    },
    crashNoMore: () => {
      stepsLeft = 0
    },
    log: () => eventsIn(log),
    history: async () => {
      const documents = memoryDocuments(state)
      const readModels = new Map<string, Record<string, Json>>()
      for (const projection of simulatedReadModels) {
        const content: Record<string, Json> = {}
        for await (const { key, document } of documents.all(collectionOf(projection)))
          if (document !== undefined) content[key] = document
        readModels.set(projection.name, content)
        trace.note(`${projection.name} ${JSON.stringify(content)}`)
      }
      const events = eventsIn(log)
      for (const { position, ...event } of events) trace.note(`event ${position} ${JSON.stringify(event)}`)
      const { arrivals } = receivers
      const { slowest } = scene
      return { events, arrivals, crashes, slowest, readModels, trace: trace.lines, digest: trace.digest() }
    },
  }
}

/** The trace shows what a process logs, until it crashes. */
const loggerOf = (life: Life, note: (line: string) => void): Logger =>
  recordingLogger(({ level, fields, message }) => {
    if (!life.isOver()) note(`life ${life.number} logs ${level} ${message} ${JSON.stringify(fields)}`)
  })
