import type { RecordedEvent } from '../../../domain/events.js'
import type { Position } from '../../../domain/event.js'
import type { Clock } from '../../../domain/ports.js'
import type { Json } from '../../../projections/ports.js'
import { collectionOf } from '../../../projections/projection.js'
import { memoryDocuments } from '../memory/documents.js'
import { eventsIn } from '../memory/event-store.js'
import { openLives } from './lives.js'
import { openReceivers, type Answering, type Arrival } from './receivers.js'
import { openTrace } from './trace.js'
import { manualClock } from '../time/manual-clock.js'
import { simulatedReadModels, virtualProcess, type VirtualProcess } from './virtual-process.js'

/** What a client asks of the service. After a crash it is asked again, so a second time must do no harm. */
export type Command = (process: VirtualProcess, clock: Clock) => Promise<void>

/**
 * A service whose stores, receivers and clock are simulated: all that happens follows from the scene and the commands.
 */
export type Simulation = {
  /**
   * Asks all of them at the same time, and again those that a crash left unanswered; resolves when each has its answer.
   */
  readonly ask: (...commands: ReadonlyArray<Command>) => Promise<void>
  /** Lets this many milliseconds pass. */
  readonly advance: (milliseconds: number) => Promise<void>
  /**
   * Ends the process, at once or at its n-th durable step from now, from 1 on; another begins so many milliseconds
   * later, or some time later.
   */
  readonly crash: (away?: number) => void
  readonly crashAt: (step: number) => void
  /** Cancels a `crashAt` whose step has not come yet. */
  readonly crashNoMore: () => void
  /** All events that were written so far. */
  readonly log: () => ReadonlyArray<RecordedEvent>
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
  readonly events: ReadonlyArray<RecordedEvent>
  readonly arrivals: ReadonlyArray<Arrival>
  /** The head of the log at each crash. The last life goes on. */
  readonly crashes: ReadonlyArray<Position>
  /** As in the scene. */
  readonly slowest: number
  /** The documents of the read models, by name. */
  readonly readModels: ReadonlyMap<string, Readonly<Record<string, Json>>>
  /** All of this, and what was done to the stores in between, line by line. */
  readonly trace: () => ReadonlyArray<string>
}

const mostTimers = 200_000

export const openSimulation = (scene: Scene): Simulation => {
  const clock = manualClock()
  const trace = openTrace(clock.now)
  const receivers = openReceivers({ answer: scene.answer, clock, trace, head: () => lives.head() })
  const { note } = trace
  const lives = openLives(
    {
      ...scene,
      ...{ note, mostTimers },
      process: ({ life, ...parts }) =>
        virtualProcess({ ...parts, webhookClient: receivers.clientIn(life), unsaved: scene.unsaved }),
    },
    clock,
  )
  const { settle, current, toNextTimer, fail, crashes } = lives

  const settleUntil = async (isSo: () => boolean): Promise<void> => {
    await settle()
    while (!isSo()) {
      if (!toNextTimer(Infinity)) throw new Error('nothing is left to wait for')
      await settle()
    }
  }

  return {
    ask: async (...commands) => {
      const unanswered = new Set(commands)
      while (unanswered.size > 0) {
        await settleUntil(() => current().isUp && !current().life.isOver())
        const { life, process } = current()
        for (const command of unanswered) {
          command(process, clock).then(() => {
            // What is left of a process that crashed answers nobody.
            if (!life.isOver()) unanswered.delete(command)
          }, fail)
        }
        await settleUntil(() => unanswered.size === 0 || current().life !== life)
      }
    },
    advance: async (milliseconds) => {
      const end = clock.time() + milliseconds
      await settle()
      while (toNextTimer(end)) await settle()
    },
    crash: lives.crash,
    crashAt: lives.crashAt,
    crashNoMore: () => lives.crashAt(0),
    log: () => eventsIn(lives.log),
    history: async () => {
      const documents = memoryDocuments(lives.state)
      const readModels = new Map<string, Record<string, Json>>()
      for (const projection of simulatedReadModels) {
        const content: Record<string, Json> = {}
        for await (const { key, document } of documents.all(collectionOf(projection)))
          if (document !== undefined) content[key] = document
        readModels.set(projection.name, content)
      }
      const events = eventsIn(lives.log)
      const { arrivals } = receivers
      const { slowest } = scene
      const lines = (): ReadonlyArray<string> => [
        ...trace.lines,
        ...[...readModels].map(([name, content]) => `${name} ${JSON.stringify(content)}`),
        ...events.map(({ position, ...event }) => `event ${position} ${JSON.stringify(event)}`),
      ]
      return { events, arrivals, crashes, slowest, readModels, trace: lines }
    },
  }
}
