import type { Clock } from '../../../domain/ports.js'
import type { Steps } from '../memory/steps.js'

/**
 * One run of the service, up to the crash that ends it. From then on nothing is written for it, it gets no answer, and
 * none of its timers fires: what is left of it waits for ever.
 */
export type Life = {
  /** From 1 on. */
  readonly number: number
  readonly isOver: () => boolean
  readonly end: () => void
  /** Does something for this life, which gets the answer only if it has not ended meanwhile. */
  readonly serve: <A>(work: () => Promise<A>) => Promise<A>
  /**
   * The log behaves as the embedded one: an append is answered before any subscription shows its events, so that a
   * process that works alone may cache streams, and a stream is read at once.
   */
  readonly steps: { readonly log: Steps; readonly documents: Steps }
  readonly clock: Clock
}

type LifePorts = {
  readonly clock: Clock
  /** Resolves when a request has reached the store, or its answer has come back; undefined where that takes no time. */
  readonly delay: () => Promise<void> | undefined
  /** Called right before and right after each write: either may be the moment of a crash. */
  readonly durable: (step: string) => void
  /** Called whenever this life asks a store, a receiver or the clock for something. */
  readonly stir: () => void
}

export const beginLife = (number: number, { clock, delay, durable, stir }: LifePorts): Life => {
  let ended = false
  const isOver = (): boolean => ended

  const serve = async <A>(work: () => Promise<A>): Promise<A> => {
    stir()
    if (isOver()) return never()
    const answer = await work()
    return isOver() ? never() : answer
  }
  const read: Steps['read'] = (_of, look) =>
    serve(async () => {
      const seen = look()
      await delay()
      return seen
    })
  const write: Steps['write'] = (of, put) =>
    serve(async () => {
      await delay()
      if (isOver()) return never()
      durable(`writes ${of}`)
      // The call above may have ended this life.
      if (isOver()) return never()
      const written = put()
      durable(`wrote ${of}`)
      return written
    })
  return {
    number,
    isOver,
    end: () => {
      ended = true
    },
    serve,
    steps: {
      log: {
        read: (of, look) => (of === 'log' ? read(of, look) : serve(() => Promise.resolve(look()))),
        write,
      },
      documents: {
        read,
        write: async (of, put) => {
          const written = await write(of, put)
          await delay()
          return written
        },
      },
    },
    clock: {
      now: clock.now,
      sleepUntil: (instant, signal) => serve(() => clock.sleepUntil(instant, signal)),
    },
  }
}

const never = (): Promise<never> => new Promise(() => undefined)
