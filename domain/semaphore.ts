import { abortable, neverAborted } from './abortable.js'

/**
 * Runs tasks, so many at the same time at most; the others wait, first come, first served. Once `signal` aborts, a task
 * neither waits nor counts any more: who waits is run at once, and whoever comes next need not wait for one that runs.
 */
type Semaphore = <A>(task: () => Promise<A>, signal?: AbortSignal) => Promise<A>

export const semaphore = (permits: number): Semaphore => {
  const waiting = new Set<() => void>()
  let free = permits

  const giveBack = (): void => {
    const [next] = waiting
    if (next === undefined) {
      free += 1
      return
    }
    waiting.delete(next)
    next()
  }

  /** Whether a permit was taken: not where `signal` aborts. */
  const take = async (signal: AbortSignal): Promise<boolean> => {
    if (signal.aborted) return false
    if (free > 0) {
      free -= 1
      return true
    }
    let isTaken = false
    await abortable(signal, (done) => {
      const next = (): void => {
        isTaken = true
        done()
      }
      waiting.add(next)
      return () => waiting.delete(next)
    })
    return isTaken
  }

  return async (task, signal = neverAborted) => {
    if (!(await take(signal))) return task()
    let end = (): void => undefined
    void abortable(signal, (done) => void (end = done)).then(giveBack)
    try {
      return await task()
    } finally {
      end()
    }
  }
}
