import type { CommandHandler, StoreFailure } from '../../domain/ports.js'
import { E, type Either } from '../../domain/prelude.js'
import { streamOf } from '../../domain/stream-name.js'

/**
 * Commands for one stream wait for each other in this process, so that only other processes can be in conflict with it.
 */
export type StreamQueue = {
  /** For requests, which may be any number: where too many commands wait for the stream already, theirs is refused. */
  readonly ofRequests: CommandHandler
  /** For what this process does by itself, one thing after the other: it is never refused. */
  readonly ofWork: CommandHandler
  /**
   * Locks a stream at once, until the function that it gives is called; undefined where a command for it is under way.
   */
  readonly tryLock: (stream: string) => (() => void) | undefined
}

/**
 * Commands that wait for one stream, when no more of requests are taken: more than a store that answers ever leaves
 * waiting.
 */
const mostWaiting = 500

const tooMany: Either<StoreFailure, never> = E.left({
  kind: 'unavailable',
  reason: 'too many commands wait for a stream',
})

export const streamQueue = (handler: CommandHandler): StreamQueue => {
  const queues = new Map<string, { last: Promise<unknown>; waiting: number }>()

  const afterOthers = <A>(stream: string, task: () => Promise<A>): Promise<A> => {
    const queue = queues.get(stream)
    const done = queue === undefined ? task() : queue.last.then(task, task)
    const own = queue ?? { last: done, waiting: 0 }
    own.last = done
    own.waiting += 1
    queues.set(stream, own)
    const leave = (): void => {
      own.waiting -= 1
      if (own.waiting === 0) queues.delete(stream)
    }
    done.then(leave, leave)
    return done
  }
  const ofWork: CommandHandler = {
    load: handler.load,
    execute: (decider, id, command, envelope, assumed) =>
      afterOthers(streamOf(decider, id), () => handler.execute(decider, id, command, envelope, assumed)),
  }
  return {
    ofWork,
    tryLock: (stream) => {
      if (queues.has(stream)) return undefined
      let leave: () => void = () => undefined
      void afterOthers(stream, () => new Promise<void>((resolve) => (leave = resolve)))
      return () => leave()
    },
    ofRequests: {
      load: handler.load,
      execute: (decider, id, ...more) => {
        const isFull = (queues.get(streamOf(decider, id))?.waiting ?? 0) >= mostWaiting
        return isFull ? Promise.resolve(tooMany) : ofWork.execute(decider, id, ...more)
      },
    },
  }
}
