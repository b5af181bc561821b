/** Runs tasks, so many at the same time at most; the others wait, first come, first served. */
type Semaphore = <A>(task: () => Promise<A>) => Promise<A>

export const semaphore = (permits: number): Semaphore => {
  const waiting: Array<() => void> = []
  let free = permits

  return async (task) => {
    if (free > 0) free -= 1
    else await new Promise<void>((resolve) => waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = waiting.shift()
      if (next === undefined) free += 1
      else next()
    }
  }
}
