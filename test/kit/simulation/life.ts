import type { Clock } from '../../../domain/ports.js'
import type { Steps } from '../memory/steps.js'

/**
 * One run of the service, up to the crash that ends it. From then on nothing is written for it, nothing is answered and no
 * alarm rings: what is left of it waits for ever, and is forgotten.
 */
export type Life = {
  /** From 1 on. */
  readonly number: number
  readonly isOver: () => boolean
  readonly end: () => void
  /** Does something for this life: its answer is given as long as the life goes on. */
  readonly serve: <A>(work: () => Promise<A>) => Promise<A>
  /**
   * Those of the log are those of an embedded one, which a process that works alone may keep streams of: whoever appends has the
   * answer before anybody is shown what was written, and a stream is read at once.
   */
  readonly steps: { readonly log: Steps; readonly documents: Steps }
  readonly clock: Clock
}

type LifePorts = {
  readonly clock: Clock
  /** How long a store takes on the way there or back. */
  readonly delay: () => Promise<void>
  /** Called right before and right after something is written: either may be the moment of a crash. */
  readonly durable: (step: string) => void
  /** Called whenever this life asks for something. */
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
      // This very step may be the last one.
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
